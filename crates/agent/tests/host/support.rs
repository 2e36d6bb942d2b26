//! An agent in a clean place, with a model that does what it is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sm_agent::approval::{Approvals, Mode, Person};
use sm_agent::config::Config;
use sm_agent::host::{Command, HandoffOutcome, Host, Opening, Options, SessionView, State, Update};
use sm_llm::{Api, Client, Model, Prices, Secret, Thinking};
use sm_testkit::model::{Request, ScriptedModel};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// Everything here is over long before; a test that waits this long has failed.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub const DOCUMENT: &str = "## Objective\nBuild the frobnicator.\n\n## Constraints and preferences\nNone.\n\n## Progress\nDone: hello. Not started: all else.\n\n## Decisions\nUse Rust.\n\n## Technical state\n/repo/src/main.rs\n\n## Next actions\n1. Frobnicate.";

pub struct Desk {
    pub temp: tempfile::TempDir,
    pub model: ScriptedModel,
    pub api: Api,
    pub config: Config,
    pub mode: Mode,
    pub person: Person,
    pub thinking: Thinking,
    pub window: u64,
    agent: Option<Agent>,
    /// Everything that was told.
    pub told: Vec<Update>,
}

struct Agent {
    commands: UnboundedSender<Command>,
    updates: UnboundedReceiver<Update>,
}

impl Desk {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("repo")).unwrap();
        let mut config = Config::default();
        config.handoff.facts = 0;
        Self {
            temp,
            model: ScriptedModel::start().unwrap(),
            api: Api::AnthropicMessages,
            config,
            mode: Mode::All,
            person: Person::Here,
            thinking: Thinking::Off,
            window: 200_000,
            agent: None,
            told: Vec::new(),
        }
    }

    pub fn cwd(&self) -> PathBuf {
        self.temp.path().join("repo").canonicalize().unwrap()
    }

    pub fn sessions_folder(&self) -> PathBuf {
        self.temp.path().join("sessions")
    }

    fn options(&self) -> Options {
        let base_url = match self.api {
            Api::AnthropicMessages => self.model.url(),
            Api::OpenAiResponses | Api::OpenAiCompletions => format!("{}/v1", self.model.url()),
        };
        Options {
            own_tools: None,
            config: self.config.clone(),
            config_path: self.temp.path().join("agent.toml"),
            footprint: None,
            sessions: self.sessions_folder(),
            outputs: self.temp.path().join("outputs"),
            cwd: self.cwd(),
            model: Model {
                provider: "fake".into(),
                api: self.api,
                id: "fake-1".into(),
                base_url,
                key: Some(Secret::new("sk-secret-key-of-the-test")),
                window: self.window,
                max_output: 8_192,
                thinks: true,
                images: true,
                prices: Prices::default(),
            },
            thinking: self.thinking,
            approvals: Approvals::new(self.mode, self.person, &self.cwd(), Vec::new()),
            system: "You are a test.".into(),
            client: Arc::new(Client::with_first_wait(Duration::from_millis(20))),
            variables: Arc::new(|_| None),
        }
    }

    pub async fn start(&mut self) -> SessionView {
        self.begin(Opening::new()).await
    }

    pub async fn resume(&mut self, path: &Path) -> SessionView {
        self.begin(Opening::resume(path).unwrap()).await
    }

    async fn begin(&mut self, opening: Opening) -> SessionView {
        let (commands, updates) = Host::start(self.options(), opening);
        self.agent = Some(Agent { commands, updates });
        let started = self
            .until("the start", |u| matches!(u, Update::Started(_)))
            .await;
        match started {
            Update::Started(view) => view,
            other => panic!("{other:?}"),
        }
    }

    pub fn send(&self, command: Command) {
        self.agent.as_ref().unwrap().commands.send(command).unwrap();
    }

    /// The next update that is meant; everything on the way to it is kept.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Update) -> bool) -> Update {
        let agent = self.agent.as_mut().unwrap();
        loop {
            let next = tokio::time::timeout(DEADLINE, agent.updates.recv()).await;
            let Ok(Some(update)) = next else {
                panic!(
                    "waited for {what} in vain; the last that was told: {:#?}",
                    self.told.iter().rev().take(8).collect::<Vec<_>>()
                );
            };
            self.told.push(update.clone());
            if wanted(&update) {
                return update;
            }
        }
    }

    pub async fn idle(&mut self) {
        self.until("idle", |u| matches!(u, Update::State(State::Idle)))
            .await;
    }

    pub async fn prompt(&mut self, text: &str) {
        self.send(Command::Prompt(text.into()));
        self.idle().await;
    }

    pub async fn outcome(&mut self) -> (bool, HandoffOutcome) {
        let told = self
            .until("a handoff's outcome", |u| {
                matches!(u, Update::Handoff { .. })
            })
            .await;
        match told {
            Update::Handoff { automatic, outcome } => (automatic, outcome),
            other => panic!("{other:?}"),
        }
    }

    pub async fn handoff(&mut self, focus: Option<&str>) -> HandoffOutcome {
        let focus = focus.map(str::to_owned);
        self.send(Command::Handoff { focus, edit: false });
        self.outcome().await.1
    }

    /// A document for every prompt that tells the model nothing else.
    pub fn writes(&self, document: &str) {
        self.model.control(|c| c.reply = Some(document.to_owned()));
    }

    pub async fn quit(&mut self) {
        self.send(Command::Quit);
        self.until("the end", |u| matches!(u, Update::Ended)).await;
        self.agent = None;
    }

    /// Every request to a model so far.
    pub fn requests(&self) -> Vec<Request> {
        let asked = |request: &Request| request.method == "POST";
        self.model.requests().into_iter().filter(asked).collect()
    }

    /// The session files, oldest first.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in std::fs::read_dir(self.sessions_folder())
            .into_iter()
            .flatten()
        {
            let folder = folder.unwrap().path();
            let files = std::fs::read_dir(folder)
                .unwrap()
                .map(|f| f.unwrap().path());
            found.extend(files.filter(|f| f.extension().is_some_and(|e| e == "jsonl")));
        }
        found.sort();
        found
    }
}

pub fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The messages of a request without the marks of the cache, which move.
pub fn unmarked(body: &Value) -> Vec<Value> {
    let mut messages = body["messages"]
        .as_array()
        .or(body["input"].as_array())
        .unwrap()
        .clone();
    for message in &mut messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

/// The texts of a message of the Anthropic protocol.
pub fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
            texts.join("\n")
        }
        other => panic!("{other}"),
    }
}

pub fn done(outcome: &HandoffOutcome) -> (&str, &Path) {
    match outcome {
        HandoffOutcome::Done {
            document, session, ..
        } => (document, session),
        other => panic!("{other:?}"),
    }
}
