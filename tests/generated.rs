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
