//! The checked-in man pages and completions are what the binaries generate.
//!
//! `MILES_UPDATE=1 cargo test --test generated` writes them anew.

#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const HINT: &str = "run MILES_UPDATE=1 cargo test --test generated and commit what changes";

fn miles(args: &[&str]) -> Vec<u8> {
    let out = Command::new(env!("CARGO_BIN_EXE_miles")).args(args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeMap::new() };
    entries
        .map(|e| e.unwrap().path())
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&p).unwrap()))
        .collect()
}

fn compare(name: &str, made: &BTreeMap<String, Vec<u8>>) {
    let kept_in = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("MILES_UPDATE").is_some() {
        let _ = fs::remove_dir_all(&kept_in);
        fs::create_dir_all(&kept_in).unwrap();
        for (file, bytes) in made {
            fs::write(kept_in.join(file), bytes).unwrap();
        }
        return;
    }
    let kept = files(&kept_in);
    assert!(made.keys().eq(kept.keys()), "{name}/ has other files; {HINT}");
    for (file, bytes) in made {
        assert!(kept[file] == *bytes, "{name}/{file} is out of date; {HINT}");
    }
}

#[test]
fn man_pages_are_those_of_the_binaries() {
    let dir = tempfile::tempdir().unwrap();
    miles(&["man", dir.path().to_str().unwrap()]);
    let made = files(dir.path());
    assert!(made.len() > 10, "{:?}", made.keys());
    compare("man", &made);
}

#[test]
fn completions_are_those_of_the_binaries() {
    let mut made = BTreeMap::new();
    for tool in ["miles", "miles-dump"] {
        for shell in ["bash", "zsh", "fish"] {
            made.insert(format!("{tool}.{shell}"), miles(&["completions", shell, "--tool", tool]));
        }
    }
    compare("completions", &made);
}

/// What bash offers for the last word of a line.
fn offered(script: &str, words: &[&str]) -> String {
    let tool = words[0];
    let line = format!(
        "source completions/{script}; COMP_WORDS=({}); COMP_CWORD={}; _{} {tool} '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1,
        tool.replace('-', "__"),
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let out =
        Command::new("bash").args(["-c", &line]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

#[test]
fn bash_completes_options_behind_a_command() {
    assert_eq!(offered("miles-dump.bash", &["miles-dump", "summary", "--for"]), "--format");
    assert_eq!(offered("miles-dump.bash", &["miles-dump", "summ"]), "summary");
    assert_eq!(offered("miles.bash", &["miles", "dump", "summary", "--for"]), "--format");
    assert!(offered("miles-dump.bash", &["miles-dump", "summary", "--format", "p"]).contains("parquet"));
}
