//! Disks that are full, small, or stand still: what waits is kept within the bounds, told, and written once.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/collector.rs"]
mod collector;

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use collector::{Collector, buffered, get, lengths, same};

/// Limits the size of files that a process may write; it can be lifted again.
fn limit(collector: &Collector, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the struct is ours, and the process is our child.
    let said =
        unsafe { libc::prlimit(collector.pid(), libc::RLIMIT_FSIZE, &raw const limit, std::ptr::null_mut()) };
    assert_eq!(said, 0);
}

fn many(from: usize, to: usize) -> String {
    (from..to).map(buffered).collect()
}

fn failures(collector: &Collector) -> usize {
    collector.said().matches("File too large").count()
}

/// What the collector counts, by the name of the metric.
fn count(url: &str, metric: &str) -> u64 {
    let page = get(url);
    let line = page.lines().find_map(|line| line.strip_prefix(&format!("{metric} "))).unwrap();
    line.parse().unwrap()
}

fn metrics_of(collector: &Collector) -> String {
    collector.wait_for("metrics at ");
    collector.said().split("metrics at ").nth(1).unwrap().lines().next().unwrap().to_owned()
}

const RECEIVED: &str = "miles_collect_records_total{stream=\"data_buffer\"}";
const WRITTEN: &str = "miles_collect_written_total{stream=\"data_buffer\"}";
const DROPPED: &str = "miles_collect_dropped_total{stream=\"data_buffer\"}";

#[test]
fn a_file_that_may_not_grow_is_told_at_each_attempt_and_all_is_written_once_when_it_may() {
    let run = tempfile::tempdir().unwrap();
    let collector =
        Collector::start(run.path(), &["--flush-interval", "0.05", "-v", "--metrics-listen", "127.0.0.1:0"]);
    let url = metrics_of(&collector);
    collector.send(many(0, 10));
    collector.wait_for("flushed 10 records");
    // Not a whole number of lines.
    limit(&collector, 20_000);
    collector.send(many(10, 5000));
    collector.wait_until("three failures", || failures(&collector) >= 3);
    // Half a line is cut off again, so a reader never waits for its end.
    let path = run.path().join("dashboard/data_buffer.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("}\n") && text.len() <= 20_000 && text.len() > 19_900, "{}", text.len());
    // Records are taken all the while.
    collector.send(many(5000, 6000));
    collector.wait_until("all received", || count(&url, RECEIVED) == 6000);
    let before = failures(&collector);
    collector.wait_until("more failures", || failures(&collector) > before);
    let said = collector.said();
    let line = said.lines().rfind(|line| line.contains("File too large")).unwrap();
    assert!(line.contains("data_buffer.jsonl") && line.contains("waiting: "), "{line}");
    // Room for a part, and then for all.
    limit(&collector, 100_001);
    collector.wait_until("a part", || count(&url, WRITTEN) > 2000);
    limit(&collector, libc::RLIM_INFINITY);
    collector.wait_for("the disk works again");
    let said = collector.end_well();
    assert!(said.contains("6000 records written\n"), "{said}");
    same(&lengths(run.path()), 0..6000);
}

#[test]
fn at_the_bound_the_oldest_go_loudly_and_the_newest_are_written() {
    let run = tempfile::tempdir().unwrap();
    let args = ["--flush-interval", "0.05", "--max-buffered", "1000", "--metrics-listen", "127.0.0.1:0"];
    let collector = Collector::start(run.path(), &args);
    let url = metrics_of(&collector);
    limit(&collector, 8192);
    collector.send(many(0, 400));
    collector.wait_until("a failure", || failures(&collector) >= 1);
    collector.send(many(400, 10_000));
    collector.wait_until("all received", || count(&url, RECEIVED) == 10_000);
    collector.wait_for("data_buffer: the oldest that waited are dropped");
    limit(&collector, libc::RLIM_INFINITY);
    collector.wait_for("the disk works again");
    let dropped = count(&url, DROPPED);
    let said = collector.end_well();
    assert!(said.contains(&format!("{dropped} records dropped because")), "{said}");
    let lengths = lengths(run.path());
    assert_eq!(lengths.len() as u64, 10_000 - dropped);
    // What was written before the disk failed, then the newest, each once and in order.
    assert!(lengths.is_sorted_by(|a, b| a < b));
    same(&lengths[lengths.len() - 1000..], 9000..10_000);
}

#[test]
fn a_last_flush_that_fails_is_an_error_with_what_is_lost() {
    let run = tempfile::tempdir().unwrap();
    let collector = Collector::start(run.path(), &["--flush-interval", "0.05"]);
    limit(&collector, 8192);
    collector.send(many(0, 1000));
    collector.wait_until("a failure", || failures(&collector) >= 1);
    let ended = collector.end();
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    let written = lengths(run.path());
    same(&written, 0..written.len());
    let last = ended.stderr.lines().last().unwrap();
    let lost = format!("lost with it: data_buffer {}; written: {}", 1000 - written.len(), written.len());
    assert!(last.contains(&lost) && last.contains("; hint: "), "{last}");
}

#[test]
fn a_pipe_on_stdin_is_read_no_faster_than_a_working_disk_takes_it() {
    let run = tempfile::tempdir().unwrap();
    let ended = collector::collect(run.path(), &["--max-buffered", "100"], many(0, 50_000));
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("50000 records written\n"), "{}", ended.stderr);
    assert_eq!(lengths(run.path()).len(), 50_000);
}

#[test]
fn a_folder_that_cannot_be_made_is_told_and_made_when_it_can() {
    let run = tempfile::tempdir().unwrap();
    let dashboard = run.path().join("dashboard");
    fs::create_dir_all(&dashboard).unwrap();
    // Something is in the place of the stream's folder.
    fs::write(dashboard.join("gpu_util"), "").unwrap();
    let collector = Collector::start(run.path(), &["--flush-interval", "0.05"]);
    let reading = "{\"stream\":\"gpu_util\",\"ts\":1769907600,\"node\":\"n\",\"gpu\":2,\"util\":3,\"mem_mb\":4,\"power_w\":5}\n";
    collector.send(format!("{reading}{}", buffered(1)));
    collector.wait_for("gpu_util/20260201_01.jsonl: ");
    // The other streams go on.
    collector.wait_until("the other stream", || lengths(run.path()) == [1]);
    fs::remove_file(dashboard.join("gpu_util")).unwrap();
    collector.wait_for("the disk works again");
    collector.end_well();
    assert_eq!(collector::lines(run.path(), "gpu_util").len(), 1);
}

/// A file system of its own, gone with the value.
struct Mount {
    path: PathBuf,
    frozen: bool,
    _folder: tempfile::TempDir,
}

fn runs(command: &str, args: &[&str]) -> bool {
    Command::new(command)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

impl Mount {
    /// `None` where this process may not mount.
    fn tmpfs(size: &str) -> Option<Self> {
        let (folder, path) = Self::place();
        let mounted =
            runs("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", path.to_str().unwrap()]);
        Self::made(mounted, folder, path)
    }

    /// One of blocks, which can be frozen.
    fn ext4() -> Option<Self> {
        let (folder, path) = Self::place();
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let image = image.to_str().unwrap();
        let mounted = runs("mkfs.ext4", &["-q", "-F", image])
            && runs("mount", &["-o", "loop", image, path.to_str().unwrap()]);
        Self::made(mounted, folder, path)
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mount");
        fs::create_dir(&path).unwrap();
        (folder, path)
    }

    fn made(mounted: bool, folder: tempfile::TempDir, path: PathBuf) -> Option<Self> {
        if !mounted {
            println!("skipped: this process may not mount");
            return None;
        }
        Some(Self { path, frozen: false, _folder: folder })
    }

    fn resize(&self, size: &str) {
        let how = format!("remount,size={size}");
        assert!(runs("mount", &["-o", &how, self.path.to_str().unwrap()]));
    }

    /// Lets every write wait, as a server that does not answer does.
    fn freeze(&mut self, freeze: bool) {
        const FREEZE: libc::c_ulong = 0xC004_5877;
        const THAW: libc::c_ulong = 0xC004_5878;
        let folder = fs::File::open(&self.path).unwrap();
        // SAFETY: the request takes no memory of ours but an unused number.
        let said = unsafe { libc::ioctl(folder.as_raw_fd(), if freeze { FREEZE } else { THAW } as _, 0) };
        assert_eq!(said, 0, "{}", std::io::Error::last_os_error());
        self.frozen = freeze;
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.frozen {
            self.freeze(false);
        }
        let path = self.path.to_str().unwrap();
        // A collector that was killed by a failing test may hold it for a moment.
        for _ in 0..50 {
            if runs("umount", &[path]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        runs("umount", &["-l", path]);
    }
}

#[test]
fn a_full_disk_loses_and_doubles_nothing() {
    let Some(mount) = Mount::tmpfs("200k") else { return };
    let run = mount.path.join("run");
    let collector = Collector::start(&run, &["--flush-interval", "0.05", "-v"]);
    let lane = |n: usize| {
        format!(
            "{{\"stream\":\"gpu_util\",\"ts\":1769907600.5,\"node\":\"n\",\"gpu\":{n},\"util\":3,\"mem_mb\":4,\"power_w\":5}}\n"
        )
    };
    collector.send(many(0, 20_000));
    collector.wait_for("No space left on device");
    // Another stream, which needs a folder and a file, and makes the catalog grow.
    collector.send((0..200).map(lane).collect::<String>());
    collector.send(many(20_000, 30_000));
    let attempts = || collector.said().matches("No space left on device").count();
    let before = attempts();
    collector.wait_until("more attempts", || attempts() > before + 3);
    mount.resize("16m");
    collector.wait_for("the disk works again");
    collector.end_well();
    // Two producers, of whom neither need come first.
    let mut lengths = lengths(&run);
    lengths.sort_unstable();
    same(&lengths, 0..30_000);
    assert_eq!(collector::lines(&run, "gpu_util").len(), 200);
    let catalog = fs::read_to_string(run.join("dashboard/lane_catalog.json")).unwrap();
    assert!(catalog.contains("\"n:199\""));
}

#[test]
fn a_disk_that_stands_still_stops_no_producer() {
    let Some(mut mount) = Mount::ext4() else { return };
    let run = mount.path.join("run");
    let args =
        ["--flush-interval", "0.05", "-v", "--max-buffered", "50000", "--metrics-listen", "127.0.0.1:0"];
    let collector = Collector::start(&run, &args);
    let url = metrics_of(&collector);
    collector.send(many(0, 100));
    collector.wait_until("the first", || count(&url, WRITTEN) == 100);
    mount.freeze(true);
    let mut producer = collector.connect();
    producer.write_all(many(100, 40_000).as_bytes()).unwrap();
    collector.wait_until("all received", || count(&url, RECEIVED) == 40_000);
    assert_eq!((count(&url, WRITTEN), count(&url, DROPPED)), (100, 0));
    mount.freeze(false);
    collector.wait_until("all written", || count(&url, WRITTEN) == 40_000);
    same(&lengths(&run), 0..40_000);
    // Once more, beyond the bound.
    mount.freeze(true);
    producer.write_all(many(40_000, 200_000).as_bytes()).unwrap();
    collector.wait_until("all received", || count(&url, RECEIVED) == 200_000);
    let dropped = count(&url, DROPPED);
    assert!(dropped >= 110_000, "{dropped}");
    mount.freeze(false);
    collector.wait_until("all written", || count(&url, WRITTEN) == 200_000 - dropped);
    let said = collector.end_well();
    assert!(said.contains("the oldest that waited are dropped"), "{said}");
    let lengths = lengths(&run);
    assert!(lengths.is_sorted_by(|a, b| a < b) && lengths.last() == Some(&199_999));
    assert_eq!(lengths.len() as u64, 200_000 - dropped);
}

#[test]
fn a_file_that_cannot_be_cut_is_gone_on_with_where_it_ends() {
    let Some(mount) = Mount::ext4() else { return };
    let run = mount.path.join("run");
    let collector = Collector::start(&run, &["--flush-interval", "0.05", "-v"]);
    collector.send(many(0, 10));
    collector.wait_for("flushed 10 records");
    let path = run.join("dashboard/data_buffer.jsonl");
    let append_only =
        |on: bool, path: &Path| runs("chattr", &[if on { "+a" } else { "-a" }, path.to_str().unwrap()]);
    if !append_only(true, &path) {
        println!("skipped: no chattr here");
        return;
    }
    limit(&collector, 20_000);
    collector.send(many(10, 2000));
    collector.wait_until("failures", || failures(&collector) >= 2);
    assert_eq!(fs::metadata(&path).unwrap().len(), 20_000, "half a line stays, for nobody can cut it");
    limit(&collector, libc::RLIM_INFINITY);
    collector.wait_for("the disk works again");
    collector.end_well();
    append_only(false, &path);
    same(&lengths(&run), 0..2000);
}
