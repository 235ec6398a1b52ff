//! What the README shows is what the tools print on the demo run.

#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// What a command begins with; a path of `inspect` begins with a dollar sign too.
const TOOLS: [char; 2] = ['m', 'p'];

/// Commands and outputs of the README's `console` blocks.
fn shown() -> Vec<(String, String)> {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let mut all: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|c| inside && c.starts_with(TOOLS)) {
            all.push((command.to_owned(), String::new()));
        } else if let (true, Some((command, output))) = (inside, all.last_mut()) {
            // A command goes on in lines that are indented.
            let text = if output.is_empty() && line.starts_with("    ") { command } else { output };
            text.push_str(line);
            text.push('\n');
        }
    }
    all
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

#[test]
fn the_readme_shows_what_the_tools_print() {
    let dir = tempfile::tempdir().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_miles")).arg("demo").arg(dir.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bin = Path::new(env!("CARGO_BIN_EXE_miles-dump")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut checked = 0;
    for (command, output) in shown() {
        if command.starts_with("python") || command.contains("| jq") && !has("jq") {
            println!("skipped, a program is missing: {command}");
            continue;
        }
        let command = command.replace("/tmp/", &format!("{}/", dir.path().display()));
        let ran = Command::new("bash")
            .args(["-c", &command])
            .current_dir(dir.path())
            .env("PATH", &path)
            .env_remove("MILES_DUMP_DETAILS")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(String::from_utf8_lossy(&ran.stdout), output, "{command}");
        checked += 1;
    }
    assert!(checked >= 3, "only {checked} commands");
}
