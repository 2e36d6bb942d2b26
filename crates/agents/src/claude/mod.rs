//! Claude Code. What is relied on, by version, is in `docs/agents.md`.

pub mod fork;
pub mod hooks;
pub mod install;
pub mod launch;
pub mod paste;
pub mod permissions;
pub mod screen;
pub mod settings;
pub mod status;
pub mod title;
pub mod transcript;
pub mod user_rules;

use sm_core::profile::{AgentKind, Clear, ClearProof, Input, Profile, StopAnswer};

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
    input: Input::Terminal,
    mailbox: true,
    names_conversation: true,
    prompt_argument: true,
    reads_screen: true,
    has_transcript: true,
    // `#` has no meaning in this version, but had one in earlier ones.
    paste_fit: paste::fit,
    escape_interrupts: true,
    compaction_holds: 5,
    compaction_waits,
    // 20,000 are kept for the answer.
    usable: |window| window.saturating_sub(20_000),
    clear: Some(Clear {
        command: "/clear",
        proof: ClearProof::AtOnce,
    }),
    stashes: true,
    resume_command: Some(|conversation| format!("/resume {conversation}")),
    paste_as_text: paste::as_text,
};

/// Between 33,000 and 23,000 tokens before the end the program compacts in good time: held up, it
/// goes on with its request and asks again at the next one. Beyond that it refuses prompts, and
/// before it, it compacts because the API has refused the request: held up, the turn fails, and the
/// program does not compact by itself any more. The margins are for what was answered, which the
/// program counts and its record of usage does not.
fn compaction_waits(used: Option<u64>, window: Option<u64>) -> bool {
    match (used, window) {
        (Some(used), Some(window)) => {
            let left = window.saturating_sub(used);
            (26_000..=40_000).contains(&left)
        }
        (Some(_) | None, Some(_) | None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compaction_is_held_up_only_where_the_program_goes_on_without_it() {
        for (used, window, waits) in [
            (Some(169_000), Some(200_000), true),
            (Some(162_000), Some(200_000), true),
            (Some(978_000), Some(1_000_000), false),
            (Some(150_000), Some(200_000), false), // the API refused the request
            (Some(178_000), Some(200_000), false), // a prompt would be refused
            (Some(210_000), Some(200_000), false),
            (None, Some(200_000), false),
            (Some(169_000), None, false),
        ] {
            assert_eq!(compaction_waits(used, window), waits, "{used:?}");
        }
    }
}
