//! Files that are cut short while they are mapped.
//!
//! Dumps are read through a mapping. When a job that was restarted writes a step anew, it first cuts the
//! old file, and reading a page that is gone raises SIGBUS. A command ends then, with "try again". A
//! server must not: the page is replaced by one of zeros, the fault is counted, and whoever was working
//! at the time throws the result away and answers 503. The file has another size by then, so the mapping
//! with the false page is not used again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

static FAULTS: AtomicU64 = AtomicU64::new(0);
/// Asked for beforehand: a signal handler may not.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// How often a page was gone so far. Work during which this grew has read zeros that were never written.
pub(super) fn faults() -> u64 {
    FAULTS.load(Ordering::Acquire)
}

/// From now on a mapped page that is gone reads as zeros, in the whole process. For servers that throw
/// away what was read meanwhile.
pub fn survive() {
    // SAFETY: sysconf takes a plain number; the struct is valid when zeroed; the handler does nothing
    // that is not safe in a signal handler (see there).
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE);
        PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        // If the system refuses, the fault ends the process as before.
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid `info`. Only BUS_ADRERR means an address beyond the end of a file,
    // so the page at that address is one of a mapped file and nothing else lies there; putting a private
    // page of zeros in its place is what lets the interrupted read go on. mmap and signal are plain system
    // calls: they take no lock and allocate nothing.
    unsafe {
        if (*info).si_code == libc::BUS_ADRERR {
            let address = (*info).si_addr() as usize & !(page - 1);
            let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapped = libc::mmap(address as *mut libc::c_void, page, libc::PROT_READ, flags, -1, 0);
            if mapped != libc::MAP_FAILED {
                FAULTS.fetch_add(1, Ordering::Release);
                return;
            }
        }
        // Something else: the read is tried again and ends the process with the default action.
        libc::signal(signal, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_mapped_file_that_is_cut_reads_as_zeros_and_is_counted() {
        survive();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 20_000]).unwrap();
        // SAFETY: that the file changes under the mapping is what is tested.
        let map = unsafe { memmap2::Mmap::map(&file).unwrap() };
        assert_eq!(map[19_000], 7);
        let before = faults();
        file.set_len(0).unwrap();
        assert_eq!(map.iter().map(|b| u32::from(*b)).sum::<u32>(), 0);
        assert!(faults() > before);
    }
}
