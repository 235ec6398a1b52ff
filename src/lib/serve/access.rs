//! Who may ask.
//!
//! Over loopback everybody on this machine may, without a token: whoever is logged in here can read the
//! run's files anyway. But a page of some other site that runs in a browser on this machine comes over
//! loopback too, once its name resolves to 127.0.0.1 (DNS rebinding). Such a request carries that site's
//! name in `Host`; so over loopback `Host` must be a loopback name.
//!
//! Everybody else needs the token: as `?token=` in the printed link, which leaves a cookie behind and
//! takes the token out of the address bar; as that cookie; or as `Authorization: Bearer`. `Host` does not
//! matter there: a cookie belongs to the name that it was given to.
//!
//! Headers that a proxy would set (`X-Forwarded-For` and its like) are never read: anybody can write them.
//! So what a reverse proxy on this machine passes on counts as loopback, and the proxy must decide who may
//! ask; docs/http.md says how.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use super::query::Query;
use super::{App, Problem, page};

/// Who may ask.
#[derive(Debug, Clone)]
pub enum Access {
    /// Everybody, under any `Host`.
    Anybody,
    /// Over loopback everybody, else who has the token.
    Token(Token),
}

/// A secret. It is never shown by `{:?}`.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// 128 bits from the system, as 32 hexadecimal digits.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }

    /// A token that the user chose; `None` unless it is 1 to 256 letters, digits, `-`, `_`, `.` or `~`,
    /// which travel unchanged in a URL and in a cookie.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
        ((1..=256).contains(&text.len()) && text.bytes().all(fine)).then_some(Self(text))
    }

    /// The text, for the link that is printed.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Takes as long for every text of the right length.
    fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Both ends of the connection that a request came over. A request without it is treated as coming from
/// elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// The client.
    pub peer: SocketAddr,
    /// Our port.
    pub port: u16,
}

/// Lets a request pass or answers it.
pub(super) async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Connection>().copied();
    let decision = match &app.settings.access {
        Access::Anybody => Ok(None),
        Access::Token(token) => match connection {
            Some(c) if is_loopback(c.peer.ip()) => {
                check_host(request.uri(), request.headers()).map(|()| None)
            }
            c => check_token(token, c.map_or(0, |c| c.port), request.uri(), request.headers()),
        },
    };
    let cookie = match decision {
        Ok(cookie) => cookie,
        Err(problem) => return refuse(problem, request.uri()),
    };
    // A page's address is shown, kept in the history and shared: the token goes out of it.
    let has_token = Query::parse(request.uri().query().unwrap_or_default()).text("token").is_some();
    let mut response = if has_token && !is_api(request.uri()) {
        let location = without_token(request.uri());
        (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
    } else {
        next.run(request).await
    };
    if let Some(cookie) = cookie.and_then(|c| HeaderValue::try_from(c).ok()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

fn is_api(uri: &Uri) -> bool {
    uri.path().starts_with("/api/")
}

fn refuse(problem: Problem, uri: &Uri) -> Response {
    let status = problem.status;
    let mut response =
        if is_api(uri) { problem.into_response() } else { page::refusal(status, &problem.detail) };
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The cookie to set, if the token came in the query.
fn check_token(token: &Token, port: u16, uri: &Uri, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    // Cookies do not know ports: two servers on one host must not overwrite each other's.
    let name = format!("miles_{port}");
    let query = Query::parse(uri.query().unwrap_or_default());
    if query.text("token").is_some_and(|t| token.is(t)) {
        return Ok(Some(format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", token.reveal())));
    }
    let text = |v: &'_ HeaderValue| v.to_str().ok().map(str::to_owned);
    let bearer = headers.get_all(AUTHORIZATION).iter().filter_map(text).any(|value| {
        let (scheme, given) = value.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && token.is(given.trim())
    });
    let cookie = headers.get_all(COOKIE).iter().filter_map(text).any(|value| {
        let mut pairs = value.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(n, given)| n == name && token.is(given))
    });
    if bearer || cookie {
        return Ok(None);
    }
    let wrong = query.text("token").is_some();
    let what =
        if wrong { "this is not the token" } else { "a token is needed unless you come over loopback" };
    Err(Problem::new(
        StatusCode::UNAUTHORIZED,
        format!("{what}: open the link that miles serve printed, or send 'Authorization: Bearer TOKEN'"),
    ))
}

fn check_host(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|h| h.to_str().ok());
    let absolute = uri.authority().is_none_or(|a| is_loopback_name(a.as_str()));
    if hosts.next().is_none() && absolute && host.is_some_and(is_loopback_name) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "over loopback the address must be localhost or 127.0.0.1: another site's page may be asking; \
         behind a proxy see docs/http.md",
    ))
}

/// Whether `Host` names this machine to itself: `localhost`, a name below it, `127.0.0.0/8`, `[::1]`; with
/// or without a port.
fn is_loopback_name(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if host.contains('@') {
        return false;
    }
    let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
    if let Some(v6) = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
        return v6.parse::<Ipv6Addr>().is_ok_and(|ip| is_loopback(ip.into()));
    }
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// Also an IPv4 client of an IPv6 socket.
fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The same address without the token, on this site whatever the path.
fn without_token(uri: &Uri) -> String {
    let is_token = |pair: &&str| Query::parse(pair).text("token").is_some();
    let rest: Vec<&str> = uri.query().unwrap_or_default().split('&').filter(|p| !is_token(p)).collect();
    // Two slashes would name another site.
    let path = uri.path().trim_start_matches(['/', '\\']);
    if rest.iter().all(|pair| pair.is_empty()) {
        format!("/{path}")
    } else {
        format!("/{path}?{}", rest.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_are_those_that_only_this_machine_answers_to() {
        for host in [
            "localhost",
            "LocalHost:7788",
            "a.localhost:1",
            "127.0.0.1",
            "127.8.9.1:80",
            "[::1]:7788",
            "localhost.",
        ] {
            assert!(is_loopback_name(host), "{host}");
        }
        for host in [
            "evil.com",
            "localhost.evil.com",
            "127.0.0.1.evil.com",
            "evillocalhost",
            "10.0.0.1",
            "0.0.0.0",
            "[::2]",
            "[::1",
            "",
            "localhost@evil.com",
            "user@localhost",
            "127.1",
        ] {
            assert!(!is_loopback_name(host), "{host}");
        }
    }

    #[test]
    fn a_token_travels_unchanged_and_is_not_shown() {
        let token = Token::random().unwrap();
        assert_eq!(token.reveal().len(), 32);
        assert!(Token::new(token.reveal()).is_some());
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert!(token.is(token.reveal()) && !token.is("") && !token.is(&token.reveal()[1..]));
        assert!(Token::new("").is_none() && Token::new("a b").is_none() && Token::new("a;b").is_none());
    }

    #[test]
    fn the_address_without_the_token_stays_on_this_site() {
        let clean = |uri: &str| without_token(&uri.parse().unwrap());
        assert_eq!(clean("/?token=x"), "/");
        assert_eq!(clean("/runs?a=1&token=x&b=%20"), "/runs?a=1&b=%20");
        assert_eq!(clean("/a?%74oken=x"), "/a");
        assert_eq!(clean("//evil.com/?token=x"), "/evil.com/");
    }

    #[test]
    fn a_client_of_a_dual_socket_is_known_by_its_own_address() {
        assert!(is_loopback("::ffff:127.0.0.1".parse().unwrap()));
        assert!(!is_loopback("::ffff:10.0.0.1".parse().unwrap()));
    }
}
