//! One GET, bounded in time and size.
//!
//! Connections are kept between scrapes. No proxy is taken from the environment: engines are inside the
//! cluster, where a `HTTP_PROXY` meant for downloads would answer for them. `https` is checked against the
//! roots that Mozilla trusts, or against those of a file.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Most bytes of an answer, unpacked: 30 times what an engine with every option exposes for 8 ranks.
const MAX_BYTES: u64 = 16 << 20;
/// Redirects that are followed: a gateway's one to `https` or to a path with a slash.
const MAX_REDIRECTS: u32 = 3;
/// Connections kept while nobody uses them; beyond it a scrape costs a handshake.
const MAX_IDLE: usize = 1024;
/// Characters shown of a refusal's text: routers say what is wrong in the first few.
const MAX_EXCERPT: usize = 120;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Not within the time that it had.
    #[error("no answer within {0} s")]
    Timeout(f64),
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// The name cannot be resolved.
    #[error("there is no such host")]
    NoHost,
    /// Answered, but not with 200.
    #[error("answers {status}{}", excerpt(body))]
    Status {
        /// HTTP status.
        status: u16,
        /// Beginning of the body.
        body: String,
    },
    /// Larger than any answer of an engine.
    #[error("an answer of more than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// Anything else that went wrong on the way.
    #[error("{0}")]
    Other(String),
}

fn excerpt(body: &str) -> String {
    let text = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.char_indices().nth(MAX_EXCERPT).map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default();
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The file of roots cannot be read.
    #[error("the certificates cannot be read: {0}")]
    Pem(String),
    /// There is none in it.
    #[error("there is no certificate in it")]
    NoCertificate,
}

/// Asks engines and routers. Clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    timeout: Duration,
}

impl Client {
    /// A client whose requests take at most `timeout` each, from the look-up of the name to the last byte.
    /// Connections are kept for longer than `interval`. `roots` is PEM text of the authorities that `https`
    /// trusts, instead of Mozilla's.
    ///
    /// # Errors
    /// [`ClientError`] when `roots` is none.
    pub fn new(timeout: Duration, interval: Duration, roots: Option<&[u8]>) -> Result<Self, ClientError> {
        let trusted = match roots {
            None => RootCerts::WebPki,
            Some(pem) => RootCerts::Specific(Arc::new(certificates(pem)?)),
        };
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(MAX_REDIRECTS)
            .max_idle_connections(MAX_IDLE)
            .max_idle_connections_per_host(2)
            .max_idle_age(interval.saturating_mul(3).max(Duration::from_secs(15)))
            .user_agent(concat!("miles-scrape/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(trusted).build())
            .build();
        Ok(Self { agent: config.into(), timeout })
    }

    /// The body of a 200 answer.
    ///
    /// # Errors
    /// [`FetchError`].
    pub fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let begun = Instant::now();
        match self.once(url) {
            // The server closed a kept connection in the moment it was used again.
            Err(Trouble::Lost(_)) if begun.elapsed() < self.timeout / 2 => self.once(url),
            other => other,
        }
        .map_err(|trouble| match trouble {
            Trouble::Lost(error) | Trouble::Failed(error) => self.named(error),
            Trouble::Refused(error) => error,
        })
    }

    fn once(&self, url: &str) -> Result<Vec<u8>, Trouble> {
        let mut response = self.agent.get(url).call().map_err(Trouble::from)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config();
        if status != 200 {
            let mut text = Vec::new();
            // What does not come, or is cut, changes nothing about a refusal.
            let _ = body.reader().take(4096).read_to_end(&mut text);
            let body = String::from_utf8_lossy(&text).into_owned();
            return Err(Trouble::Refused(FetchError::Status { status, body }));
        }
        body.limit(MAX_BYTES).read_to_vec().map_err(Trouble::from)
    }

    fn named(&self, error: ureq::Error) -> FetchError {
        match error {
            ureq::Error::Timeout(_) => FetchError::Timeout(self.timeout.as_secs_f64()),
            ureq::Error::BodyExceedsLimit(_) => FetchError::TooLarge,
            ureq::Error::HostNotFound => FetchError::NoHost,
            ureq::Error::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => FetchError::Refused,
                io::ErrorKind::TimedOut => FetchError::Timeout(self.timeout.as_secs_f64()),
                _ if error.to_string().contains("failed to lookup") => FetchError::NoHost,
                io::ErrorKind::UnexpectedEof => FetchError::Other("the connection was closed".to_owned()),
                _ => FetchError::Other(error.to_string()),
            },
            other => FetchError::Other(other.to_string()),
        }
    }
}

enum Trouble {
    /// The connection broke.
    Lost(ureq::Error),
    Failed(ureq::Error),
    Refused(FetchError),
}

impl From<ureq::Error> for Trouble {
    fn from(error: ureq::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match &error {
            ureq::Error::Io(io)
                if matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof) =>
            {
                Self::Lost(error)
            }
            _ => Self::Failed(error),
        }
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, ClientError> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        // A key beside the certificates is not what this file is for, and is left alone.
        if let PemItem::Certificate(certificate) = item.map_err(|e| ClientError::Pem(e.to_string()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err(ClientError::NoCertificate) } else { Ok(found) }
}
