//! A stub engine: a small HTTP server whose answers a test changes while it runs.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// What comes back for a path.
#[derive(Debug, Clone)]
pub enum Answer {
    /// 200 with this text.
    Text(String),
    /// Another status.
    Status(u16, String),
    /// 302 to this.
    Redirect(String),
    /// 200 with this body, which is gzip.
    Gzip(Vec<u8>),
    /// These bytes, whatever they are, and the connection is closed.
    Raw(Vec<u8>),
    /// A body that goes on until nobody reads any more.
    Endless,
    /// A head, then a byte of the body now and then.
    Drip,
    /// Nothing, until the stub ends.
    Hang,
}

/// The server. It goes with it.
pub struct Stub {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<HashMap<String, Answer>>,
    /// Heads of the requests, lower case.
    heads: Mutex<Vec<String>>,
    now: AtomicUsize,
    most: AtomicUsize,
    connections: Mutex<Vec<TcpStream>>,
    accepted: AtomicUsize,
    down: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Stub {
    /// A server that answers 404 until it is told what to answer.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stub = Self { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let shared = Arc::clone(&stub.shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), false) = (stream, *shared.ended.lock().unwrap()) else { return };
                if shared.down.load(Ordering::SeqCst) {
                    continue; // closed at once
                }
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                shared.connections.lock().unwrap().push(stream.try_clone().unwrap());
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.serve(stream));
            }
        });
        stub
    }

    /// An engine with these metrics.
    pub fn engine(text: &str) -> Self {
        let stub = Self::new();
        stub.answer("/metrics", Answer::Text(text.to_owned()));
        stub
    }

    pub fn answer(&self, path: &str, answer: Answer) {
        self.shared.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub fn metrics(&self, text: &str) {
        self.answer("/metrics", Answer::Text(text.to_owned()));
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Heads of all requests so far, in lower case.
    pub fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }

    /// The largest number of requests that were open at the same time.
    pub fn most_at_once(&self) -> usize {
        self.shared.most.load(Ordering::SeqCst)
    }

    /// Connections that were made.
    pub fn connections(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// Closes every connection, now and from now on; or not any more.
    pub fn down(&self, down: bool) {
        self.shared.down.store(down, Ordering::SeqCst);
        self.cut();
    }

    /// Closes the connections that are open.
    pub fn cut(&self) {
        for stream in self.shared.connections.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap() = true;
        self.shared.end.notify_all();
        self.cut();
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let mut out = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(head) = read_head(&mut reader) {
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            self.heads.lock().unwrap().push(head.to_ascii_lowercase());
            let answer = self.answers.lock().unwrap().get(&path).cloned();
            let open = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(open, Ordering::SeqCst);
            let go_on = self.write(&mut out, answer.unwrap_or(Answer::Status(404, "Not Found".to_owned())));
            self.now.fetch_sub(1, Ordering::SeqCst);
            if !go_on {
                break;
            }
        }
        let _ = out.shutdown(std::net::Shutdown::Both);
    }

    /// Answers whether the connection goes on.
    fn write(&self, out: &mut TcpStream, answer: Answer) -> bool {
        let head = |status: u16, length: usize, more: &str| {
            format!(
                "HTTP/1.1 {status} Told\r\nContent-Type: text/plain\r\n{more}Content-Length: {length}\r\n\r\n"
            )
        };
        let whole = |out: &mut TcpStream, head: String, body: &[u8]| {
            out.write_all(&[head.as_bytes(), body].concat()).is_ok()
        };
        match answer {
            Answer::Text(text) => whole(out, head(200, text.len(), ""), text.as_bytes()),
            Answer::Status(status, text) => whole(out, head(status, text.len(), ""), text.as_bytes()),
            Answer::Redirect(to) => whole(out, head(302, 0, &format!("Location: {to}\r\n")), b""),
            Answer::Gzip(body) => whole(out, head(200, body.len(), "Content-Encoding: gzip\r\n"), &body),
            Answer::Raw(bytes) => {
                let _ = out.write_all(&bytes);
                false
            }
            Answer::Endless => {
                let _ = out.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
                let line = "sglang:num_running_reqs{a=\"b\"} 1\n".repeat(1000);
                while out.write_all(line.as_bytes()).is_ok() {}
                false
            }
            Answer::Drip => {
                let _ = out.write_all(head(200, 1 << 20, "").as_bytes());
                while !self.ends_within(Duration::from_millis(20)) && out.write_all(b"#").is_ok() {}
                false
            }
            Answer::Hang => {
                while !self.ends_within(Duration::from_secs(1)) {}
                false
            }
        }
    }

    fn ends_within(&self, wait: Duration) -> bool {
        let ended = self.ended.lock().unwrap();
        *self.end.wait_timeout_while(ended, wait, |ended| !*ended).unwrap().0
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}
