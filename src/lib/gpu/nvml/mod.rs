//! NVIDIA's management library, found at run time.
//!
//! `libnvidia-ml.so.1` comes with the driver; the name without the number only with developers' packages.
//! Definitions: <https://docs.nvidia.com/deploy/nvml-api/>.

mod device;
mod health;

use std::ffi::{CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use self::device::NvmlDevice;
use super::{Device, Driver, GpuError, Source, Trouble};

/// Where the system's loader finds the library, in the order of trying.
const NAMES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

/// NVML, from wherever it lies.
#[derive(Debug, Default)]
pub struct NvmlSource {
    /// The library's file, if not one that the system's loader finds by name.
    path: Option<PathBuf>,
    /// Holds the library in memory while nobody uses it.
    pin: Mutex<Option<Pin>>,
}

impl NvmlSource {
    /// The library at `path`, else the one that the system's loader finds.
    #[must_use]
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, pin: Mutex::new(None) }
    }

    fn load(&self) -> Result<(Nvml, &OsStr), GpuError> {
        let given = self.path.as_ref().map(|path| vec![path.as_os_str()]);
        let mut tried = Vec::new();
        for path in given.unwrap_or_else(|| NAMES.map(OsStr::new).to_vec()) {
            match Nvml::builder().lib_path(path).init() {
                Ok(nvml) => return Ok((nvml, path)),
                // The loader names the file in what it says.
                Err(NvmlError::LibloadingError(error)) => tried.push(error.to_string()),
                Err(NvmlError::FailedToLoadSymbol(error)) => tried.push(error),
                Err(error) => return Err(cannot_open(&error)),
            }
        }
        let message = format!("there is no library of NVIDIA's driver ({})", tried.join("; "));
        Err(GpuError { trouble: Trouble::NoLibrary, message })
    }
}

impl Source for NvmlSource {
    fn open(&self, fresh: bool) -> Result<Arc<dyn Driver>, GpuError> {
        // A poisoned lock guards nothing that can be half-changed.
        let mut pin = self.pin.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if fresh {
            *pin = None;
        }
        let (nvml, path) = self.load()?;
        if pin.is_none() {
            *pin = Pin::new(path);
        }
        Ok(Arc::new(NvmlDriver { nvml }))
    }
}

/// One more handle on the library, so that it stays in memory when NVML is shut down. The file may have been
/// replaced by that of a newer driver whose kernel module is not loaded yet; what is in memory still works.
#[derive(Debug)]
struct Pin(*mut c_void);

// SAFETY: a handle of dlopen(3) may be closed by any thread.
unsafe impl Send for Pin {}

impl Pin {
    fn new(path: &OsStr) -> Option<Self> {
        let path = CString::new(path.as_bytes()).ok()?;
        // SAFETY: the name ends in NUL, and the library is loaded already: nothing of it runs.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(Self(handle))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: it came from dlopen(3) and is closed once.
        unsafe { libc::dlclose(self.0) };
    }
}

/// NVML, initialised. Dropping the last reference shuts it down and closes the library.
#[derive(Debug)]
struct NvmlDriver {
    nvml: Nvml,
}

impl Driver for NvmlDriver {
    fn about(&self) -> String {
        match self.nvml.sys_driver_version() {
            Ok(version) => format!("NVML, driver {version}"),
            Err(_) => "NVML".to_owned(),
        }
    }

    fn count(&self) -> Result<u32, GpuError> {
        self.nvml.device_count().map_err(|error| gpu_error(&error))
    }

    fn serve(&self, index: u32, work: &mut dyn FnMut(&mut dyn Device)) -> Result<(), GpuError> {
        let device = self.nvml.device_by_index(index).map_err(|error| cannot_open(&error))?;
        work(&mut NvmlDevice::new(device));
        Ok(())
    }
}

/// `NVML_ERROR_GPU_NOT_FOUND`, which the wrapper does not name.
const GPU_NOT_FOUND: u32 = 28;

/// What a failure means.
fn trouble(error: &NvmlError) -> Trouble {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::FailedToLoadSymbol(_) => Trouble::NoLibrary,
        NvmlError::Uninitialized | NvmlError::DriverNotLoaded | NvmlError::LibRmVersionMismatch => {
            Trouble::Driver
        }
        NvmlError::GpuLost | NvmlError::ResetRequired | NvmlError::UnexpectedVariant(GPU_NOT_FOUND) => {
            Trouble::Gone
        }
        _ => Trouble::Other,
    }
}

/// A failed call to an open driver. A function that the library lacks is no sign of trouble: older ones do.
fn gpu_error(error: &NvmlError) -> GpuError {
    let trouble = match trouble(error) {
        Trouble::NoLibrary => Trouble::Other,
        trouble => trouble,
    };
    GpuError { trouble, message: error.to_string() }
}

/// A failed call that opens the driver or a device.
fn cannot_open(error: &NvmlError) -> GpuError {
    let trouble = match error {
        NvmlError::NoPermission => Trouble::Denied,
        NvmlError::DriverNotLoaded => Trouble::NoDriver,
        error => trouble(error),
    };
    GpuError { trouble, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnvidia-ml.so.1");
        std::fs::write(&path, "no library").unwrap();
        let Err(error) = NvmlSource::new(Some(path.clone())).open(true) else { panic!("it opened") };
        assert_eq!(error.trouble, Trouble::NoLibrary);
        assert!(error.message.contains(path.to_str().unwrap()), "{error}");
    }
}
