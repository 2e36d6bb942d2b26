//! What the agent is told of its context, and the person at the end.

use sm_channel::{ChannelName, HandoffId, Put};
use sm_core::AgentKind;
use sm_core::monitor::How;

use super::rotation::Notice;

/// The last line for the person: why it is over, which handoff holds the work, and what to do with
/// it. Whoever has ended the agent knows why, and is told nothing unless there is a handoff.
pub fn farewell(
    why: &str,
    handed: Option<(&HandoffId, &Put)>,
    channel: &ChannelName,
    agent: AgentKind,
) -> Option<String> {
    let program = program(agent);
    match handed {
        Some((id, Put::Current)) => Some(format!(
            "{why}. Handoff {id} of channel {channel} holds where the work stands; go on with: sm run --handoff {program}"
        )),
        // `--handoff` would take the other session's.
        Some((id, Put::Archive)) => Some(format!(
            "{why}. Handoff {id} holds where the work stands; it is in the archive, as another session's is active in channel {channel}. Read it with: sm channel load --id {id}"
        )),
        None if why.is_empty() => None,
        None => Some(why.to_owned()),
    }
}

fn program(agent: AgentKind) -> &'static str {
    match agent {
        AgentKind::Claude => "claude",
        AgentKind::Codex => "codex",
        AgentKind::Native | AgentKind::Generic => "-- …",
    }
}

/// The last line for the person if the context was full and there is no handoff of it.
pub fn not_handed_over(trouble: &str, agent: AgentKind) -> String {
    format!(
        "The context was full but could not be handed over: {trouble}. Put that right, then go on with: sm run --handoff {}",
        program(agent)
    )
}

/// Before the first agent starts: its contexts will not be left.
pub fn no_place(trouble: &str) -> String {
    format!(
        "sm run: the channel's folder cannot be used ({trouble}): a full context cannot be handed over, and the agent will go on in it. `channel.dir` in the configuration puts the folder elsewhere"
    )
}

/// `share`: in percent, where it is known.
pub fn of(notice: Notice, share: Option<f64>, how: &How) -> String {
    let full = share.map_or_else(String::new, |share| {
        format!(" at {} % of its window", share.floor())
    });
    match notice {
        Notice::WrapUp => format!(
            "[sm run] This context is{full} and filling up. Finish what you are doing and begin nothing large; write down in files what must not be lost."
        ),
        Notice::WriteDocument => format!(
            "[sm run] This context is{full}: after this turn the work goes on in a fresh one, which knows only what is written down. Write a handoff document now (`{} handoff --template` shows what belongs in it), {} as your last action, and end your turn. Without it sm hands over what it can see itself.",
            how.program(),
            how.in_short()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_why_and_what_next() {
        let id: HandoffId = "HO-20260202-064500-abc".parse().unwrap();
        let channel: ChannelName = "app".parse().unwrap();
        let ended = "The agent was ended";
        for (why, put, agent, expected) in [
            ("", None, AgentKind::Claude, None),
            ("It failed", None, AgentKind::Claude, Some("It failed")),
            (
                ended,
                Some(Put::Current),
                AgentKind::Claude,
                Some(
                    "The agent was ended. Handoff HO-20260202-064500-abc of channel app holds where the work stands; go on with: sm run --handoff claude",
                ),
            ),
            (
                ended,
                Some(Put::Current),
                AgentKind::Codex,
                Some(
                    "The agent was ended. Handoff HO-20260202-064500-abc of channel app holds where the work stands; go on with: sm run --handoff codex",
                ),
            ),
            (
                ended,
                Some(Put::Archive),
                AgentKind::Claude,
                Some(
                    "The agent was ended. Handoff HO-20260202-064500-abc holds where the work stands; it is in the archive, as another session's is active in channel app. Read it with: sm channel load --id HO-20260202-064500-abc",
                ),
            ),
        ] {
            let handed = put.as_ref().map(|put| (&id, put));
            let said = farewell(why, handed, &channel, agent);
            assert_eq!(said.as_deref(), expected, "{why} {put:?}");
        }
    }
}
