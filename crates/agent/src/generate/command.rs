//! `sm-agent document` (what `sm handoff --generate` runs) and `sm generate`.
//!
//! Both print a document and nothing else on stdout; what is under way, and what went wrong, is
//! said on stderr. Ctrl+C and SIGTERM cancel.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use sm_core::ids::ConversationId;
use sm_core::profile::AgentKind;
use sm_llm::{Client, Limits, Places};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::document::{Allowance, DocumentError, Subject, agent, document};
use super::own::{Own, OwnError};
use crate::config::Config;
use crate::handoff::{Order, Progress};
use crate::headless;
use crate::host::Variables;
use crate::models;
use crate::setup::Folders;

/// Writes the handoff document of a conversation to stdout, with the help of a model.
#[derive(Debug, Args)]
pub struct DocumentArgs {
    /// Whose conversation it is.
    #[arg(long, value_name = "AGENT")]
    agent: String,
    /// The id that the agent itself gives the conversation.
    #[arg(long, value_name = "ID")]
    conversation: String,
    /// Where it was held.
    #[arg(long, value_name = "DIR")]
    cwd: PathBuf,
    /// The agent's program.
    #[arg(long, value_name = "PROGRAM")]
    program: Option<String>,
    /// The agent's own record of it.
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// What the document should pay attention to.
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// As JSON: the document, and who wrote it.
    #[arg(long)]
    json: bool,
}

/// Writes a handoff document about a transcript to stdout, with the help of a model.
///
/// The model is that of `sm agent`. Nothing else is done with the document: no session is needed,
/// and none is touched. Without a model it is written from the transcript alone, and stderr says so.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 written; 1 failed; 2 not usable here; 64 wrong usage; 130 cancelled."
)]
pub struct GenerateArgs {
    /// A transcript of Claude Code, Codex, pi, omp or sm's own agent.
    #[arg(long, value_name = "FILE")]
    transcript: PathBuf,
    /// What the document should pay attention to.
    #[arg(value_name = "FOCUS")]
    focus: Option<String>,
    /// The model, as PROVIDER/ID.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// As JSON: the document, and who wrote it.
    #[arg(long)]
    json: bool,
}

impl DocumentArgs {
    pub async fn run(self) -> u8 {
        let Some(kind) = AgentKind::parse(&self.agent) else {
            return complain(&format!("no such agent: {}", self.agent), headless::USAGE);
        };
        let conversation = match ConversationId::new(self.conversation) {
            Ok(conversation) => conversation,
            Err(error) => return complain(&error.to_string(), headless::USAGE),
        };
        let program = self.program.unwrap_or_else(|| kind.as_str().to_owned());
        let (agent, of) = match kind {
            AgentKind::Native => (None, Of::Own),
            AgentKind::Claude | AgentKind::Codex | AgentKind::Generic => {
                let agent = agent(kind, &program, conversation, &self.cwd);
                (Some(agent), Of::Others)
            }
        };
        let subject = Subject {
            agent,
            transcript: self.transcript,
            focus: self.focus,
        };
        write(&subject, of, None, self.json, Unfit::Told).await
    }
}

impl GenerateArgs {
    pub async fn run(self) -> u8 {
        let subject = Subject {
            agent: None,
            transcript: Some(self.transcript),
            focus: self.focus,
        };
        let model = self.model.as_deref();
        write(&subject, Of::Others, model, self.json, Unfit::Replaced).await
    }
}

/// Whose conversation it is.
#[derive(Clone, Copy)]
enum Of {
    /// A session of sm's own agent: its model is asked as the agent asks it.
    Own,
    Others,
}

/// What becomes of a document that must not take the place of a context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unfit {
    /// Whoever asked has a better ledger than the transcript alone gives.
    Told,
    /// By the ledger's.
    Replaced,
}

async fn write(subject: &Subject, of: Of, named: Option<&str>, json: bool, unfit: Unfit) -> u8 {
    let folders = match Folders::from_env() {
        Ok(folders) => folders,
        Err(error) => return complain(&error.to_string(), headless::NOT_USABLE),
    };
    let config = match Config::load(&folders.config) {
        Ok(config) => config,
        Err(error) => return complain(&error.to_string(), headless::NOT_USABLE),
    };
    let variables: Variables = Arc::new(|name: &str| std::env::var(name).ok());
    let places = Places::usual(variables("OLLAMA_HOST").as_deref());
    let allowance = Allowance {
        limits: Limits {
            deadline: config.handoff.deadline,
            idle: config.request.idle,
            attempts: config.request.attempts,
        },
        repair: config.handoff.repair,
        facts: config.handoff.facts,
    };
    let cancel = CancellationToken::new();
    tokio::spawn(cancelled_by_signal(cancel.clone()));
    let mut loader = Loader::start();
    let client = Client::new();
    let model = || models::choose(named, &config, &*variables, &places);
    let mut on = |progress: Progress| loader.tell(&progress);
    let order = Order {
        focus: subject.focus.clone(),
        automatic: false,
        repair: allowance.repair,
        limits: allowance.limits,
    };
    let own = match (of, &subject.transcript) {
        (Of::Others, _) => None,
        (Of::Own, None) => Some(Err(DocumentError::TooLittle.into())),
        (Of::Own, Some(path)) => Some(match Own::read(path) {
            Ok(own) => {
                let known = (&variables, &places);
                own.document(&config, known, &order, &cancel, &mut on).await
            }
            Err(error) => Err(error),
        }),
    };
    let written = match own {
        Some(Ok(document)) => Ok(document),
        Some(Err(OwnError::Over(error))) => Err(error),
        Some(Err(OwnError::NotPossible(_))) | None => {
            document(subject, &client, model, allowance, &cancel, &mut on).await
        }
    };
    loader.end();
    match written {
        Ok(document) => {
            let document = match unfit == Unfit::Replaced || !json {
                true => document.or_ledger(subject.transcript.as_deref()),
                false => document,
            };
            let text = match json {
                true => serde_json::json!({
                    "document": document.text,
                    "told": document.told,
                    "author": document.author.word(),
                    "unfit": document.unfit,
                })
                .to_string(),
                false => {
                    say(&document.told);
                    document.text.trim_end().to_owned()
                }
            };
            let mut out = std::io::stdout();
            match writeln!(out, "{text}").and_then(|()| out.flush()) {
                Ok(()) => headless::DONE,
                Err(error) => complain(&error.to_string(), headless::FAILED),
            }
        }
        Err(error @ DocumentError::Cancelled) => {
            complain(&error.to_string(), headless::INTERRUPTED)
        }
        Err(
            error @ (DocumentError::Failed(_)
            | DocumentError::Transcript { .. }
            | DocumentError::NoTranscript(_)
            | DocumentError::Nothing
            | DocumentError::TooLittle),
        ) => complain(&error.to_string(), headless::FAILED),
    }
}

async fn cancelled_by_signal(cancel: CancellationToken) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    cancel.cancel();
}

/// One line on a terminal that shows that it goes on; elsewhere only what is worth a line.
struct Loader {
    terminal: bool,
    characters: usize,
}

impl Loader {
    fn start() -> Self {
        let loader = Self {
            terminal: std::io::stderr().is_terminal(),
            characters: 0,
        };
        if loader.terminal {
            loader.draw("");
        }
        loader
    }

    fn tell(&mut self, progress: &Progress) {
        match progress {
            Progress::Text(text) => {
                self.characters += text.chars().count();
                if self.terminal {
                    self.draw(&format!(" {} characters", self.characters));
                }
            }
            Progress::Attempt {
                number,
                wait,
                cause,
            } => {
                self.end();
                say(&format!(
                    "{cause}: attempt {number} in {:.1} s",
                    wait.as_secs_f64()
                ));
            }
            Progress::Again => {
                self.characters = 0;
                self.end();
                say("Sections are missing: asked once more");
            }
        }
    }

    fn draw(&self, more: &str) {
        let mut err = std::io::stderr();
        let _ = write!(err, "\r\x1b[KGenerating handoff… (Ctrl+C to cancel){more}");
        let _ = err.flush();
    }

    fn end(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

fn complain(what: &str, code: u8) -> u8 {
    say(what);
    code
}
