//! One GPU of NVML: the values of `gpu_health` that `gpu_util` does not have.
//!
//! Activity of multiprocessors and traffic come from the library's own monitoring (GPM) on Hopper and later,
//! as means since the reading before. Older cards have no activity; their traffic comes from counters.

use std::time::Instant;

use nvml_wrapper::Device;
use nvml_wrapper::EventSet;
use nvml_wrapper::GpmSample;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, TemperatureSensor,
};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::sys_exports::field_id;
use serde_json::value::{RawValue, to_raw_value};

use super::device::fatal;
use crate::gpu::GpuError;
use crate::record::GpuHealth;

/// Monitored values, in the order of [`Monitored`].
const METRICS: [GpmMetricId; 8] = [
    GpmMetricId::SmUtil,
    GpmMetricId::SmOccupancy,
    GpmMetricId::AnyTensorUtil,
    GpmMetricId::DramBwUtil,
    GpmMetricId::NvlinkTotalTxPerSec,
    GpmMetricId::NvlinkTotalRxPerSec,
    GpmMetricId::PcieTxPerSec,
    GpmMetricId::PcieRxPerSec,
];
/// Percent and, for traffic, MiB a second.
type Monitored = [Option<f64>; 8];

/// More critical errors than this between two readings are counted at the next.
const XID_BATCH: usize = 64;
/// The library's number for an error whose number it does not know.
const XID_UNKNOWN: i64 = 999;

/// What must be remembered of a device between two readings.
#[derive(Debug)]
pub(super) struct Extras<'n> {
    monitored: Monitoring<'n>,
    /// Where critical errors arrive; `None` where the device cannot tell of them.
    xids: Option<EventSet<'n>>,
    xid_count: i64,
    xid_last: Option<i64>,
    /// When the counters of NVLink were read, and what they said: KiB sent and received.
    nvlink: Option<(Instant, [u64; 2])>,
}

/// State of the library's own monitoring of a device.
#[derive(Debug)]
enum Monitoring<'n> {
    Unsupported,
    /// The sample that the next is held against, if there is one yet.
    Supported(Option<GpmSample<'n>>),
}

impl<'n> Extras<'n> {
    pub(super) fn new(device: &Device<'n>) -> Self {
        let monitored = match device.gpm_support() {
            Ok(true) => Monitoring::Supported(None),
            _ => Monitoring::Unsupported,
        };
        Self { monitored, xids: watch_xids(device), xid_count: 0, xid_last: None, nvlink: None }
    }

    /// Reads everything. `reasons` is where the one value goes that the record only borrows.
    ///
    /// # Errors
    /// The device or the driver is gone.
    pub(super) fn read(
        &mut self,
        device: &Device<'n>,
        reasons: &mut Option<Box<RawValue>>,
    ) -> Result<GpuHealth<'static>, GpuError> {
        *reasons = value(device.current_throttle_reasons())?.map(names);
        let vgpu = value(is_virtual(device))?;
        let [
            sm_activity,
            sm_occupancy,
            tensor_activity,
            mem_activity,
            nvlink_tx,
            nvlink_rx,
            pcie_tx,
            pcie_rx,
        ] = self.monitor(device);
        let (pcie_tx, pcie_rx) = match (pcie_tx, pcie_rx) {
            (None, None) => (pcie(device, PcieUtilCounter::Send)?, pcie(device, PcieUtilCounter::Receive)?),
            monitored => monitored,
        };
        let (nvlink_tx, nvlink_rx) = match (nvlink_tx, nvlink_rx) {
            (None, None) => self.count_nvlink(device),
            monitored => monitored,
        };
        self.count_xids()?;
        Ok(GpuHealth {
            vgpu,
            temperature_c: value(device.temperature(TemperatureSensor::Gpu))?.map(i64::from),
            mem_temperature_c: field(device, field_id::NVML_FI_DEV_MEMORY_TEMP, 0).and_then(int),
            sm_clock_mhz: value(device.clock_info(Clock::SM))?.map(i64::from),
            mem_clock_mhz: value(device.clock_info(Clock::Memory))?.map(i64::from),
            power_limit_w: value(device.enforced_power_limit())?
                .map(|milliwatts| i64::from(milliwatts / 1000)),
            sm_activity,
            sm_occupancy,
            tensor_activity,
            mem_activity,
            nvlink_tx_mb_s: nvlink_tx,
            nvlink_rx_mb_s: nvlink_rx,
            pcie_tx_mb_s: pcie_tx,
            pcie_rx_mb_s: pcie_rx,
            ecc_corrected: ecc(device, MemoryError::Corrected)?,
            ecc_uncorrected: ecc(device, MemoryError::Uncorrected)?,
            xid_count: self.xids.as_ref().map(|_| self.xid_count),
            xid_last: self.xid_last,
            ..GpuHealth::default()
        })
    }

    /// What the library measured since the call before.
    fn monitor(&mut self, device: &Device<'n>) -> Monitored {
        let Monitoring::Supported(before) = &mut self.monitored else { return Monitored::default() };
        let now = device.gpm_sample().ok();
        let mut values = Monitored::default();
        if let (Some(before), Some(now)) = (&before, &now)
            && let Ok(metrics) = gpm_metrics_get(device.nvml(), before, now, &METRICS)
        {
            for (value, metric) in values.iter_mut().zip(metrics) {
                *value = metric.ok().map(|metric| metric.value).filter(|value| value.is_finite());
            }
        }
        *before = now;
        values
    }

    /// Traffic over all links, MiB a second, from counters in KiB.
    fn count_nvlink(&mut self, device: &Device<'n>) -> (Option<f64>, Option<f64>) {
        /// Stands for the sum over all links.
        const ALL_LINKS: u32 = u32::MAX;
        let now = Instant::now();
        let sent = field(device, field_id::NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS);
        let received = field(device, field_id::NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS);
        let Some((sent, received)) = sent.zip(received) else { return (None, None) };
        let before = self.nvlink.replace((now, [sent, received]));
        let Some((then, [sent_then, received_then])) = before else { return (None, None) };
        let seconds = now.duration_since(then).as_secs_f64();
        // A counter that went back began anew: there is no rate.
        let rate =
            |now: u64, then: u64| (seconds > 0.0).then_some(now.checked_sub(then)? as f64 / 1024.0 / seconds);
        (rate(sent, sent_then), rate(received, received_then))
    }

    /// Takes in critical errors that came since the call before.
    fn count_xids(&mut self) -> Result<(), GpuError> {
        let Some(set) = &self.xids else { return Ok(()) };
        for _ in 0..XID_BATCH {
            match set.wait(0) {
                Ok(event) => {
                    self.xid_count += 1;
                    self.xid_last = Some(match event.event_data {
                        Some(XidError::Value(xid)) => int(xid).unwrap_or(XID_UNKNOWN),
                        _ => XID_UNKNOWN,
                    });
                }
                Err(error) => return fatal(&error),
            }
        }
        Ok(())
    }
}

/// Where critical errors of the device arrive from now on. The wrapper has this for Linux alone; NVIDIA has
/// no driver for the other systems that these tools are built for.
#[cfg(target_os = "linux")]
fn watch_xids<'n>(device: &Device<'n>) -> Option<EventSet<'n>> {
    use nvml_wrapper::bitmasks::event::EventTypes;

    let set = device.nvml().create_event_set().ok()?;
    device.register_events(EventTypes::CRITICAL_XID_ERROR, set).ok()
}

#[cfg(not(target_os = "linux"))]
fn watch_xids<'n>(_device: &Device<'n>) -> Option<EventSet<'n>> {
    None
}

/// Whether it is a virtual GPU or a host of some; Linux alone, as above.
#[cfg(target_os = "linux")]
fn is_virtual(device: &Device<'_>) -> Result<bool, NvmlError> {
    use nvml_wrapper::enum_wrappers::device::GpuVirtualizationMode as Mode;

    Ok(!matches!(device.virtualization_mode()?, Mode::Bare | Mode::PassThrough))
}

#[cfg(not(target_os = "linux"))]
fn is_virtual(_device: &Device<'_>) -> Result<bool, NvmlError> {
    Err(NvmlError::NotSupported)
}

/// A value, or `None` where the device lacks it.
fn value<T>(answer: Result<T, NvmlError>) -> Result<Option<T>, GpuError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) => fatal(&error).map(|()| None),
    }
}

/// MiB a second over PCIe. The library gives KiB, and takes 20 ms to measure.
fn pcie(device: &Device<'_>, counter: PcieUtilCounter) -> Result<Option<f64>, GpuError> {
    Ok(value(device.pcie_throughput(counter))?.map(|kib| f64::from(kib) / 1024.0))
}

fn ecc(device: &Device<'_>, error: MemoryError) -> Result<Option<i64>, GpuError> {
    Ok(value(device.total_ecc_errors(error, EccCounter::Volatile))?.and_then(int))
}

fn int(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

/// A value that has a number instead of a function; `scope` says of which part. `None` where the device
/// lacks it, and for types that none of ours has.
fn field(device: &Device<'_>, id: u32, scope: u32) -> Option<u64> {
    /// `NVML_VALUE_TYPE_UNSIGNED_INT`, `..._LONG` and `..._LONG_LONG`.
    const UNSIGNED: std::ops::RangeInclusive<u32> = 1..=3;
    /// The library's type for such a value, which the wrapper does not name.
    fn blank<D, T, R>(_call: &unsafe extern "C" fn(D, i32, *mut T) -> R) -> T {
        // SAFETY: the one call that this is used for takes a struct of plain numbers.
        unsafe { std::mem::zeroed() }
    }
    let call = device.nvml().lib().nvmlDeviceGetFieldValues.as_ref().ok()?;
    let mut value = blank(call);
    value.fieldId = id;
    value.scopeId = scope;
    // SAFETY: the handle is of this library, and there is one value.
    let answer = unsafe { call(device.handle(), 1, &raw mut value) };
    if answer != 0 || value.nvmlReturn != 0 || !UNSIGNED.contains(&value.valueType) {
        return None;
    }
    // SAFETY: all members are plain numbers; the struct was zeroed, so a short one reads right as a long one.
    Some(unsafe { value.value.ullVal })
}

/// Reasons as the list that a record has: the library's names in lower case.
fn names(reasons: ThrottleReasons) -> Box<RawValue> {
    const NAMES: [(ThrottleReasons, &str); 9] = [
        (ThrottleReasons::GPU_IDLE, "gpu_idle"),
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "applications_clocks_setting"),
        (ThrottleReasons::SW_POWER_CAP, "sw_power_cap"),
        (ThrottleReasons::HW_SLOWDOWN, "hw_slowdown"),
        (ThrottleReasons::SYNC_BOOST, "sync_boost"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "sw_thermal_slowdown"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hw_thermal_slowdown"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "hw_power_brake_slowdown"),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display_clock_setting"),
    ];
    let names: Vec<&str> =
        NAMES.iter().filter(|(reason, _)| reasons.contains(*reason)).map(|(_, name)| *name).collect();
    // Texts always make JSON.
    to_raw_value(&names).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_names_and_none_is_an_empty_list() {
        assert_eq!(names(ThrottleReasons::NONE).get(), "[]");
        let both = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        assert_eq!(names(both).get(), r#"["sw_power_cap","hw_thermal_slowdown"]"#);
    }
}
