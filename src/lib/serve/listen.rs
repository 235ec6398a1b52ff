//! Sockets: accepting, limits on what a connection may do, and an orderly end.
//!
//! A connection that does nothing must cost nothing to the others: the head of a request has to arrive in
//! time, an answer has to be taken in time, and their number is bounded. What is over the bound is told so
//! and closed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep, timeout};
use tower::ServiceExt;

use super::access::Connection;

/// Connections at a time.
const MOST_CONNECTIONS: usize = 4096;
/// File descriptors that connections leave to everything else: files of the run, watches.
const OTHER_FILES: u64 = 256;
/// Connections at a time that are told that there are too many.
const MOST_REFUSALS: usize = 64;
/// How long the head of a request may take, from the moment the connection is idle.
const HEAD_LIMIT: Duration = Duration::from_secs(15);
/// How long a client may take nothing of an answer.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// Largest head of a request.
const LARGEST_HEAD: usize = 64 << 10;
/// How long answers that are being sent have when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// A pause after a failed accept: without file descriptors it fails again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const REFUSAL: &str = "{\"detail\":\"too many connections\"}";

/// Answers connections until `stop` comes, then lets those that are being answered finish.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let port = listener.local_addr().map_or(0, |a| a.port());
    let places = Arc::new(Semaphore::new(most_connections()));
    let refusals = Arc::new(Semaphore::new(MOST_REFUSALS));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
                tokio::spawn(async move {
                    // Whoever does not take it gets nothing.
                    let _ = timeout(Duration::from_secs(1), refuse(stream)).await;
                    drop(place);
                });
            }
            continue;
        };
        let connection = connection(stream, Connection { peer, port }, router.clone());
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that hangs up or stalls is no news.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = timeout(GRACE, graceful.shutdown()).await;
}

fn connection(
    stream: TcpStream,
    connection: Connection,
    router: Router,
) -> impl GracefulConnection<Error = hyper::Error> {
    // Small answers go out at once; a socket that cannot do that works as well.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(connection);
        let request: Request = request.map(Body::new);
        router.clone().oneshot(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(Patient { stream, stalled: None }), service)
}

async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2\r\nconnection: close\r\n";
    let length = REFUSAL.len();
    stream.write_all(format!("{head}content-length: {length}\r\n\r\n{REFUSAL}").as_bytes()).await?;
    stream.shutdown().await?;
    // Closing with the request unread would reset the connection and take the answer with it.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// As many as file descriptors allow, after asking for all that the system would give.
fn most_connections() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a valid struct and touch nothing else.
    let files = unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return 128;
        }
        let wanted = (MOST_CONNECTIONS as u64 + OTHER_FILES).min(limit.rlim_max);
        if limit.rlim_cur < wanted {
            let more = libc::rlimit { rlim_cur: wanted, ..limit };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const more) == 0 {
                limit = more;
            }
        }
        limit.rlim_cur
    };
    MOST_CONNECTIONS
        .min(usize::try_from(files.saturating_sub(OTHER_FILES).max(files / 2)).unwrap_or(usize::MAX))
}

/// A stream that fails when its reader takes nothing for too long.
#[derive(Debug)]
struct Patient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn written<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_LIMIT)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The address that others on the network would use for a server that listens on all of this machine's.
pub fn outward_address() -> Option<std::net::IpAddr> {
    // Nothing is sent: connecting a datagram socket only asks the system for a route. The address is one
    // that is reserved for documentation.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(SocketAddr::from(([192, 0, 2, 1], 9))).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified() && !ip.is_loopback()).then_some(ip)
}
