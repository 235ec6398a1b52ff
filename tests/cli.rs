//! The tools' edges: exit statuses, help, errors, pages.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

fn run(tool: &str, args: &[&str]) -> Output {
    let exe = match tool {
        "miles" => env!("CARGO_BIN_EXE_miles"),
        _ => env!("CARGO_BIN_EXE_miles-dump"),
    };
    let dir = tempfile::tempdir().unwrap();
    Command::new(exe).args(args).current_dir(dir.path()).env_remove("MILES_DUMP_DETAILS").output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn help_and_version_are_answers() {
    for args in [&["--help"][..], &["-h"], &["--version"], &["summary", "--help"]] {
        let output = run("miles-dump", args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{args:?}");
    }
    assert!(stdout(&run("miles-dump", &["--help"])).contains("Examples:"));
}

#[test]
fn a_wrong_command_line_is_exit_64_and_says_what_is_right() {
    for (args, says) in [
        (&["sumary"][..], "summary"),
        (&["summary"], "<RID>"),
        (&["summary", "7-3"], "a range such as 3-7"),
        (&["ids", "--format", "xml"], "ndjson"),
        (&["ids", "-o", "rows.xlsx"], ".parquet"),
        (&["tokens", "12", "x"], "SAMPLE"),
        (&[], "Usage"),
    ] {
        let output = run("miles-dump", args);
        assert_eq!(output.status.code(), Some(64), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn miles_dump_is_reached_through_miles() {
    let output = run("miles", &["dump", "summary", "7-3"]);
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(run("miles", &["dump", "--help"]).status.code(), Some(0));
}

#[test]
fn completions_know_the_commands_of_both_tools() {
    for shell in ["bash", "zsh", "fish"] {
        let miles = run("miles", &["completions", shell]);
        assert_eq!(miles.status.code(), Some(0));
        assert!(stdout(&miles).contains("completions"), "{shell}");
        let dump = run("miles", &["completions", shell, "--tool", "miles-dump"]);
        assert!(stdout(&dump).contains("summary"), "{shell}");
    }
}

#[test]
fn man_writes_a_page_for_every_tool_and_command() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("made/man1");
    let output = run("miles", &["man", pages.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for page in ["miles.1", "miles-completions.1", "miles-dump.1", "miles-dump-joined.1"] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    let tokens = std::fs::read_to_string(pages.join("miles-dump-tokens.1")).unwrap();
    assert!(tokens.contains("Examples"), "{tokens}");
}

#[test]
fn a_full_disk_is_one_line_and_exit_2() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    let miles = env!("CARGO_BIN_EXE_miles");
    let output = Command::new(miles).args(["completions", "bash"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("miles: stdout: No space left on device"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let script = format!(
        "{} completions zsh | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_miles")
    );
    if !Path::new("/bin/bash").exists() {
        eprintln!("skipped: no bash here");
        return;
    }
    let output = Command::new("/bin/bash").args(["-c", &script]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

/// Starts `miles completions zsh` with a stdout that takes one page, waits until it is stuck there,
/// and sends it `signal`. The reader is read only after that.
fn ended_by(signal: libc::c_int) -> Output {
    use std::os::fd::AsRawFd;
    let (reader, writer) = std::io::pipe().unwrap();
    // SAFETY: plain calls on file descriptors and a process id that are ours.
    assert!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) } >= 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_miles"));
    command.args(["completions", "zsh"]).stdout(writer).stderr(std::process::Stdio::piped());
    // Whoever starts the tests in the background of a script has SIGINT ignored, and so have their children.
    // SAFETY: between fork and exec this calls nothing but signal(2).
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, move || {
            libc::signal(signal, libc::SIG_DFL);
            Ok(())
        });
    }
    let child = command.spawn().unwrap();
    let mut held: libc::c_int = 0;
    while held < 4096 {
        // SAFETY: as above.
        unsafe { libc::ioctl(reader.as_raw_fd(), libc::FIONREAD, &raw mut held) };
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // SAFETY: as above; the child has not been waited for, so its id is still its own.
    unsafe { libc::kill(child.id().cast_signed(), signal) };
    let output = child.wait_with_output().unwrap();
    drop(reader);
    output
}

#[test]
fn a_file_that_shrinks_under_its_map_is_one_line_and_exit_75() {
    let output = ended_by(libc::SIGBUS);
    assert_eq!(output.status.code(), Some(75));
    assert_eq!(stderr(&output), "miles: a file shrank while it was being read; hint: run again\n");
}

#[test]
fn an_interrupted_tool_dies_of_the_signal() {
    use std::os::unix::process::ExitStatusExt;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let output = ended_by(signal);
        assert_eq!(output.status.signal(), Some(signal));
        assert_eq!(stderr(&output), "");
    }
}
