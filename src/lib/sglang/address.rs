//! Where an engine or a router is: its address as records have it, and the URL that is asked.
//!
//! A record's `addr` is `http://host:port`, as the training job writes it. The same engine can be spelt in
//! several ways (`host:port`, a slash at the end, a rank behind it), so engines are told apart by a key.

use ureq::http::Uri;

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no address: {reason}")]
pub struct AddressError {
    text: String,
    reason: &'static str,
}

/// Address of an engine or a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    base: String,
    key: String,
}

impl Address {
    /// Reads `http://host:port`, `https://…` or `host:port`, which means `http`. What lies behind, a slash or
    /// `/metrics`, is taken away; so is the `@RANK` that a router with data-parallel awareness puts there.
    ///
    /// # Errors
    /// [`AddressError`] when it is none of these, or has a user name in it: addresses are recorded.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let wrong = |reason| AddressError { text: text.to_owned(), reason };
        let trimmed = text.trim();
        let full = match trimmed.split_once("://") {
            Some(("http" | "https", _)) => trimmed.to_owned(),
            Some(_) => return Err(wrong("only http and https are known")),
            None => format!("http://{trimmed}"),
        };
        let full = full.trim_end_matches('/');
        let full = full.strip_suffix("/metrics").unwrap_or(full).trim_end_matches('/');
        let full = without_rank(full);
        let uri: Uri = full.parse().map_err(|_| wrong("http://HOST:PORT is one"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong("there is no host"));
        };
        if let Some((_, host)) = authority.as_str().rsplit_once('@') {
            // Without the password: this goes to a log.
            let text = format!("{scheme}://…@{host}");
            return Err(AddressError { text, reason: "a user name would be recorded" });
        }
        if uri.query().is_some() || authority.host().is_empty() {
            return Err(wrong("http://HOST:PORT is one"));
        }
        if authority.as_str().len() > authority.host().len() && authority.port_u16().is_none() {
            return Err(wrong("the port is none"));
        }
        let port = authority.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        let path = uri.path().trim_end_matches('/');
        let key = format!("{scheme}://{}:{port}{path}", authority.host().to_ascii_lowercase());
        Ok(Self { text: full.to_owned(), base: full.to_owned(), key })
    }

    /// An address that was recorded before: it keeps its spelling, so that records join.
    ///
    /// # Errors
    /// As [`Address::parse`].
    pub fn recorded(text: &str) -> Result<Self, AddressError> {
        Ok(Self { text: text.to_owned(), ..Self::parse(text)? })
    }

    /// An address from a label of a router. A router that writes `_` for every colon is understood.
    ///
    /// # Errors
    /// As [`Address::parse`].
    pub fn labelled(text: &str) -> Result<Self, AddressError> {
        for (written, scheme) in [("http_//", "http://"), ("https_//", "https://")] {
            if let Some((host, port)) = text.strip_prefix(written).and_then(|rest| rest.rsplit_once('_')) {
                return Self::parse(&format!("{scheme}{host}:{port}"));
            }
        }
        Self::parse(text)
    }

    /// As records have it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What tells engines apart, however they are spelt.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// URL of `path`, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// `http://host:port@3` without the rank.
fn without_rank(text: &str) -> &str {
    match text.rsplit_once('@') {
        Some((before, rank)) if !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_engine_have_one_key_and_one_text() {
        for text in [
            "http://10.0.0.1:30000",
            "10.0.0.1:30000",
            " http://10.0.0.1:30000/ ",
            "http://10.0.0.1:30000/metrics",
            "http://10.0.0.1:30000@3",
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.text(), "http://10.0.0.1:30000", "{text}");
            assert_eq!(address.url("/metrics"), "http://10.0.0.1:30000/metrics");
            assert_eq!(address.key(), "http://10.0.0.1:30000");
        }
        let recorded = Address::recorded("Node-1:30000").unwrap();
        assert_eq!((recorded.text(), recorded.key()), ("Node-1:30000", "http://node-1:30000"));
        assert_eq!(recorded.url("/metrics"), "http://Node-1:30000/metrics");
        let labelled = Address::labelled("http_//127.0.0.1_31042").unwrap();
        assert_eq!(labelled.text(), "http://127.0.0.1:31042");
        assert_eq!(Address::parse("https://e").unwrap().key(), "https://e:443");
        assert_eq!(Address::parse("http://gateway/engine/1/").unwrap().text(), "http://gateway/engine/1");
        assert_eq!(Address::parse("[::1]:8000").unwrap().text(), "http://[::1]:8000");
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        let error = Address::parse("http://user:secret@a:1").unwrap_err().to_string();
        assert_eq!(error, "'http://…@a:1' is no address: a user name would be recorded");
    }

    #[test]
    fn what_is_no_address_is_named() {
        for text in ["", "http://", "ftp://a:1", "a b:1", "http://a:x", "http://a:99999", "a:1?b=c"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is no address: ")), "{error}");
        }
    }
}
