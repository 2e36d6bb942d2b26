//! Who may talk to the daemon, decided on tables.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use sm_daemon::api::access::{Access, Asked, Peer, Refusal, cookies, decide, load_or_create_token};
use sm_daemon::peer::PeerUid;

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn access() -> Access {
    Access {
        own_uid: 1000,
        token: TOKEN.into(),
        port: Some(8420),
        body_limit: 100,
        document_limit: 200,
        body_deadline: Duration::from_secs(5),
    }
}

fn headers(list: &[(&str, &str)]) -> HeaderMap {
    list.iter()
        .map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

/// A program asks.
fn ask(peer: Peer, uri: &str, list: &[(&str, &str)]) -> Result<(), u16> {
    asks(peer, Method::GET, uri, list)
}

/// Whatever has the cookie is signed in.
fn asks(peer: Peer, method: Method, uri: &str, list: &[(&str, &str)]) -> Result<(), u16> {
    let headers = headers(list);
    let known = cookies(&headers).contains(&COOKIE);
    refused(&access(), Some(peer), method, uri, &headers, known).map_err(|refusal| {
        assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
        refusal.status().as_u16()
    })
}

fn refused(
    access: &Access,
    peer: Option<Peer>,
    method: Method,
    uri: &str,
    headers: &HeaderMap,
    signed_in: bool,
) -> Result<(), Refusal> {
    let asked = Asked {
        peer,
        method: &method,
        uri: &uri.parse::<Uri>().unwrap(),
        headers,
        signed_in,
    };
    decide(access, &asked)
}

const COOKIE: &str = "c00c1e";

const OURS: Peer = Peer::Tcp {
    uid: PeerUid::Uid(1000),
};
const THEIRS: Peer = Peer::Tcp {
    uid: PeerUid::Uid(1001),
};
const ROOT: Peer = Peer::Tcp {
    uid: PeerUid::Uid(0),
};
const UNKNOWN: Peer = Peer::Tcp {
    uid: PeerUid::Unknown,
};
const UNIX: Peer = Peer::Unix {
    uid: PeerUid::Uid(1000),
};

#[test]
fn the_user_or_the_token() {
    let host = ("host", "127.0.0.1:8420");
    let bearer = format!("Bearer {TOKEN}");
    for (peer, answer) in [
        (OURS, Ok(())),
        (THEIRS, Err(403)),
        (ROOT, Err(403)),
        (UNKNOWN, Err(403)),
    ] {
        assert_eq!(ask(peer, "/sessions", &[host]), answer, "{peer:?}");
        assert_eq!(
            ask(peer, "/sessions", &[host, ("authorization", &bearer)]),
            Ok(()),
            "{peer:?}"
        );
    }
    let lower = format!("bearer {TOKEN}");
    assert_eq!(
        ask(THEIRS, "/sessions", &[host, ("authorization", &lower)]),
        Ok(())
    );
    for wrong in [
        "Bearer",
        "Bearer ",
        "Bearer 0",
        &format!("Bearer {TOKEN}0"),
        &format!("Bearer {}", TOKEN.to_uppercase()),
        &format!("Basic {TOKEN}"),
        TOKEN,
    ] {
        assert_eq!(
            ask(THEIRS, "/sessions", &[host, ("authorization", wrong)]),
            Err(403),
            "{wrong}"
        );
    }
    // The socket is for our user only, whatever is sent.
    for uid in [PeerUid::Uid(0), PeerUid::Uid(1001), PeerUid::Unknown] {
        let peer = Peer::Unix { uid };
        assert_eq!(
            ask(peer, "/sessions", &[("authorization", &bearer)]),
            Err(403)
        );
    }
    assert_eq!(ask(UNIX, "/sessions", &[]), Ok(()));
    // Nobody said who is there.
    let answer = refused(
        &access(),
        None,
        Method::GET,
        "/sessions",
        &headers(&[host]),
        true,
    );
    assert_eq!(answer, Err(Refusal::UnknownUser));
    // A token that could not be made opens nothing.
    let mut no_token = access();
    no_token.token = String::new();
    for given in ["Bearer ", "Bearer"] {
        let answer = refused(
            &no_token,
            Some(THEIRS),
            Method::GET,
            "/sessions",
            &headers(&[host, ("authorization", given)]),
            false,
        );
        assert_eq!(answer, Err(Refusal::WrongToken));
    }
}

#[test]
fn the_host_is_loopback() {
    for host in [
        "127.0.0.1",
        "127.0.0.1:8420",
        "localhost",
        "LocalHost:1",
        "[::1]",
        "[::1]:8420",
    ] {
        assert_eq!(ask(OURS, "/sessions", &[("host", host)]), Ok(()), "{host}");
    }
    for host in [
        "",
        "evil.example",
        "evil.example:8420",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "localhost:",
        "localhost:80x",
        "localhost:123456",
        "localhost:80:80",
        "127.0.0.1@evil.example",
        "0.0.0.0",
        "::1",
        "127.0.0.2",
        "lоcalhost",
        "[::1]x",
    ] {
        let value = HeaderValue::from_bytes(host.as_bytes()).unwrap();
        let mut all = HeaderMap::new();
        all.insert("host", value);
        for path in ["/sessions", "/", "/signin/x"] {
            let answer = refused(&access(), Some(OURS), Method::GET, path, &all, true);
            assert!(matches!(answer, Err(Refusal::Host(_))), "{host} {path}");
        }
        assert_eq!(ask(UNIX, "/sessions", &[]), Ok(()));
    }
    assert_eq!(ask(OURS, "/sessions", &[]), Err(403));
    assert_eq!(
        ask(
            OURS,
            "/sessions",
            &[("host", "localhost"), ("host", "evil.example")]
        ),
        Err(403)
    );
    assert_eq!(
        ask(
            OURS,
            "http://evil.example/sessions",
            &[("host", "localhost")]
        ),
        Err(403)
    );
    assert_eq!(ask(UNIX, "/sessions", &[("host", "anything")]), Ok(()));
}

#[test]
fn a_foreign_page_is_refused_whoever_runs_it() {
    let bearer = format!("Bearer {TOKEN}");
    for origin in [
        "null",
        "",
        "http://evil.example",
        "https://127.0.0.1:8420",
        "http://127.0.0.1",
        "http://127.0.0.1:8421",
        "http://localhost:84200",
        "http://localhost:8420.evil.example",
        "file://",
    ] {
        let all = [
            ("host", "127.0.0.1:8420"),
            ("origin", origin),
            ("authorization", bearer.as_str()),
        ];
        for peer in [OURS, THEIRS, UNIX] {
            assert_eq!(ask(peer, "/sessions", &all), Err(403), "{origin} {peer:?}");
        }
    }
    for origin in ["http://127.0.0.1:8420", "http://localhost:8420"] {
        let all = [
            ("host", "127.0.0.1:8420"),
            ("origin", origin),
            ("cookie", "sm_8420=c00c1e"),
        ];
        assert_eq!(ask(OURS, "/sessions", &all), Ok(()), "{origin}");
        assert_eq!(ask(OURS, "/sessions", &all[..2]), Err(401), "{origin}");
        assert_eq!(ask(THEIRS, "/sessions", &all), Err(403), "{origin}");
    }
    let two = [
        ("host", "localhost"),
        ("origin", "http://localhost:8420"),
        ("origin", "http://evil.example"),
    ];
    assert_eq!(ask(OURS, "/sessions", &two), Err(403));
}

const HOST: (&str, &str) = ("host", "127.0.0.1:8420");
const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:8420");
const SIGNED_IN: (&str, &str) = ("cookie", "theme=dark; sm_8420=c00c1e");
const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");

/// What a browser cannot help saying, each enough to know it by.
const MARKS: [(&str, &str); 7] = [
    ORIGIN,
    SAME,
    ("sec-fetch-site", "none"),
    ("sec-fetch-mode", "cors"),
    ("sec-fetch-dest", "document"),
    ("cookie", "sm_8420=old"),
    ("upgrade", "websocket"),
];

#[test]
fn a_browser_needs_more_than_the_right_user() {
    let bearer = format!("Bearer {TOKEN}");
    for mark in MARKS {
        for peer in [OURS, UNKNOWN] {
            assert_eq!(ask(peer, "/sessions", &[HOST, mark]), Err(401), "{mark:?}");
            let token = [HOST, mark, ("authorization", bearer.as_str())];
            assert_eq!(ask(peer, "/sessions", &token), Ok(()), "{mark:?}");
            let signed_in = [HOST, ORIGIN, mark, SIGNED_IN];
            assert_eq!(ask(peer, "/sessions", &signed_in), Ok(()), "{mark:?}");
        }
        // a stolen cookie is of no use to another user, and the socket needs none
        for peer in [THEIRS, ROOT] {
            let signed_in = [HOST, ORIGIN, mark, SIGNED_IN];
            assert_eq!(ask(peer, "/sessions", &signed_in), Err(403), "{mark:?}");
            assert_eq!(ask(peer, "/", &[HOST, mark]), Err(403), "{mark:?}");
        }
        assert_eq!(ask(UNIX, "/sessions", &[mark]), Ok(()), "{mark:?}");
    }
    // no browser at all: as ever
    assert_eq!(ask(OURS, "/sessions", &[HOST]), Ok(()));
    assert_eq!(ask(UNKNOWN, "/sessions", &[HOST]), Err(403));
    assert_eq!(
        ask(OURS, "/sessions", &[HOST, ("cookie", "sm_1=x")]),
        Ok(())
    );
}

#[test]
fn an_unsigned_browser_gets_the_page_and_nothing_else() {
    for peer in [OURS, UNKNOWN] {
        for path in ["/", "/assets/a.js", "/favicon.ico", "/health", "/signin/x"] {
            assert_eq!(ask(peer, path, &[HOST, SAME]), Ok(()), "{path}");
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                let answer = asks(peer, method.clone(), path, &[HOST, SAME, ORIGIN]);
                assert_eq!(answer, Err(401), "{method} {path}");
            }
        }
        for path in [
            "/sessions",
            "/status",
            "/events",
            "/openapi.json",
            "/signin",
            "/signout",
            "/assets",
            "/favicon.icon",
            "/sessions/x/terminal",
            "//",
            "/health/",
        ] {
            assert_eq!(ask(peer, path, &[HOST, SAME]), Err(401), "{path}");
        }
        assert_eq!(
            asks(peer, Method::HEAD, "/signin/x", &[HOST, SAME]),
            Err(401)
        );
    }
}

#[test]
fn a_browser_that_was_led_here_is_refused_even_if_it_is_signed_in() {
    for site in ["cross-site", "same-site", "", "x"] {
        for path in ["/", "/sessions", "/signin/x", "/health"] {
            let all = [HOST, SIGNED_IN, ("sec-fetch-site", site)];
            for peer in [OURS, UNKNOWN, UNIX] {
                assert_eq!(ask(peer, path, &all), Err(403), "{site} {path}");
            }
        }
    }
}

#[test]
fn what_changes_something_says_where_it_comes_from() {
    let peer = OURS;
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let asks = |list: &[(&str, &str)]| asks(peer, method.clone(), "/sessions/x", list);
        assert_eq!(asks(&[HOST, SIGNED_IN, SAME, ORIGIN]), Ok(()));
        assert_eq!(asks(&[HOST, SIGNED_IN, SAME]), Err(403), "{method}");
    }
    // so does a WebSocket, which a page of anybody could open
    let target = "/sessions/x/terminal";
    let upgrade = ("upgrade", "websocket");
    for (list, answer) in [
        (&[HOST, upgrade, ORIGIN, SIGNED_IN][..], Ok(())),
        (&[HOST, upgrade, ORIGIN], Err(401)),
        (&[HOST, upgrade, SIGNED_IN], Err(403)),
        (&[HOST, upgrade], Err(401)),
        (&[HOST, ("sec-websocket-key", "x")], Err(401)),
        (
            &[
                HOST,
                upgrade,
                SIGNED_IN,
                ("origin", "http://localhost:3000"),
            ],
            Err(403),
        ),
        (
            &[upgrade, SIGNED_IN, ORIGIN, ("host", "evil.example:8420")],
            Err(403),
        ),
    ] {
        assert_eq!(ask(OURS, target, list), answer, "{list:?}");
    }
}

#[test]
fn a_link_is_not_given_to_a_browser() {
    let bearer = format!("Bearer {TOKEN}");
    let all = [HOST, ORIGIN, SIGNED_IN, ("authorization", bearer.as_str())];
    assert_eq!(asks(OURS, Method::POST, "/signin", &all), Err(403));
    assert_eq!(asks(OURS, Method::POST, "/signin", &[HOST]), Ok(()));
    assert_eq!(asks(UNIX, Method::POST, "/signin", &[]), Ok(()));
}

#[test]
fn a_forwarded_port_is_our_own_page_and_has_a_cookie_of_its_own() {
    let host = ("host", "localhost:9999");
    let origin = ("origin", "http://localhost:9999");
    let own = ("cookie", "sm_9999=c00c1e");
    assert_eq!(ask(OURS, "/sessions", &[host, origin, own]), Ok(()));
    assert_eq!(ask(OURS, "/sessions", &[host, origin, SIGNED_IN]), Err(401));
    assert_eq!(ask(OURS, "/sessions", &[HOST, origin, own]), Err(403));
    let two = [host, HOST, origin, own];
    assert_eq!(ask(OURS, "/sessions", &two), Err(403));
}

#[test]
fn bodies_are_json_and_bounded() {
    for (list, answer) in [
        (&[][..], Ok(())),
        (&[("content-length", "0")], Ok(())),
        (&[("content-length", "5")], Err(415)),
        (&[("transfer-encoding", "chunked")], Err(415)),
        (
            &[("content-length", "5"), ("content-type", "text/plain")],
            Err(415),
        ),
        (
            &[
                ("content-length", "5"),
                ("content-type", "application/x-www-form-urlencoded"),
            ],
            Err(415),
        ),
        (
            &[
                ("content-length", "5"),
                ("content-type", "text/plain; application/json"),
            ],
            Err(415),
        ),
        (
            &[
                ("content-length", "5"),
                ("content-type", "application/json"),
                ("content-type", "text/plain"),
            ],
            Err(415),
        ),
        (
            &[
                ("content-length", "5"),
                ("content-type", "application/json"),
            ],
            Ok(()),
        ),
        (
            &[
                ("content-length", "5"),
                ("content-type", "Application/JSON; charset=utf-8"),
            ],
            Ok(()),
        ),
        (
            &[
                ("transfer-encoding", "chunked"),
                ("content-type", "application/json"),
            ],
            Ok(()),
        ),
        (
            &[
                ("content-length", "100"),
                ("content-type", "application/json"),
            ],
            Ok(()),
        ),
        (
            &[
                ("content-length", "101"),
                ("content-type", "application/json"),
            ],
            Err(413),
        ),
    ] {
        assert_eq!(ask(UNIX, "/sessions", list), answer, "{list:?}");
    }
}

#[test]
fn a_token_is_made_once_and_kept_to_oneself() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    let first = load_or_create_token(&file).unwrap();
    assert_eq!(first.len(), 64);
    assert!(first.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(load_or_create_token(&file).unwrap(), first);
    let is = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(is(&file), 0o600);
    // One that others could read is no longer a secret.
    mode(0o644);
    let second = load_or_create_token(&file).unwrap();
    assert_ne!(second, first);
    assert_eq!(is(&file), 0o600);
    // One that is not a token opens nothing.
    for content in ["", "short", &"g".repeat(64), &"a".repeat(5000)] {
        std::fs::write(&file, content).unwrap();
        let token = load_or_create_token(&file).unwrap();
        assert_eq!(token.len(), 64);
        assert_ne!(token, content);
    }
    // Nor is a link followed to a file of someone else's choice.
    let other = dir.path().join("other");
    std::fs::write(&other, &first).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&other, &file).unwrap();
    assert_ne!(load_or_create_token(&file).unwrap(), first);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), first);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    assert!(load_or_create_token(&dir.path().join("no/such/folder")).is_err());
}
