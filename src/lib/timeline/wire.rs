//! How a heatmap travels: 4 bytes little-endian length of a JSON header, the header, the cells row by row.

use serde::Serialize;

/// A header and its cells as one message.
///
/// # Errors
/// When the header cannot be written as JSON, which for a struct of numbers and texts does not happen.
pub fn encode(header: &impl Serialize, cells: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let header = serde_json::to_vec(header)?;
    let length = u32::try_from(header.len()).map_err(serde::ser::Error::custom)?;
    let mut message = Vec::with_capacity(4 + header.len() + cells.len());
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(&header);
    message.extend_from_slice(cells);
    Ok(message)
}

#[cfg(test)]
mod tests {
    #[test]
    fn length_header_and_cells_follow_each_other() {
        let message = super::encode(&[1, 2], &[7, 8]).unwrap();
        assert_eq!(message, b"\x05\0\0\0[1,2]\x07\x08");
    }
}
