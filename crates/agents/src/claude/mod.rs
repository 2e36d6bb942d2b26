//! Claude Code. What is relied on, by version, is in `docs/agents.md`.

pub mod hooks;
pub mod install;
pub mod launch;
pub mod paste;
pub mod screen;
pub mod settings;
pub mod status;
pub mod title;
pub mod transcript;

use sm_core::profile::{AgentKind, Clear, ClearProof, Profile, StopAnswer};

/// 10,000 characters are the limit of a hook's context; beyond it the model gets a preview.
pub const HOOK_CONTEXT_LIMIT: usize = 9_400;

pub const PROFILE: Profile = Profile {
    kind: AgentKind::Claude,
    hook_answer_limit: Some(HOOK_CONTEXT_LIMIT),
    stop_answer: Some(StopAnswer {
        limit: HOOK_CONTEXT_LIMIT,
        // The program takes 8; the user's own hooks may count among them.
        in_a_row: 6,
        exact: |_| true,
    }),
    mailbox: true,
    names_conversation: true,
    prompt_argument: true,
    reads_screen: true,
    has_transcript: true,
    // `#` has no meaning in this version, but had one in earlier ones.
    paste_fit: paste::fit,
    escape_interrupts: true,
    // Below its hard limit the program goes on uncompacted and asks again at the next request.
    compaction_holds: 5,
    // 20,000 are kept for the answer.
    usable: |window| window.saturating_sub(20_000),
    clear: Some(Clear {
        command: "/clear",
        proof: ClearProof::AtOnce,
    }),
    stashes: true,
    resume_command: Some(|conversation| format!("/resume {conversation}")),
};
