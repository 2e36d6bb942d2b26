//! Hooks in the settings of an agent program, for agents that sm did not start: one door to all.

use crate::surgery::{After, Found, Installed, LinePolicy, Refusal};
use crate::{claude, codex};
use sm_core::profile::AgentKind;

/// Programs whose settings can take our hooks.
pub const AGENTS: [AgentKind; 2] = [AgentKind::Claude, AgentKind::Codex];

/// The file below the program's own folder.
pub fn file_name(kind: AgentKind) -> Option<&'static str> {
    match kind {
        AgentKind::Claude => Some("settings.json"),
        AgentKind::Codex => Some("config.toml"),
        AgentKind::Native | AgentKind::Generic => None,
    }
}

/// The folder of a project's own settings.
pub fn project_folder(kind: AgentKind) -> Option<&'static str> {
    match kind {
        AgentKind::Claude => Some(".claude"),
        AgentKind::Codex => Some(".codex"),
        AgentKind::Native | AgentKind::Generic => None,
    }
}

/// The text with our hooks in it. `None`: there is no file.
pub fn install(
    kind: AgentKind,
    text: Option<&str>,
    program: &str,
    policy: LinePolicy,
) -> Result<Installed, Refusal> {
    match kind {
        AgentKind::Claude => claude::install::install(text, program, policy),
        AgentKind::Codex => codex::install::install(text, program),
        AgentKind::Native | AgentKind::Generic => Err(Refusal::NotReversible),
    }
}

/// The text without our hooks.
pub fn remove(kind: AgentKind, text: &str) -> Result<After, Refusal> {
    match kind {
        AgentKind::Claude => claude::install::remove(text),
        AgentKind::Codex => codex::install::remove(text),
        AgentKind::Native | AgentKind::Generic => Ok(After::Text(text.to_owned())),
    }
}

/// What of ours is in it.
pub fn found(kind: AgentKind, text: &str) -> Result<Found, Refusal> {
    match kind {
        AgentKind::Claude => claude::install::found(text),
        AgentKind::Codex => codex::install::found(text),
        AgentKind::Native | AgentKind::Generic => Ok(Found::default()),
    }
}
