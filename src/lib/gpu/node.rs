//! What this host is called in records.

use std::net::{Ipv4Addr, UdpSocket};

/// The address of this host as the job reports it: that from which it would speak to the world.
///
/// Connecting a UDP socket sends nothing; it only makes the system choose a route and with it one of its own
/// addresses. Which address is asked about does not matter as long as it is outside; a host without a route
/// is `127.0.0.1`.
#[must_use]
pub fn node_address() -> String {
    /// A public address; the port is any.
    const OUTSIDE: (Ipv4Addr, u16) = (Ipv4Addr::new(8, 8, 8, 8), 80);
    let address = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect(OUTSIDE).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
    };
    address().map_or_else(|| Ipv4Addr::LOCALHOST.to_string(), |ip| ip.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_is_an_address_whatever_the_network() {
        node_address().parse::<std::net::IpAddr>().unwrap();
    }
}
