//! Finding a model server on this machine: Ollama and llama.cpp at their usual ports.
//!
//! It asks only this machine, only to read, and never for long.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::http;
use crate::known;
use crate::model::{Api, Model, Prices};

/// A server on this machine either answers at once or is busy; nobody waits for it.
const PATIENCE: Duration = Duration::from_millis(1500);
/// The most of an answer that is read.
const LARGEST: usize = 4 << 20;
/// The most models of one server that are told of.
const MOST: usize = 50;
const OLLAMA_PORT: u16 = 11434;
const LLAMA_CPP_PORT: u16 = 8080;
/// What Ollama gives a model that says nothing of its context.
const OLLAMA_CONTEXT: u64 = 4_096;

/// A program that serves models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    Ollama,
    LlamaCpp,
}

impl ServerKind {
    /// As it stands in settings and session files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
        }
    }
}

/// A model that a server on this machine offers, ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub kind: ServerKind,
    pub model: Model,
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// `None`: not looked for.
    pub ollama: Option<SocketAddr>,
    pub llama_cpp: Option<SocketAddr>,
}

impl Places {
    /// The usual ports, or the one that `OLLAMA_HOST` names. An address that is not on this
    /// machine is not asked: nobody has said that it may be.
    pub fn usual(ollama_host: Option<&str>) -> Self {
        let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, OLLAMA_PORT));
        let ollama = match ollama_host.map(str::trim) {
            None | Some("") => Some(usual),
            Some(host) => ollama_address(host),
        };
        Self {
            ollama,
            llama_cpp: Some((Ipv4Addr::LOCALHOST, LLAMA_CPP_PORT).into()),
        }
    }
}

/// The models of the servers that run on this machine, those first that are likely meant: they
/// can call tools, and are loaded.
pub async fn local_servers_at(places: &Places) -> Vec<Found> {
    let Ok(client) = http::here() else {
        return Vec::new();
    };
    let (ollama, llama_cpp) = tokio::join!(
        look(places.ollama, async |at| ollama(&client, at).await),
        look(places.llama_cpp, async |at| llama_cpp(&client, at).await),
    );
    ollama.into_iter().chain(llama_cpp).collect()
}

async fn look(
    at: Option<SocketAddr>,
    find: impl AsyncFnOnce(SocketAddr) -> Option<Vec<Found>>,
) -> Vec<Found> {
    match at {
        Some(at) => {
            let found = timeout(PATIENCE, find(at)).await;
            found.ok().flatten().unwrap_or_default()
        }
        None => Vec::new(),
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tag {
    name: String,
    /// Only of those that are loaded.
    context_length: Option<u64>,
}

/// What Ollama says of one model.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Shown {
    /// Empty: an older Ollama, which does not say.
    capabilities: Vec<String>,
    /// Lines such as `num_ctx 8192`.
    parameters: String,
}

impl Shown {
    fn can(&self, what: &str) -> bool {
        self.capabilities.iter().any(|can| can == what)
    }

    fn context(&self) -> Option<u64> {
        let mut lines = self.parameters.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix("num_ctx"))?;
        value.trim().parse().ok()
    }

    /// What to offer first: what can call tools, then what may be able to; never what only
    /// embeds.
    fn rank(&self) -> Option<u8> {
        match (self.capabilities.is_empty(), self.can("tools")) {
            (false, true) => Some(0),
            (true, _) => Some(1),
            (false, false) => self.can("completion").then_some(2),
        }
    }
}

async fn ollama(client: &Client, at: SocketAddr) -> Option<Vec<Found>> {
    let tags: Tags = get(client, at, "/api/tags").await?;
    let running: Tags = get(client, at, "/api/ps").await.unwrap_or_default();
    let mut looks = JoinSet::new();
    let named = tags.models.into_iter().filter(|tag| !tag.name.is_empty());
    for (place, tag) in named.take(MOST).enumerate() {
        let client = client.clone();
        looks.spawn(async move {
            let shown = show(&client, at, &tag.name).await.unwrap_or_default();
            (place, tag, shown)
        });
    }
    let mut found = Vec::new();
    while let Some(look) = looks.join_next().await {
        let Ok((place, tag, shown)) = look else {
            continue;
        };
        let Some(rank) = shown.rank() else { continue };
        let loaded = running.models.iter().find(|loaded| loaded.name == tag.name);
        // what a loaded model was given is what it has
        let window = loaded
            .and_then(|loaded| loaded.context_length)
            .or_else(|| shown.context());
        let kind = ServerKind::Ollama;
        let mut model = offered(kind, at, &tag.name, window.unwrap_or(OLLAMA_CONTEXT));
        model.thinks = shown.can("thinking");
        model.images = shown.can("vision");
        found.push((rank, loaded.is_none(), place, Found { kind, model }));
    }
    found.sort_by_key(|(rank, idle, place, _)| (*rank, *idle, *place));
    Some(found.into_iter().map(|(.., found)| found).collect())
}

async fn show(client: &Client, at: SocketAddr, name: &str) -> Option<Shown> {
    let body = crate::body::bytes(&serde_json::json!({"model": name}));
    let request = client.post(format!("http://{at}/api/show")).body(body);
    read(request).await
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Served {
    data: Vec<ServedModel>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ServedModel {
    id: String,
    owned_by: String,
    meta: Option<Meta>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    n_ctx_train: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Props {
    default_generation_settings: Settings,
    modalities: Modalities,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Settings {
    n_ctx: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Modalities {
    vision: bool,
}

async fn llama_cpp(client: &Client, at: SocketAddr) -> Option<Vec<Found>> {
    let served: Served = get(client, at, "/v1/models").await?;
    // port 8080 is everybody's: only what says that it is llama.cpp is
    let props: Option<Props> = get(client, at, "/props").await;
    let ours = props.is_some() || served.data.iter().any(|model| model.owned_by == "llamacpp");
    if !ours {
        return None;
    }
    let props = props.unwrap_or_default();
    let found = served.data.into_iter().take(MOST);
    let found = found.filter(|served| !served.id.is_empty()).map(|served| {
        let trained = served.meta.and_then(|meta| meta.n_ctx_train);
        let window = props.default_generation_settings.n_ctx.or(trained);
        let kind = ServerKind::LlamaCpp;
        let mut model = offered(kind, at, &served.id, window.unwrap_or(OLLAMA_CONTEXT));
        model.images = props.modalities.vision;
        Found { kind, model }
    });
    Some(found.collect())
}

fn offered(kind: ServerKind, at: SocketAddr, id: &str, window: u64) -> Model {
    let known = known::model(kind.name(), Api::OpenAiCompletions, id);
    Model {
        base_url: format!("http://{at}/v1"),
        window,
        // room for the question in a small context
        max_output: known.max_output.min(window / 2).max(1),
        prices: Prices::default(),
        ..known
    }
}

async fn get<T: DeserializeOwned>(client: &Client, at: SocketAddr, path: &str) -> Option<T> {
    read(client.get(format!("http://{at}{path}"))).await
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Option<T> {
    let mut response = request.send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if bytes.len() + chunk.len() > LARGEST {
            return None;
        }
        bytes.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&bytes).ok()
}

/// `127.0.0.1:11434`, `localhost`, `http://0.0.0.0:8000/`, `:11500`: what people write there.
fn ollama_address(host: &str) -> Option<SocketAddr> {
    let host = host.strip_prefix("http://").unwrap_or(host);
    let host = host.split('/').next().unwrap_or_default();
    if let Ok(at) = host.parse::<SocketAddr>() {
        return here(at.ip(), at.port());
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        return here(ip, OLLAMA_PORT);
    }
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (host, OLLAMA_PORT),
    };
    matches!(name, "" | "localhost").then(|| (Ipv4Addr::LOCALHOST, port).into())
}

/// An address on this machine; one at which a server listens everywhere is reached here.
fn here(ip: IpAddr, port: u16) -> Option<SocketAddr> {
    if ip.is_unspecified() {
        return Some((Ipv4Addr::LOCALHOST, port).into());
    }
    ip.is_loopback().then(|| (ip, port).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_ollama_is_understood_as_people_write_it() {
        let ollama = |host| Places::usual(host).ollama.map(|at| at.to_string());
        for (host, expected) in [
            (None, Some("127.0.0.1:11434")),
            (Some(""), Some("127.0.0.1:11434")),
            (Some("127.0.0.1:9"), Some("127.0.0.1:9")),
            (Some("0.0.0.0"), Some("127.0.0.1:11434")),
            (Some("http://0.0.0.0:8000/"), Some("127.0.0.1:8000")),
            (Some("localhost:7"), Some("127.0.0.1:7")),
            (Some(":7"), Some("127.0.0.1:7")),
            (Some("[::1]:7"), Some("[::1]:7")),
            (Some("10.0.0.3:7"), None),
            (Some("example.test"), None),
            (Some("localhost:many"), None),
        ] {
            assert_eq!(ollama(host).as_deref(), expected, "{host:?}");
        }
    }
}
