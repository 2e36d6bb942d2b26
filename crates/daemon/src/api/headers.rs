//! What every answer over TCP tells a browser: run nothing but the page's own files, ask nobody but
//! us, guess no types, be in nobody's frame. Also for JSON and text: a browser can be led to any
//! address, and what agents have written stands in many of them.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;

const FIXED: [(HeaderName, HeaderValue); 4] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// The answer with all of it. `host`: as it was asked for, if it is known to be loopback.
pub fn protected(mut answer: Response, host: Option<&HeaderValue>) -> Response {
    let headers = answer.headers_mut();
    for (name, value) in FIXED {
        headers.insert(name, value);
    }
    if let Ok(value) = HeaderValue::from_str(&policy(host.and_then(|host| host.to_str().ok()))) {
        headers.insert(CONTENT_SECURITY_POLICY, value);
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    answer
}

fn policy(host: Option<&str>) -> String {
    // not every browser takes a WebSocket of the same address for 'self'
    let socket = host.map(|host| format!(" ws://{host}")).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'{socket}; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
}

/// The name of our cookie in a browser that asks for this address.
pub fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let port = host
        .and_then(|host| host.rsplit_once(':'))
        .map(|(_, port)| port)
        .filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
        .unwrap_or("80");
    format!("sm_{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_named_by_the_port_that_was_asked() {
        for (host, name) in [
            ("127.0.0.1:8420", "sm_8420"),
            ("localhost:9", "sm_9"),
            ("[::1]:8420", "sm_8420"),
            ("[::1]", "sm_80"),
            ("localhost", "sm_80"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            assert_eq!(cookie_name(&headers), name, "{host}");
        }
        assert_eq!(cookie_name(&HeaderMap::new()), "sm_80");
    }

    #[test]
    fn nothing_runs_but_our_own_files() {
        let policy = policy(Some("localhost:8420"));
        assert!(policy.contains("connect-src 'self' ws://localhost:8420;"));
        assert!(!policy.contains("unsafe") && policy.starts_with("default-src 'none';"));
    }
}
