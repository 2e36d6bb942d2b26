//! sm's own agent, `sm-agent`, as a managed session. It speaks for itself: what it tells and what it
//! takes are written here for both sides, so that they cannot drift apart.
//!
//! It is driven over the daemon's socket. Nothing is typed into its terminal, and its screen is never
//! read: state, context and proofs are its own words, its status file and its session file.

pub mod launch;
pub mod record;
pub mod status;
pub mod told;

use sm_core::profile::{AgentKind, Clear, ClearProof, Input, PasteFit, Profile};

/// Begins a new session that has the present one as its parent. Not among the commands that a person
/// can type: only a handoff leaves a context like this.
pub const SUCCESSOR: &str = "/new --successor";

pub const PROFILE: Profile = Profile {
    kind: AgentKind::Native,
    // What joins a turn is handed over as steering.
    hook_answer_limit: None,
    stop_answer: None,
    input: Input::Socket,
    mailbox: true,
    names_conversation: true,
    prompt_argument: true,
    reads_screen: false,
    has_transcript: true,
    paste_fit: fit,
    escape_interrupts: false,
    compaction_holds: 0,
    compaction_waits: |_, _| false,
    usable: |window| window,
    clear: Some(Clear {
        command: SUCCESSOR,
        proof: ClearProof::AtOnce,
    }),
    stashes: false,
    resume_command: Some(|conversation| format!("/resume {conversation}")),
    paste_as_text: |_| None,
};

/// Nothing is pasted: this only tells commands from prompts.
pub fn fit(text: &str) -> PasteFit {
    PasteFit::unless_command(text, &['/', '!'])
}
