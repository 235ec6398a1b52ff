//! `GET /metrics`, and nothing more, for Prometheus. Not a web server: a request, an answer, the end.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest request that is read.
const MOST: usize = 8 * 1024;

/// Requests that are answered at one time; who comes then waits for a place in the system's queue.
const AT_ONCE: usize = 16;

/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers requests with what `page` makes, on threads of its own, as long as the process lives.
pub(super) fn serve(
    listener: TcpListener,
    page: impl Fn() -> String + Send + Sync + 'static,
) -> io::Result<()> {
    let (page, busy) = (Arc::new(page), Arc::new(AtomicUsize::new(0)));
    let run = move || {
        loop {
            if busy.load(Ordering::Acquire) >= AT_ONCE {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
            // Without descriptors there is nobody to answer; a moment later there may be.
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            busy.fetch_add(1, Ordering::AcqRel);
            let (page, done) = (Arc::clone(&page), Arc::clone(&busy));
            let answering = thread::Builder::new().name("metrics".into()).spawn(move || {
                // Whoever goes away before the answer needs none.
                let _ = answer(stream, page.as_ref());
                done.fetch_sub(1, Ordering::AcqRel);
            });
            if answering.is_err() {
                busy.fetch_sub(1, Ordering::AcqRel);
            }
        }
    };
    thread::Builder::new().name("metrics".into()).spawn(run).map(drop)
}

fn answer(mut stream: TcpStream, page: &dyn Fn() -> String) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(head) = head(&mut stream)? else { return Ok(()) };
    let mut words = head.split(|byte| *byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", page()),
        (b"GET" | b"HEAD", b"/") => ("200 OK", "miles-collect: see /metrics\n".to_owned()),
        (b"GET" | b"HEAD", _) => ("404 Not Found", "see /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let mut response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method != b"HEAD" {
        response.push_str(&body);
    }
    stream.write_all(response.as_bytes())
}

/// The request up to the end of its head; `None` when it does not come to one.
fn head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let until = Instant::now() + PATIENCE;
    let mut head = vec![0; MOST];
    let mut length = 0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let room = head.get_mut(length..).unwrap_or_default();
        if left.is_zero() || room.is_empty() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(room)? {
            0 => return Ok(None),
            count => length += count,
        }
        let have = head.get(..length).unwrap_or_default();
        if memchr::memmem::find(have, b"\r\n\r\n").is_some() {
            head.truncate(length);
            return Ok(Some(head));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        serve(listener, || "a 1\n".to_owned()).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    #[test]
    fn the_page_is_answered_and_nothing_else() {
        let page = ask("GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 ") && page.ends_with("\r\n\r\na 1\n"), "{page}");
        assert!(
            ask("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("Content-Length: 4\r\nConnection: close\r\n\r\n")
        );
        assert!(ask("GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask("\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }
}
