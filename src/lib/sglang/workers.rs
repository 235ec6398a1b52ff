//! The workers that a router says it has.
//!
//! sglang's router answers `GET /workers` with an object for each. miles' own router and old ones of
//! sglang's answer `GET /list_workers` with their URLs.

use serde::Deserialize;

use super::address::Address;

/// Where the workers are listed, newest first.
pub(super) const LISTS: [&str; 2] = ["/workers", "/list_workers"];

/// A worker of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Where it is.
    pub address: Address,
    /// `regular`, `prefill` or `decode`, where the router says.
    pub worker_type: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    workers: Option<Vec<Told>>,
    #[serde(default)]
    urls: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Told {
    url: String,
    #[serde(default)]
    worker_type: Option<String>,
    /// `HTTP` or `gRPC`; only the first is asked for metrics.
    #[serde(default)]
    connection_mode: Option<serde_json::Value>,
}

/// Reads a list of workers, each engine once: a router that knows data-parallel ranks lists an engine once a
/// rank. `None` when the text is no such list; a worker whose URL is none is left out.
#[must_use]
pub fn read(text: &[u8]) -> Option<Vec<Worker>> {
    let answer: Answer = serde_json::from_slice(text).ok()?;
    let told = match (answer.workers, answer.urls) {
        (Some(workers), _) => workers,
        (None, Some(urls)) => {
            urls.into_iter().map(|url| Told { url, worker_type: None, connection_mode: None }).collect()
        }
        (None, None) => return None,
    };
    let mut workers: Vec<Worker> = Vec::new();
    for Told { url, worker_type, connection_mode } in told {
        let grpc = connection_mode.is_some_and(|mode| mode.to_string().to_ascii_lowercase().contains("grpc"));
        let Ok(address) = Address::parse(&url) else { continue };
        if !grpc && !workers.iter().any(|worker| worker.address.key() == address.key()) {
            workers.push(Worker { address, worker_type: worker_type.filter(|kind| !kind.is_empty()) });
        }
    }
    Some(workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<Vec<String>> {
        let shown =
            |worker: Worker| format!("{} {}", worker.address.text(), worker.worker_type.unwrap_or_default());
        Some(read(text.as_bytes())?.into_iter().map(shown).collect())
    }

    #[test]
    fn the_lists_of_all_routers_are_understood() {
        let text = r#"{"workers": [
            {"id": "a", "url": "http://a:1@0", "worker_type": "prefill", "is_healthy": false, "connection_mode": "HTTP"},
            {"url": "http://a:1@1", "worker_type": "prefill"},
            {"url": "grpc://b:2", "worker_type": "decode"},
            {"url": "http://c:2", "connection_mode": {"grpc": {"port": 1}}},
            {"url": "http://b:1", "worker_type": "decode"}], "total": 5}"#;
        assert_eq!(shown(text).unwrap(), ["http://a:1 prefill", "http://b:1 decode"]);
        let text = r#"{"urls": ["http://a:1", "http://b:1/"]}"#;
        assert_eq!(shown(text).unwrap(), ["http://a:1 ", "http://b:1 "]);
        assert_eq!(shown(r#"{"urls": []}"#).unwrap(), [""; 0]);
        for text in ["", "[]", "{}", "['http://a:1']", r#"{"detail": "Not Found"}"#, r#"{"workers": 3}"#] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
