//! Codex. What is relied on, by version, is in `docs/agents.md`.

pub mod files;
pub mod fork;
pub mod hooks;
pub mod install;
pub mod launch;
pub mod paste;
pub mod rollout;
pub mod screen;
pub mod title;
pub mod trust;

use sm_core::profile::{AgentKind, Clear, ClearProof, Input, Profile, StopAnswer};

/// What our hook inside a turn may say: the limit is set on the launch line.
pub const HOOK_CONTEXT_LIMIT: usize = 60_000;

/// Beyond 10,000 bytes the answer to `Stop` is cut; up to four bytes make a character.
pub const STOP_LIMIT: usize = 2_400;

pub const PROFILE: Profile = Profile {
    kind: AgentKind::Codex,
    hook_answer_limit: Some(HOOK_CONTEXT_LIMIT),
    stop_answer: Some(StopAnswer {
        limit: STOP_LIMIT,
        in_a_row: 12,
        exact: arrives_by_stop,
    }),
    input: Input::Terminal,
    mailbox: false,
    names_conversation: false,
    prompt_argument: true,
    reads_screen: true,
    has_transcript: true,
    // A slash survives if pasted as `paste::fit` says.
    paste_fit: paste::fit,
    escape_interrupts: true,
    // One that is held up ends the turn, and comes again before the next prompt reaches the model:
    // nobody could be told to hand off.
    compaction_holds: 0,
    compaction_waits: |_, _| false,
    // It reports 95 % of the window and compacts at 90 %.
    usable: |window| window / 95 * 90,
    clear: Some(Clear {
        command: "/clear",
        proof: ClearProof::WithPrompt,
    }),
    stashes: false,
    resume_command: None,
    paste_as_text: |_| None,
};

/// The answer to Stop arrives inside markup: these characters escaped, the ends trimmed.
fn arrives_by_stop(text: &str) -> bool {
    !text.contains(['<', '>', '&']) && text.trim() == text
}
