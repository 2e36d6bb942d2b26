//! Who may talk to the daemon, decided on tables.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use sm_daemon::api::access::{Access, Peer, Refusal, decide, load_or_create_token};
use sm_daemon::peer::PeerUid;

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn access() -> Access {
    Access {
        own_uid: 1000,
        token: TOKEN.into(),
        port: Some(8420),
        body_limit: 100,
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

fn ask(peer: Peer, uri: &str, list: &[(&str, &str)]) -> Result<(), u16> {
    decide(
        &access(),
        Some(peer),
        &uri.parse::<Uri>().unwrap(),
        &headers(list),
    )
    .map_err(|refusal| {
        assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
        refusal.status().as_u16()
    })
}

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
        assert_eq!(ask(peer, "/", &[host]), answer, "{peer:?}");
        assert_eq!(
            ask(peer, "/", &[host, ("authorization", &bearer)]),
            Ok(()),
            "{peer:?}"
        );
    }
    let lower = format!("bearer {TOKEN}");
    assert_eq!(ask(THEIRS, "/", &[host, ("authorization", &lower)]), Ok(()));
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
            ask(THEIRS, "/", &[host, ("authorization", wrong)]),
            Err(403),
            "{wrong}"
        );
    }
    // The socket is for our user only, whatever is sent.
    for uid in [PeerUid::Uid(0), PeerUid::Uid(1001), PeerUid::Unknown] {
        let peer = Peer::Unix { uid };
        assert_eq!(ask(peer, "/", &[("authorization", &bearer)]), Err(403));
    }
    assert_eq!(ask(UNIX, "/", &[]), Ok(()));
    // Nobody said who is there.
    let refused = decide(&access(), None, &"/".parse().unwrap(), &headers(&[host]));
    assert_eq!(refused, Err(Refusal::UnknownUser));
    // A token that could not be made opens nothing.
    let mut no_token = access();
    no_token.token = String::new();
    for given in ["Bearer ", "Bearer"] {
        let refused = decide(
            &no_token,
            Some(THEIRS),
            &"/".parse().unwrap(),
            &headers(&[host, ("authorization", given)]),
        );
        assert_eq!(refused, Err(Refusal::WrongToken));
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
        assert_eq!(ask(OURS, "/", &[("host", host)]), Ok(()), "{host}");
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
        let refused = decide(&access(), Some(OURS), &"/".parse().unwrap(), &all);
        assert!(matches!(refused, Err(Refusal::Host(_))), "{host}");
        assert_eq!(ask(UNIX, "/", &[]), Ok(()));
    }
    assert_eq!(ask(OURS, "/", &[]), Err(403));
    assert_eq!(
        ask(
            OURS,
            "/",
            &[("host", "localhost"), ("host", "evil.example")]
        ),
        Err(403)
    );
    assert_eq!(
        ask(OURS, "http://evil.example/", &[("host", "localhost")]),
        Err(403)
    );
    assert_eq!(ask(UNIX, "/", &[("host", "anything")]), Ok(()));
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
            assert_eq!(ask(peer, "/", &all), Err(403), "{origin} {peer:?}");
        }
    }
    for origin in ["http://127.0.0.1:8420", "http://localhost:8420"] {
        let all = [("host", "127.0.0.1:8420"), ("origin", origin)];
        assert_eq!(ask(OURS, "/", &all), Ok(()), "{origin}");
        assert_eq!(ask(THEIRS, "/", &all), Err(403), "{origin}");
    }
    let two = [
        ("host", "localhost"),
        ("origin", "http://localhost:8420"),
        ("origin", "http://evil.example"),
    ];
    assert_eq!(ask(OURS, "/", &two), Err(403));
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
        assert_eq!(ask(UNIX, "/", list), answer, "{list:?}");
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
