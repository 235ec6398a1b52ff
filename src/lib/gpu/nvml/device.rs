//! One GPU of NVML: what it is, and the values of `gpu_util` and `gpu_processes`.

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::health::Extras;
use super::{gpu_error, trouble};
use crate::gpu::{Device, GpuError, Identity, Lack, Process, Reading, Trouble};

/// Longest name of a process that is asked for, in bytes: a command line is cut there.
const NAME_LEN: usize = 256;

/// A GPU, with what must be remembered between two readings.
#[derive(Debug)]
pub(super) struct NvmlDevice<'n> {
    device: nvml_wrapper::Device<'n>,
    extras: Option<Extras<'n>>,
}

impl<'n> NvmlDevice<'n> {
    pub(super) fn new(device: nvml_wrapper::Device<'n>) -> Self {
        Self { device, extras: None }
    }

    /// Bytes in use and bytes there are. The first version of the call, as the job itself uses: memory that
    /// the driver keeps for itself counts as in use.
    fn memory(&self) -> Result<(u64, u64), NvmlError> {
        let call = nvml_sym(self.device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref())?;
        // SAFETY: the handle is of this library; the struct is plain numbers, and the call fills it.
        let info = unsafe {
            let mut info = std::mem::zeroed();
            nvml_try(call(self.device.handle(), &raw mut info))?;
            info
        };
        Ok((info.used, info.total))
    }

    fn process(&self, info: &ProcessInfo) -> Process {
        let name = self.device.nvml().sys_process_name(info.pid, NAME_LEN).ok();
        let mem_mb = match info.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => mib(bytes),
            UsedGpuMemory::Unavailable => None,
        };
        Process { pid: i64::from(info.pid), name: name.filter(|name| !name.is_empty()), mem_mb }
    }
}

impl Device for NvmlDevice<'_> {
    fn identity(&mut self) -> Result<Identity, GpuError> {
        let uuid = self.device.uuid().map_err(|error| gpu_error(&error))?;
        Ok(Identity { uuid, model: self.device.name().ok() })
    }

    fn read(&mut self, health: bool) -> Result<Reading, GpuError> {
        // A card that is cut into instances has no utilisation of its own, whatever number it gives.
        let mig = self.is_cut();
        let rates = match mig {
            Some(true) => None,
            _ => Some(self.device.utilization_rates()),
        };
        let memory = self.memory();
        let power = self.device.power_usage();
        let errors = [
            ("utilisation", rates.as_ref().and_then(|rates| rates.as_ref().err())),
            ("memory", memory.as_ref().err()),
            ("power", power.as_ref().err()),
        ];
        // Some cards that fell off the bus say no more than this.
        if errors.iter().all(|(_, error)| matches!(error, Some(NvmlError::Unknown))) {
            let message = "it answers nothing (an internal driver error occurred)".to_owned();
            return Err(GpuError { trouble: Trouble::Gone, message });
        }
        let mut lacks = Vec::new();
        if rates.is_none() {
            lacks.push(Lack { what: "utilisation", why: "it is cut into MIG instances".to_owned() });
        }
        for (what, error) in errors {
            if let Some(error) = error {
                fatal(error)?;
                lacks.push(Lack { what, why: error.to_string() });
            }
        }
        let rates = rates.and_then(Result::ok);
        let memory = memory.ok();
        let mut reading = Reading {
            util: rates.as_ref().map(|rates| i64::from(rates.gpu)),
            mem_mb: memory.and_then(|(used, _)| mib(used)),
            power_w: power.ok().map(|milliwatts| i64::from(milliwatts / 1000)),
            lacks,
            health: None,
            throttle_reasons: None,
        };
        if health {
            let extras = self.extras.get_or_insert_with(|| Extras::new(&self.device));
            let mut health = extras.read(&self.device, &mut reading.throttle_reasons)?;
            health.mig = mig;
            health.mem_util = rates.map(|rates| i64::from(rates.memory));
            health.mem_total_mb = memory.and_then(|(_, total)| mib(total));
            reading.health = Some(Box::new(health));
        }
        Ok(reading)
    }

    fn processes(&mut self) -> Result<Vec<Process>, GpuError> {
        match self.device.running_compute_processes() {
            Ok(infos) => Ok(infos.iter().map(|info| self.process(info)).collect()),
            // More came up between the two calls that this takes: the next time is soon.
            Err(NvmlError::InsufficientSize(_)) => Ok(Vec::new()),
            Err(error) => Err(gpu_error(&error)),
        }
    }
}

impl NvmlDevice<'_> {
    /// Whether the card is cut into MIG instances; `None` for one that cannot be.
    fn is_cut(&self) -> Option<bool> {
        /// `NVML_DEVICE_MIG_ENABLE`.
        const ENABLED: u32 = 1;
        self.device.mig_mode().ok().map(|mode| mode.current == ENABLED)
    }
}

/// Passes on a failure after which the device cannot be asked for anything else.
pub(super) fn fatal(error: &NvmlError) -> Result<(), GpuError> {
    match trouble(error) {
        Trouble::Driver | Trouble::Gone => Err(gpu_error(error)),
        _ => Ok(()),
    }
}

/// Whole MiB. All ones in 64 bits is how the library says "not available".
fn mib(bytes: u64) -> Option<i64> {
    (bytes != u64::MAX).then_some(bytes >> 20).and_then(|mib| i64::try_from(mib).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ones_is_no_amount_of_memory() {
        assert_eq!(mib(u64::MAX), None);
        assert_eq!(mib((80 << 30) + 1), Some(81_920));
    }
}
