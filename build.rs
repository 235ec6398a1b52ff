//! Puts the web view into the binary.
//!
//! With Node 20.19 or newer at hand, `web/` is built (its packages are fetched once, with `npm ci`); without, a `web/dist`
//! that was built elsewhere is taken; without both, the binary has the API and a page that says how to get the view.
//! `MILES_SKIP_WEB=1` skips it all. Nothing here fails a build: a machine without network builds the tools too.
//!
//! The files go into `OUT_DIR`, not into the source tree, so that nothing that this script writes makes cargo run it again.

use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the view is made from; its packages are named by the lock file.
const SOURCES: [&str; 6] =
    ["src", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];
/// What Vite needs.
const OLDEST_NODE: (u32, u32) = (20, 19);

fn main() -> Result<()> {
    let web = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?).join("web");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    println!("cargo::rerun-if-env-changed=MILES_SKIP_WEB");
    println!("cargo::rerun-if-changed=build.rs");
    // A name that is not there would make cargo run this each time.
    for source in SOURCES.map(|name| web.join(name)).iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let built = out.join("web");
    let skip = env::var("MILES_SKIP_WEB").is_ok_and(|value| !value.is_empty() && value != "0");
    let found = if skip {
        None
    } else {
        match build(&web, &built) {
            Ok(()) => Some(built),
            Err(why) => {
                let elsewhere = web.join("dist");
                if elsewhere.join("index.html").is_file() {
                    println!("cargo::warning=web/ is not built ({why}); web/dist is taken as it is");
                    Some(copied(&elsewhere, &built)?)
                } else {
                    println!("cargo::warning=the web view is left out: {why}");
                    None
                }
            }
        }
    };
    fs::write(out.join("web.rs"), table(found.as_deref())?)?;
    Ok(())
}

fn build(web: &Path, built: &Path) -> Result<()> {
    if !web.join("package.json").is_file() {
        return Err("there is no web/package.json".into());
    }
    let version = output(Command::new("node").arg("--version")).map_err(|_| "no Node found")?;
    let mut parts = version.trim().trim_start_matches('v').split('.').map(|part| part.parse().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if version < OLDEST_NODE {
        let (major, minor) = OLDEST_NODE;
        return Err(format!("Node is {}.{}, {major}.{minor} is needed", version.0, version.1).into());
    }
    if !packages_are_current(web) {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        output(
            Command::new(npm).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(web),
        )?;
    }
    let vite = web.join("node_modules/vite/bin/vite.js");
    let mut command = Command::new("node");
    command.arg(vite).args(["build", "--logLevel", "warn", "--emptyOutDir", "--outDir"]).arg(built);
    output(command.current_dir(web))?;
    if !built.join("index.html").is_file() {
        return Err("vite made no index.html".into());
    }
    Ok(())
}

/// npm notes what it installed in a lock file of its own. It leaves out the project itself, so the two are compared by time.
fn packages_are_current(web: &Path) -> bool {
    let changed = |path: &str| fs::metadata(web.join(path)).and_then(|m| m.modified()).ok();
    let installed = changed("node_modules/.package-lock.json");
    installed.is_some() && installed >= changed("package-lock.json")
}

/// Runs a command; its last words are the error.
fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> =
        stderr.lines().chain(text.lines()).filter(|l| !l.trim().is_empty()).take(3).collect();
    Err(format!("{name} failed: {}", last.join("; ")).into())
}

fn copied(from: &Path, to: &Path) -> Result<PathBuf> {
    let _ = fs::remove_dir_all(to);
    for file in files(from)? {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::copy(&file, target)?;
    }
    Ok(to.to_owned())
}

/// Every file below a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// The files as a table in Rust, for `src/lib/serve/assets.rs`.
fn table(built: Option<&Path>) -> Result<String> {
    let mut text = String::from("&[\n");
    for path in built.map(files).transpose()?.unwrap_or_default() {
        let Some(built) = built else { continue };
        if path.extension().is_some_and(|e| e == "gz") {
            continue;
        }
        let name = path.strip_prefix(built)?.to_string_lossy().replace('\\', "/");
        let mut hasher = DefaultHasher::new();
        fs::read(&path)?.hash(&mut hasher);
        let tag = hasher.finish();
        let gz = PathBuf::from(format!("{}.gz", path.display()));
        let gzip = if gz.is_file() { format!("Some(include_bytes!({gz:?}))") } else { "None".to_owned() };
        let path = path.display().to_string();
        writeln!(
            text,
            "    Asset {{ path: {name:?}, tag: \"W/\\\"{tag:016x}\\\"\", body: include_bytes!({path:?}), gzip: {gzip} }},"
        )?;
    }
    text.push_str("]\n");
    Ok(text)
}
