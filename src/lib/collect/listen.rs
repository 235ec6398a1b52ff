//! Where producers connect: `tcp://HOST:PORT` and `unix:PATH`.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Host and port; port 0 is any that is free.
    Tcp(String),
    /// Path of a socket.
    Unix(PathBuf),
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address: it is tcp://HOST:PORT or unix:PATH")]
pub struct NoAddress(String);

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let no = || NoAddress(text.to_owned());
        if let Some(host) = text.strip_prefix("tcp://") {
            let (name, port) = host.rsplit_once(':').ok_or_else(no)?;
            if name.is_empty() || port.parse::<u16>().is_err() {
                return Err(no());
            }
            return Ok(Self::Tcp(host.to_owned()));
        }
        let path = text.strip_prefix("unix://").or_else(|| text.strip_prefix("unix:"));
        match path.filter(|path| !path.is_empty()) {
            Some(path) => Ok(Self::Unix(path.into())),
            None => Err(no()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(f, "tcp://{host}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A bound socket. That of a path is removed with the value.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// A producer's connection.
#[derive(Debug)]
pub(super) enum Connection {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    pub(super) fn bind(address: &Address) -> io::Result<Self> {
        let listener = match address {
            Address::Tcp(host) => Self::Tcp(bind_tcp(host)?),
            Address::Unix(path) => {
                clear(path)?;
                Self::Unix(UnixListener::bind(path)?, path.clone())
            }
        };
        match &listener {
            Self::Tcp(listener) => listener.set_nonblocking(true)?,
            Self::Unix(listener, _) => listener.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// The address with the port that it got.
    pub(super) fn address(&self) -> Address {
        match self {
            Self::Tcp(listener) => {
                Address::Tcp(listener.local_addr().map(|at| at.to_string()).unwrap_or_default())
            }
            Self::Unix(_, path) => Address::Unix(path.clone()),
        }
    }

    /// Lets a producer in; `None` when nobody waits. Answers its name as well.
    pub(super) fn accept(&self) -> io::Result<Option<(Connection, String)>> {
        let accepted = match self {
            Self::Tcp(listener) => listener.accept().and_then(|(stream, from)| {
                stream.set_nonblocking(true)?;
                keep_alive(&stream);
                Ok((Connection::Tcp(stream), from.to_string()))
            }),
            Self::Unix(listener, path) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                Ok((Connection::Unix(stream), path.display().to_string()))
            }),
        };
        match accepted {
            Ok(accepted) => Ok(Some(accepted)),
            Err(error)
                if matches!(
                    error.kind(),
                    // Gone before we came to it.
                    io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn descriptor(&self) -> RawFd {
        match self {
            Self::Tcp(listener) => listener.as_raw_fd(),
            Self::Unix(listener, _) => listener.as_raw_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = fs::remove_file(path);
        }
    }
}

impl Connection {
    pub(super) fn descriptor(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

impl Read for Connection {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(out),
            Self::Unix(stream) => stream.read(out),
        }
    }
}

/// Binds the first of the host's addresses that can be.
fn bind_tcp(host: &str) -> io::Result<TcpListener> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in host.to_socket_addrs()? {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Removes a socket that nobody listens on any more, as a killed collector leaves one.
fn clear(path: &PathBuf) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else is there"))
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
            _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there")),
        },
        Err(_) => Ok(()),
    }
}

/// Lets the system notice a producer whose host is gone; without it the connection would stay for ever.
fn keep_alive(stream: &TcpStream) {
    let on: libc::c_int = 1;
    // SAFETY: the option takes an int, whose address and size are given. If it fails, all works as before.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_KEEPALIVE,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_and_print() {
        for text in ["tcp://0.0.0.0:7700", "tcp://[::1]:0", "tcp://node-1:80", "unix:/tmp/x", "unix:relative"]
        {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("unix:///tmp/x".parse::<Address>().unwrap(), Address::Unix("/tmp/x".into()));
        for text in ["", "tcp://", "tcp://host", "tcp://:80", "tcp://h:x", "unix:", "http://h:80", "7700"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_socket_that_a_killed_process_left_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address).unwrap();
        assert!(Listener::bind(&address).unwrap_err().to_string().contains("another process"));
        drop(listener);
        assert!(!path.exists());
        fs::write(&path, "").unwrap();
        assert!(Listener::bind(&address).unwrap_err().to_string().contains("something else"));
    }
}
