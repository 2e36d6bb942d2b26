//! Connections, and what is said about those that fail. Certificates and proxies only for places
//! outside: a server on this machine is asked directly.

use std::error::Error;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, Url, redirect};

use crate::body::address;
use crate::failure::Failure;
use crate::model::Model;

const CONNECT: Duration = Duration::from_secs(15);
/// Those that answer nobody without a key.
const WANT_KEYS: [&str; 3] = ["api.anthropic.com", "api.openai.com", "openrouter.ai"];
const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "HTTP_PROXY",
    "http_proxy",
];

/// Words of those who make connections secure, when they cannot.
const INSECURE: [&str; 4] = ["certificate", "tls", "handshake", "corrupt message"];

/// Where a question goes.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub url: Url,
    /// The base of it, without what might be secret.
    pub shown: String,
    here: bool,
}

impl Target {
    pub(crate) fn of(model: &Model) -> Result<Self, Failure> {
        let url = Url::parse(&address(model))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(url) = url else {
            return Err(Failure::Setup(format!(
                "the base URL of {} is no address such as http://127.0.0.1:8080",
                model.provider
            )));
        };
        Ok(Self {
            shown: shown(&url),
            here: is_here(&url),
            url,
        })
    }

    pub(crate) fn wants_key(&self) -> bool {
        self.url
            .host_str()
            .is_some_and(|host| WANT_KEYS.contains(&host))
    }

    /// What went wrong, from the outermost to the innermost cause.
    pub(crate) fn cause(&self, error: reqwest::Error) -> String {
        let connecting = error.is_connect();
        let error = error.without_url();
        let mut causes: Vec<String> = Vec::new();
        let mut source: Option<&dyn Error> = error.source();
        while let Some(inner) = source {
            let text = inner.to_string();
            // many wrap another without a word of their own
            if !causes.iter().any(|cause| cause.contains(&text)) {
                causes.push(text);
            }
            source = inner.source();
        }
        let innermost = causes.pop().unwrap_or_else(|| error.to_string());
        let innermost = innermost
            .split(" (os error")
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let secure = INSECURE.iter().any(|word| innermost.contains(word));
        match (connecting, secure) {
            (true, true) => format!("the connection is not secure: {innermost}{}", self.proxy()),
            (true, false) => format!("not reached: {innermost}{}", self.proxy()),
            (false, _) => format!("the connection broke: {innermost}"),
        }
    }

    /// A proxy that people forget they have set.
    fn proxy(&self) -> String {
        if self.here {
            return String::new();
        }
        let set = PROXIES
            .iter()
            .find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        set.map_or_else(String::new, |name| {
            format!(" (through the proxy that {name} names)")
        })
    }
}

fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Made when they are needed.
#[derive(Debug, Default)]
pub(crate) struct Http {
    here: OnceLock<Result<Client, String>>,
    outside: OnceLock<Result<Client, String>>,
}

impl Http {
    pub(crate) fn client(&self, target: &Target) -> Result<&Client, Failure> {
        let made = if target.here {
            self.here.get_or_init(here)
        } else {
            self.outside.get_or_init(outside)
        };
        made.as_ref().map_err(|cause| Failure::Setup(cause.clone()))
    }
}

/// For servers on this machine.
pub(crate) fn here() -> Result<Client, String> {
    // no certificate of the system is read
    make(builder().no_proxy().tls_certs_only([]))
}

fn outside() -> Result<Client, String> {
    make(builder())
}

fn builder() -> reqwest::ClientBuilder {
    // somebody else in this process may have chosen one: that is as good
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("sm/", env!("CARGO_PKG_VERSION")))
        // a key is sent to nobody but whom it is for
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT)
        .http1_only()
}

fn make(builder: reqwest::ClientBuilder) -> Result<Client, String> {
    builder
        .build()
        .map_err(|error| format!("no connection can be made: {}", error.without_url()))
}
