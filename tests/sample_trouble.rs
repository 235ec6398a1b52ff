//! `miles-sample` when GPUs hang, fall off the bus and come back, and when the driver is replaced under it.
//!
//! Each test waits for the tool's own patience, some seconds; all of them wait at once.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/nvml.rs"]
mod nvml;

use nvml::{Host, now, time};

#[test]
fn a_gpu_that_hangs_costs_its_own_records_and_comes_back() {
    let mut host = Host::new(4);
    let running = host.start(&["--interval", "0.05"]);
    running.goes_on(&[0, 1, 2, 3], &[], 2);
    host.set("3.hang", 1);
    running.says("GPU 3 (GPU-3): the driver has not answered for ");
    running.goes_on(&[0, 1, 2], &[3], 20);
    host.unset("3.hang");
    running.says("GPU 3 (GPU-3): the driver answers again");
    running.goes_on(&[0, 1, 2, 3], &[], 3);
    let said = running.stop();
    assert_eq!(said.matches("has not answered").count(), 1, "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn it_ends_in_time_while_a_call_hangs() {
    let mut host = Host::new(2);
    host.set("1.hang", 1);
    let running = host.start(&["--interval", "0.05"]);
    running.goes_on(&[0], &[1], 5);
    running.stop();
    // All of them, and none was read.
    host.set("0.hang", 1);
    let running = host.start(&["--interval", "0.05"]);
    running.says("GPU 0: the driver has not answered");
    running.stop();
}

#[test]
fn a_count_ends_though_a_gpu_hangs() {
    let mut host = Host::new(2);
    host.set("1.hang", 1);
    let ran = host.run(&["--interval", "0.05", "--count", "3"]).ok();
    assert_eq!(ran.of("gpu_util").len(), 3);
    assert!(ran.of("gpu_util").iter().all(|line| line["gpu"] == 0));
    host.set("0.hangopen", 1);
    let ran = host.run(&["--interval", "0.05", "--count", "3", "-q"]);
    ran.fails(69, &["no GPU has answered"]);
}

#[test]
fn a_lost_gpu_is_looked_for_while_the_others_go_on() {
    let mut host = Host::new(4);
    let running = host.start(&["--interval", "0.05", "-v"]);
    running.goes_on(&[0, 1, 2, 3], &[], 2);
    host.set("3.lost", 1);
    running.says("GPU 3 (GPU-3): device fell off the bus");
    running.goes_on(&[0, 1, 2], &[3], 20);
    // The library itself knows it again only after a new start.
    host.unset("3.lost");
    running.says("GPU 3 (GPU-3) is back");
    running.goes_on(&[0, 1, 2, 3], &[], 3);
    let said = running.stop();
    assert_eq!(said.matches("fell off the bus").count(), 1, "{said}");
}

#[test]
fn a_gpu_that_is_broken_from_the_start_is_said_once_and_the_others_are_read() {
    let mut host = Host::new(3);
    host.set("1.open", 15);
    let ran = host.run(&["--interval", "0.05", "--count", "3"]).ok();
    assert_eq!(ran.of("gpu_util").len(), 6);
    assert_eq!(ran.stderr.matches("GPU 1: ").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_card_is_known_by_its_uuid_after_a_new_start() {
    let mut host = Host::new(3);
    let running = host.start(&["--interval", "0.05", "--health", "--gpus", "1,2"]);
    running.goes_on(&[1, 2], &[0], 2);
    // Card 0 is gone, so the others move up; and the chosen ones are still those that were chosen.
    let uuid = |text: &str| Some(text.to_owned());
    host.change([("0.uuid", uuid("GPU-1")), ("1.uuid", uuid("GPU-2")), ("gpus", uuid("2"))]);
    host.set("2.lost", 1);
    running.says("GPU 0 (GPU-1) was GPU 1 before");
    running.says("GPU 1 (GPU-2) was GPU 2 before");
    let now = now();
    let mut seen = 0;
    running.until("records by the new numbers", |line| {
        if line["stream"] == "gpu_health" && time(line) > now {
            let moved = [("GPU-1", 0), ("GPU-2", 1)];
            assert!(moved.iter().any(|(uuid, gpu)| line["uuid"] == *uuid && line["gpu"] == *gpu), "{line:?}");
            seen += 1;
        }
        seen == 6
    });
    running.stop();
}

#[test]
fn two_cards_that_swap_places_take_their_uuids_with_them() {
    let mut host = Host::new(2);
    let running = host.start(&["--interval", "0.05", "--health"]);
    let shows = |gpu: u64, uuid: &str| {
        running.until(uuid, |line| line["gpu"] == gpu && line.get("uuid").is_some_and(|have| have == uuid));
    };
    shows(0, "GPU-0");
    host.change([("0.uuid", Some("GPU-1".to_owned())), ("1.uuid", Some("GPU-0".to_owned()))]);
    host.set("1.lost", 1);
    running.says("fell off the bus");
    host.unset("1.lost");
    shows(0, "GPU-1");
    shows(1, "GPU-0");
    running.stop();
}

#[test]
fn a_driver_of_another_version_at_the_start_is_waited_for() {
    let mut host = Host::new(2);
    host.set("kernel", "560.1");
    let running = host.start(&["--interval", "0.05"]);
    running.says("version mismatch");
    host.set("kernel", "550.54");
    running.goes_on(&[0, 1], &[], 3);
    let said = running.stop();
    assert_eq!(said.matches("version mismatch").count(), 1, "{said}");
    assert!(said.contains("the driver works"), "{said}");
}

#[test]
fn a_driver_that_is_replaced_under_a_running_sampler_is_loaded_anew() {
    let mut host = Host::new(2);
    let running = host.start(&["--interval", "0.05", "-v"]);
    running.goes_on(&[0, 1], &[], 2);
    // The kernel's side is new. The library in memory is the old one and stays so until it is read from disk.
    host.change([("library", Some("560.1".to_owned())), ("kernel", Some("560.1".to_owned()))]);
    running.says("version mismatch");
    running.says("the driver works (NVML, driver 560.1)");
    running.goes_on(&[0, 1], &[], 3);
    running.stop();
}

#[test]
fn a_library_that_works_is_not_given_up_for_one_that_is_new_on_disk() {
    let mut host = Host::new(2);
    let running = host.start(&["--interval", "0.05", "-v"]);
    running.goes_on(&[0, 1], &[], 2);
    // An update has put a new library on disk; the kernel's side is still the old one.
    host.change([("library", Some("560.1".to_owned())), ("kernel", Some("550.54".to_owned()))]);
    host.set("1.lost", 1);
    running.says("fell off the bus");
    host.unset("1.lost");
    running.says("GPU 1 (GPU-1) is back");
    running.goes_on(&[0, 1], &[], 3);
    let said = running.stop();
    assert!(!said.contains("mismatch"), "{said}");
}

#[test]
fn a_gpu_that_we_may_not_read_is_said_once_and_left_alone() {
    let mut host = Host::new(2);
    host.set("0.open", 4);
    let running = host.start(&["--interval", "0.05", "-v"]);
    running.goes_on(&[1], &[0], 20);
    let said = running.stop();
    assert_eq!(said.matches("permission").count(), 1, "{said}");
}
