//! Who may ask, tried without sockets: a client's address cannot be chosen on a real one.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use common::Run;
use miles::serve::access::{Connection, Token};
use miles::serve::{Access, App, Notes, Settings, router};
use tower::ServiceExt;

const TOKEN: &str = "0123456789abcdef";
const ELSEWHERE: &str = "10.1.2.3:5000";
const LOOPBACK: &str = "127.0.0.1:5000";

struct House {
    _run: Run,
    router: Router,
}

impl House {
    fn new(access: Access) -> Self {
        let run = Run::fixture("data_parallel");
        let settings = Settings {
            run: run.path().to_owned(),
            follow: false,
            tensor_lru: 2,
            cache_dir: None,
            use_utilization_overview: false,
            low_mfu_threshold: 0.15,
            access,
        };
        Self { router: router(App::open(settings, Notes::none()).unwrap()), _run: run }
    }

    fn with_token() -> Self {
        Self::new(Access::Token(Token::new(TOKEN).unwrap()))
    }

    async fn ask(&self, peer: Option<&str>, uri: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap) {
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(peer) = peer {
            let peer: SocketAddr = peer.parse().unwrap();
            request = request.extension(Connection { peer, port: 7788 });
        }
        let response = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        (response.status(), response.headers().clone())
    }

    async fn status(&self, peer: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        self.ask(Some(peer), uri, headers).await.0.as_u16()
    }
}

const META: &str = "/api/meta";

#[tokio::test]
async fn from_elsewhere_only_the_token_opens() {
    let house = House::with_token();
    let host = (HOST.as_str(), "node7:7788");
    let (status, headers) = house.ask(Some(ELSEWHERE), META, &[host]).await;
    assert_eq!((status.as_u16(), &headers[WWW_AUTHENTICATE]), (401, &HeaderValue::from_static("Bearer")));
    for wrong in ["", "0", "0123456789abcdeF", "0123456789abcdef0", "%00"] {
        assert_eq!(house.status(ELSEWHERE, &format!("{META}?token={wrong}"), &[host]).await, 401, "{wrong}");
    }
    for value in ["Bearer 0123456789abcdef", "bearer  0123456789abcdef"] {
        assert_eq!(house.status(ELSEWHERE, META, &[host, (AUTHORIZATION.as_str(), value)]).await, 200);
    }
    for value in ["Bearer x", "Bearer", "Basic 0123456789abcdef", "0123456789abcdef"] {
        assert_eq!(house.status(ELSEWHERE, META, &[host, (AUTHORIZATION.as_str(), value)]).await, 401);
    }
    // The events and the description are no exception, nor is the page.
    for uri in ["/", "/assets/index.js", "/api/events", "/api/openapi.json", "/api/nothing"] {
        assert_eq!(house.status(ELSEWHERE, uri, &[host]).await, 401, "{uri}");
    }
}

#[tokio::test]
async fn the_link_leaves_a_cookie_and_takes_the_token_out_of_the_address() {
    let house = House::with_token();
    let (status, headers) = house.ask(Some(ELSEWHERE), "/runs?a=1&token=0123456789abcdef", &[]).await;
    assert_eq!((status, headers[LOCATION].to_str().unwrap()), (StatusCode::SEE_OTHER, "/runs?a=1"));
    let cookie = headers[SET_COOKIE].to_str().unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(house.status(ELSEWHERE, META, &[(COOKIE.as_str(), pair)]).await, 200);
    let among = format!("other=1; {pair}; more=2");
    assert_eq!(house.status(ELSEWHERE, META, &[(COOKIE.as_str(), &among)]).await, 200);
    for wrong in ["miles_7788=x", "miles_1=0123456789abcdef", "miles_7788", "x=0123456789abcdef"] {
        assert_eq!(house.status(ELSEWHERE, META, &[(COOKIE.as_str(), wrong)]).await, 401, "{wrong}");
    }
    // A script that puts the token into the address gets its answer, and the cookie.
    let (status, headers) = house.ask(Some(ELSEWHERE), "/api/meta?token=0123456789abcdef", &[]).await;
    assert_eq!((status.as_u16(), headers.contains_key(SET_COOKIE)), (200, true));
    // A stale link with a good cookie opens all the same.
    let stale = house.ask(Some(ELSEWHERE), "/?token=old", &[(COOKIE.as_str(), pair)]).await;
    assert_eq!((stale.0, stale.1[LOCATION].to_str().unwrap()), (StatusCode::SEE_OTHER, "/"));
}

#[tokio::test]
async fn over_loopback_a_page_of_another_site_gets_nothing() {
    let house = House::with_token();
    let host = |name: &'static str| [(HOST.as_str(), name)];
    assert_eq!(house.status(LOOPBACK, META, &host("localhost:7788")).await, 200);
    assert_eq!(house.status("[::1]:5000", META, &host("[::1]:7788")).await, 200);
    assert_eq!(house.status("[::ffff:127.0.0.1]:5000", META, &host("127.0.0.1")).await, 200);
    for name in ["evil.com:7788", "localhost.evil.com", "node7", "10.0.0.1:7788"] {
        assert_eq!(house.status(LOOPBACK, META, &host(name)).await, 403, "{name}");
    }
    assert_eq!(house.status(LOOPBACK, META, &[]).await, 403, "no Host at all");
    // Not even with the token: it is not what protects here.
    assert_eq!(house.status(LOOPBACK, "/api/meta?token=0123456789abcdef", &host("evil.com")).await, 403);
}

#[tokio::test]
async fn what_a_client_says_of_itself_is_not_believed() {
    let house = House::with_token();
    for name in ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host"] {
        let headers = [(HOST.as_str(), "localhost"), (name, "127.0.0.1")];
        assert_eq!(house.status(ELSEWHERE, META, &headers).await, 401, "{name}");
    }
    // Nor is a request of unknown origin taken for one of ours.
    assert_eq!(house.ask(None, META, &[(HOST.as_str(), "localhost")]).await.0.as_u16(), 401);
}

#[tokio::test]
async fn no_auth_lets_everybody_in_under_any_name() {
    let house = House::new(Access::Anybody);
    for (peer, host) in [(ELSEWHERE, "node7"), (LOOPBACK, "dashboard.example.com")] {
        assert_eq!(house.status(peer, META, &[(HOST.as_str(), host)]).await, 200);
    }
}
