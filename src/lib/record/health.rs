//! The record of `gpu_health`: a stream of ours beside those that the job writes.
//!
//! The job's own reader rejects a `gpu_util` line with more keys, so whatever else a GPU says of
//! itself goes here, and partial readings too: `gpu_util` cannot hold null, this can.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::field::{Field, FieldType, Value};
use super::json::Text;
use super::types::record;

record! {
    /// All that one GPU says of itself at one time. What the device or its driver lacks is missing.
    ///
    /// Definitions are those of NVML (<https://docs.nvidia.com/deploy/nvml-api/>).
    GpuHealth {
        /// When, Unix seconds; equal for all records of one tick.
        ts: f64,
        /// Host.
        #[serde(borrow)]
        node: Text<'a>,
        /// Index of the GPU on its host, in the order of the driver.
        gpu: i64,
        /// What the driver calls this very card, `GPU-...`.
        #[serde(borrow)]
        uuid: Text<'a>,
        /// Product name.
        #[serde(borrow)]
        model: Text<'a>,
        /// Whether the card is cut into MIG instances; then `util` is missing.
        mig: bool,
        /// Whether this is a virtual GPU, or a host of some.
        vgpu: bool,
        /// Temperature of the chip, degrees Celsius.
        temperature_c: i64,
        /// Temperature of the memory, degrees Celsius.
        mem_temperature_c: i64,
        /// Clock of the multiprocessors, MHz.
        sm_clock_mhz: i64,
        /// Clock of the memory, MHz.
        mem_clock_mhz: i64,
        /// List of texts: why clocks are below their maximum. Empty when nothing holds them back.
        #[serde(borrow)]
        throttle_reasons: &'a RawValue,
        /// Percent of the time in which a kernel ran.
        util: i64,
        /// Percent of the time in which memory was read or written.
        mem_util: i64,
        /// Memory in use, MiB.
        mem_mb: i64,
        /// Memory there is, MiB.
        mem_total_mb: i64,
        /// Power, W.
        power_w: i64,
        /// Power that the card is held to, W.
        power_limit_w: i64,
        /// Percent of the time in which a multiprocessor had work, mean over all; since the tick before.
        sm_activity: f64,
        /// Resident warps in percent of the most that fit; since the tick before.
        sm_occupancy: f64,
        /// Percent of the time in which tensor cores worked; since the tick before.
        tensor_activity: f64,
        /// Memory bandwidth in use, percent; since the tick before.
        mem_activity: f64,
        /// Sent over all NVLinks, MiB a second; since the tick before.
        nvlink_tx_mb_s: f64,
        /// Received over all NVLinks, MiB a second; since the tick before.
        nvlink_rx_mb_s: f64,
        /// Sent over PCIe, MiB a second.
        pcie_tx_mb_s: f64,
        /// Received over PCIe, MiB a second.
        pcie_rx_mb_s: f64,
        /// Memory errors that ECC corrected since the driver was loaded.
        ecc_corrected: i64,
        /// Memory errors that ECC could not correct since the driver was loaded.
        ecc_uncorrected: i64,
        /// Critical errors (XID) since the sampler has watched the card.
        xid_count: i64,
        /// Number of the newest of them.
        xid_last: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Stream, decode, encode};

    #[test]
    fn what_a_device_lacks_is_written_as_null_and_read_as_missing() {
        let reasons: &RawValue = serde_json::from_str(r#"["sw_power_cap"]"#).unwrap();
        let health = GpuHealth {
            ts: Some(1.5),
            node: Some("n".into()),
            gpu: Some(3),
            mig: Some(true),
            throttle_reasons: Some(reasons),
            sm_activity: Some(12.5),
            ..GpuHealth::default()
        };
        let mut line = Vec::new();
        encode(&Record::GpuHealth(Box::new(health)), &mut line);
        let text = str::from_utf8(&line).unwrap().trim_end();
        assert!(text.starts_with(r#"{"ts":1.5,"node":"n","gpu":3,"uuid":null,"model":null,"mig":true,"#));
        assert!(text.contains(r#""throttle_reasons":["sw_power_cap"],"util":null,"#), "{text}");
        let mut scratch = String::new();
        let decoded = decode(Stream::GpuHealth, text.as_bytes(), &mut scratch).unwrap().unwrap();
        assert!(decoded.record.extra().is_empty());
        let Record::GpuHealth(read) = decoded.record else { panic!("another record") };
        assert_eq!((read.mig, read.util, read.sm_activity), (Some(true), None, Some(12.5)));
    }
}
