//! One door to every agent: the only place where an agent kind becomes its folder.

use crate::launch::{Launch, LaunchError, LaunchRequest};
use crate::parsed::Parsed;
use crate::paste::PasteFit;
use crate::{claude, codex, generic, native};
use sm_core::effect::Answer;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::profile::{AgentKind, Profile};
use sm_core::signal::{Activity, Composer, Fact, StatusReading};
use std::path::{Path, PathBuf};

pub fn profile(kind: AgentKind) -> &'static Profile {
    match kind {
        AgentKind::Claude => &claude::PROFILE,
        AgentKind::Codex => &codex::PROFILE,
        AgentKind::Native => &native::PROFILE,
        AgentKind::Generic => &generic::PROFILE,
    }
}

/// Why an agent with these arguments of a person's cannot be a session.
pub fn not_a_session(kind: AgentKind, args: &[String]) -> Option<&'static str> {
    match kind {
        AgentKind::Native => native::launch::not_a_session(args),
        AgentKind::Claude | AgentKind::Codex | AgentKind::Generic => None,
    }
}

pub fn launch(kind: AgentKind, request: &LaunchRequest) -> Result<Launch, LaunchError> {
    match kind {
        AgentKind::Claude => claude::launch::launch(request),
        AgentKind::Codex => codex::launch::launch(request),
        AgentKind::Native => native::launch::launch(request),
        AgentKind::Generic => generic::launch(request),
    }
}

/// Whether an agent is started with hooks of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    WithLaunch,
    None,
}

pub fn hooks(kind: AgentKind) -> Hooks {
    match kind {
        AgentKind::Claude | AgentKind::Codex | AgentKind::Native => Hooks::WithLaunch,
        AgentKind::Generic => Hooks::None,
    }
}

/// Reads a hook call. Never fails; `at` is when the hook ran.
pub fn parse_hook(kind: AgentKind, event: &str, body: &[u8], at: Timestamp) -> Parsed {
    match kind {
        AgentKind::Claude => claude::hooks::parse_hook(event, body, at),
        AgentKind::Codex => codex::hooks::parse_hook(event, body, at),
        AgentKind::Native => native::told::parse_hook(event, body, at),
        AgentKind::Generic => generic::parse_hook(event, body),
    }
}

/// What a tool printed, if this event tells it.
pub fn tool_output(kind: AgentKind, event: &str, body: &[u8]) -> Option<String> {
    match kind {
        AgentKind::Codex => codex::hooks::tool_output(event, body),
        AgentKind::Claude | AgentKind::Native | AgentKind::Generic => None,
    }
}

/// What the agent said last in the turn that ends, if this event tells it.
pub fn reply(kind: AgentKind, event: &str, body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Payload {
        last_assistant_message: Option<String>,
    }
    match (kind, event) {
        (AgentKind::Claude | AgentKind::Codex | AgentKind::Native, "Stop") => {
            let payload: Payload = serde_json::from_slice(body).ok()?;
            let said = payload.last_assistant_message?;
            let said: String = said.chars().take(LONGEST_REPLY).collect();
            Some(said).filter(|said| !said.trim().is_empty())
        }
        (AgentKind::Claude | AgentKind::Codex | AgentKind::Native | AgentKind::Generic, _) => None,
    }
}

/// More of what an agent said is not kept in memory; in characters.
const LONGEST_REPLY: usize = 32 << 10;

/// What the hook prints. `shown`: a line for the person at the screen.
pub fn answer(kind: AgentKind, event: &str, answer: &Answer, shown: Option<&str>) -> Vec<u8> {
    match kind {
        AgentKind::Claude => claude::hooks::answer(event, answer, shown),
        AgentKind::Codex => codex::hooks::answer(event, answer, shown),
        // It takes texts by its mailbox alone.
        AgentKind::Native | AgentKind::Generic => Vec::new(),
    }
}

/// What would become of a text that is pasted.
pub fn paste_fit(kind: AgentKind, text: &str) -> PasteFit {
    match kind {
        AgentKind::Claude => claude::paste::fit(text),
        AgentKind::Codex => codex::paste::fit(text),
        AgentKind::Native => native::fit(text),
        AgentKind::Generic => generic::fit(text),
    }
}

/// Reads the screen: rows with SGR sequences, the cursor counted from 0. `ours` is a text that was
/// pasted (all its pastes together).
pub fn read_screen(
    kind: AgentKind,
    lines: &[String],
    cursor_x: u32,
    cursor_y: u32,
    ours: Option<&str>,
) -> (Composer, Activity) {
    match kind {
        AgentKind::Claude => claude::screen::read_screen(lines, cursor_x, cursor_y, ours),
        AgentKind::Codex => codex::screen::read_screen(lines, cursor_x, cursor_y, ours),
        AgentKind::Native | AgentKind::Generic => (Composer::Hidden, Activity::Unknown),
    }
}

/// The draft in the composer of a screen that shows one. What was pasted may stand there as a sign;
/// `pasted` are the texts that it may stand for, oldest first.
pub fn draft(kind: AgentKind, lines: &[String], pasted: &[String]) -> Option<String> {
    type StandsFor = fn(&str, &str) -> bool;
    let (draft, stands_for): (_, StandsFor) = match kind {
        AgentKind::Claude => (claude::screen::draft(lines), claude::screen::stands_for),
        AgentKind::Codex => (codex::screen::draft(lines), codex::screen::stands_for),
        AgentKind::Native | AgentKind::Generic => return None,
    };
    draft.map(|draft| crate::paste::restored(&draft, pasted, stands_for))
}

pub fn read_title(kind: AgentKind, title: &str) -> Activity {
    match kind {
        AgentKind::Claude => claude::title::read_title(title),
        AgentKind::Codex => codex::title::read_title(title),
        AgentKind::Native | AgentKind::Generic => Activity::Unknown,
    }
}

/// A reader of an agent's record of a conversation.
#[derive(Debug)]
pub enum Tail {
    Claude(claude::transcript::Tail),
    Codex(codex::rollout::Tail),
    Native(native::record::Tail),
    /// The program keeps no record that is known.
    None,
}

impl Tail {
    pub fn new(kind: AgentKind, conversation: ConversationId) -> Self {
        match kind {
            AgentKind::Claude => Self::Claude(claude::transcript::Tail::new(conversation)),
            AgentKind::Codex => Self::Codex(codex::rollout::Tail::new(conversation)),
            AgentKind::Native => Self::Native(native::record::Tail::default()),
            AgentKind::Generic => Self::None,
        }
    }

    /// Takes the next bytes of the file; gives the facts of the lines that are now complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Fact> {
        match self {
            Self::Claude(tail) => tail.feed(bytes),
            Self::Codex(tail) => tail.feed(bytes),
            Self::Native(tail) => tail.feed(bytes),
            Self::None => Vec::new(),
        }
    }

    /// Lines that were too long to be read.
    pub fn skipped(&self) -> u64 {
        match self {
            Self::Claude(tail) => tail.skipped(),
            Self::Codex(tail) => tail.skipped(),
            Self::Native(tail) => tail.skipped(),
            Self::None => 0,
        }
    }
}

/// Where the agent keeps its own files. `env` looks up a variable of the agent's environment.
pub fn agent_home(kind: AgentKind, env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = env("HOME").map(PathBuf::from).unwrap_or_default();
    match kind {
        AgentKind::Claude => Some(claude::status::config_dir(env, &home)),
        AgentKind::Codex => Some(codex::files::config_dir(env, &home)),
        AgentKind::Native => Some(native::status::home(env, &home)),
        AgentKind::Generic => None,
    }
}

/// The file in which a living agent says what it is doing, if it has one.
pub fn status_path(kind: AgentKind, agent_home: &Path, pid: u32) -> Option<PathBuf> {
    match kind {
        AgentKind::Claude => Some(claude::status::status_path(agent_home, pid)),
        AgentKind::Native => Some(native::status::path(agent_home, pid)),
        AgentKind::Codex | AgentKind::Generic => None,
    }
}

pub fn parse_status(kind: AgentKind, bytes: &[u8]) -> Option<StatusReading> {
    match kind {
        AgentKind::Claude => claude::status::parse(bytes),
        AgentKind::Native => native::status::parse(bytes),
        AgentKind::Codex | AgentKind::Generic => None,
    }
}

/// Where the record of a conversation will be, where that can be known without looking.
pub fn transcript_path(
    kind: AgentKind,
    agent_home: &Path,
    cwd: &Path,
    conversation: &ConversationId,
) -> Option<PathBuf> {
    match kind {
        AgentKind::Claude => Some(claude::status::transcript_path(
            agent_home,
            cwd,
            conversation,
        )),
        AgentKind::Codex | AgentKind::Native | AgentKind::Generic => None,
    }
}

/// Whether the agent can go on in a conversation whose record begins like this. One that cannot may
/// still occupy its name: then the agent has to be started without one.
pub fn can_resume(kind: AgentKind, record: &[u8]) -> bool {
    match kind {
        AgentKind::Claude => claude::transcript::has_messages(record),
        AgentKind::Codex | AgentKind::Native => !record.is_empty(), // made with the first prompt
        AgentKind::Generic => false,
    }
}
