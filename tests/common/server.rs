//! `miles serve` started for a test, and a client that is small enough to do wrong things on purpose.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Nothing that these tests ask for takes a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server, killed with the value.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Serves a run on a free port of this machine.
    pub fn start(run: &Path, args: &[&str]) -> Self {
        let mut all = vec!["-d", run.to_str().unwrap(), "--host", "127.0.0.1"];
        all.extend(args);
        Self::start_with(&all)
    }

    /// `miles serve --port 0 ARGS`.
    pub fn start_with(args: &[&str]) -> Self {
        Self::start_in(args, &[])
    }

    /// The same with variables in its environment.
    pub fn start_in(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_miles"));
        command.args(["serve", "--port", "0"]).args(args);
        command.env_remove("MILES_DUMP_DETAILS").env_remove("MILES_TOKEN").env_remove("RUST_BACKTRACE");
        command.envs(env.iter().copied());
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|l| l.strip_suffix('/'));
        let Some(address) = address.and_then(|a| a.parse().ok()) else {
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            panic!("no address in {line:?}: {stderr}");
        };
        Self { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes and reads one response.
    pub fn send(&self, request: &str) -> Response {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Response::read(&mut BufReader::new(stream))
    }

    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let headers: String = headers.iter().map(|(k, v)| format!("{k}: {v}\r\n")).collect();
        let host = self.address;
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"))
    }

    pub fn get(&self, path: &str) -> Response {
        self.get_with(path, &[])
    }

    /// The JSON of an answer that must be 200.
    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    /// Sends a signal and waits for the end: exit status and stderr.
    pub fn end(mut self, signal: i32) -> (Option<i32>, String) {
        // SAFETY: a plain system call on a child that has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
        let status = super::wait(&mut self.child, "miles serve");
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status.code(), stderr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response, chunks joined.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn read(stream: &mut impl BufRead) -> Self {
        let (status, headers) = Self::read_head(stream);
        let mut response = Self { status, headers, body: Vec::new() };
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = read_chunk(stream) {
                response.body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            response.body = vec![0; length.parse().unwrap()];
            let mut body = std::mem::take(&mut response.body);
            stream.read_exact(&mut body).unwrap();
            response.body = body;
        }
        response
    }

    pub fn read_head(stream: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
        let mut line = || {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let first = line();
        let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no response: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let header = line();
            let Some((name, value)) = header.split_once(": ") else { return (status, headers) };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The `detail` of an error.
    #[track_caller]
    pub fn detail(&self) -> String {
        let json = self.json();
        json["detail"].as_str().unwrap_or_else(|| panic!("no detail: {json}")).to_owned()
    }
}

/// One chunk of a chunked body; none at its end.
pub fn read_chunk(stream: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut size = String::new();
    stream.read_line(&mut size).unwrap();
    let size = usize::from_str_radix(size.trim(), 16).ok()?;
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).unwrap();
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}
