//! What one context leaves to the next, as text. Pure.
//!
//! A document that `sm` writes keeps the heading block, the recent activity and the instructions
//! that other tools of the channel's format write. What goes into a model's context is bounded, and
//! says where the rest is.

use sm_channel::{ChannelName, HandoffId, Kind};
use sm_core::AgentKind;
use sm_core::carried::carried;

/// What a hook's answer takes whole, in characters.
pub const INLINE: usize = 9_400;
/// What a first prompt takes, for agents that are given it there.
pub const IN_PROMPT: usize = 9_400;
/// How the first prompt of a successor begins.
pub use sm_core::words::CONTINUE as OURS;
/// What is said of the ledger: with everything around it, it stays below [`INLINE`].
pub const LEDGER_BUDGET: usize = 6_000;
const RECENT: usize = 1_500;
const JOBS: usize = 20;

/// Agents that take the document from a hook at their start; others get it with the prompt.
pub fn gives_inline(agent: AgentKind) -> bool {
    match agent {
        AgentKind::Claude => true,
        AgentKind::Codex | AgentKind::Native | AgentKind::Generic => false,
    }
}

/// Whose document it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading<'a> {
    pub title: &'a str,
    /// `2026-02-02 06:45`
    pub time: &'a str,
    pub project: &'a str,
    pub channel: &'a ChannelName,
    pub session: &'a str,
}

/// The document that `sm` writes.
pub fn automatic(
    heading: &Heading<'_>,
    recent: &str,
    ledger: Option<&str>,
    background: &[String],
) -> String {
    let Heading {
        title,
        time,
        project,
        channel,
        session,
    } = heading;
    let recent = last_chars(recent.trim_end(), RECENT).replace("```", "'''");
    let recent = match recent.is_empty() {
        true => "(nothing was said yet)".to_owned(),
        false => recent,
    };
    let mut text = format!(
        "# {title}\n\n\
         **Timestamp:** {time}\n\
         **Project:** {project}\n\
         **Channel:** {channel}\n\
         **Session:** {session}\n\n\
         ## Recent Activity\n\n```\n{recent}\n```\n"
    );
    if let Some(ledger) = ledger.map(str::trim).filter(|ledger| !ledger.is_empty()) {
        text.push_str(&format!("\n{ledger}\n"));
    }
    text.push_str(&jobs(background));
    text.push_str(
        "\n## Instructions\n\n\
         1. This is a fresh context; the one before it was full. All you know of it is in here.\n\
         2. Look at the files named above before you change them: they are what counts.\n\
         3. Go on where the work stopped. Do not begin anew, and do not ask whether to go on.\n",
    );
    text
}

/// The agent's own words, and what it may not have known.
pub fn agents(text: &str, background: &[String]) -> String {
    let mut text = text.trim_end().to_owned();
    text.push('\n');
    text.push_str(&jobs(background));
    text
}

fn jobs(background: &[String]) -> String {
    if background.is_empty() {
        return String::new();
    }
    let mut text = "\n## Background Jobs\n\nThese ran when the context was left; they may have ended with its process:\n\n".to_owned();
    for job in background.iter().take(JOBS) {
        text.push_str(&format!("- {job}\n"));
    }
    if background.len() > JOBS {
        text.push_str(&format!("- and {} more\n", background.len() - JOBS));
    }
    text
}

/// A handoff as a new context is given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given<'a> {
    pub id: &'a HandoffId,
    pub channel: &'a ChannelName,
    /// The session it comes from.
    pub session: &'a str,
    pub kind: Kind,
    /// With its header.
    pub document: &'a str,
    /// Where it can be read whole.
    pub path: &'a str,
}

impl Given<'_> {
    /// The document inline, in at most `limit` characters.
    pub fn inline(&self, limit: usize) -> String {
        let head = format!(
            "=== HANDOFF LOADED (ID: {}) ===\nChannel: {}\nPrevious Session: {}\nType: {}\n\n",
            self.id,
            self.channel,
            self.session,
            self.kind.as_str()
        );
        let tail = "\n=== END HANDOFF ===";
        let room = limit.saturating_sub(head.chars().count() + tail.chars().count());
        let whole = carried(self.document, usize::MAX);
        if whole.of <= room {
            return format!("{head}{}{tail}", whole.text);
        }
        let about = |characters| {
            format!(
                "\n[This is the most important part, {characters} of {} characters. The whole document is in {}]",
                whole.of, self.path
            )
        };
        // of as many bytes as characters are allowed: never more
        let room = room.saturating_sub(about(whole.of).chars().count());
        let part = carried(self.document, room);
        format!("{head}{}{}{tail}", part.text, about(part.characters))
    }

    /// The first prompt of a context that was given the document already.
    pub fn prompt(&self) -> String {
        format!(
            "{OURS}{}). It was loaded into this context at its start; if you do not see it, read {}. Go on with the work it describes.",
            self.id, self.path
        )
    }

    /// The first prompt of a context that is given the document with it.
    pub fn prompt_with_document(&self) -> String {
        format!(
            "{OURS}{}). Go on with the work it describes.\n\n{}",
            self.id,
            self.inline(IN_PROMPT)
        )
    }
}

fn last_chars(text: &str, count: usize) -> &str {
    let total = text.chars().count();
    text.char_indices()
        .nth(total.saturating_sub(count))
        .map_or("", |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading<'a>(channel: &'a ChannelName) -> Heading<'a> {
        Heading {
            title: "Auto-Handoff (Context Full)",
            time: "2026-02-02 06:45",
            project: "/home/jesse",
            channel,
            session: "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
        }
    }

    #[test]
    fn the_heading_block_is_that_of_the_format() {
        let channel = ChannelName::global();
        let text = automatic(
            &heading(&channel),
            "user: go\nassistant: ```x\n",
            Some("## Files\n\n- a.rs"),
            &["make watch".to_owned()],
        );
        assert!(text.starts_with(
            "# Auto-Handoff (Context Full)\n\n\
             **Timestamp:** 2026-02-02 06:45\n\
             **Project:** /home/jesse\n\
             **Channel:** global\n\
             **Session:** c74cc080-94b9-4841-b82f-a62cfb8efdc0\n\n\
             ## Recent Activity\n\n```\nuser: go\nassistant: '''x\n```\n\n## Files\n\n- a.rs\n"
        ));
        let order = [
            "## Recent Activity",
            "## Files",
            "## Background Jobs",
            "- make watch",
            "## Instructions",
        ];
        let at: Vec<_> = order.iter().map(|part| text.find(part).unwrap()).collect();
        assert!(at.is_sorted(), "{at:?}");
        let empty = automatic(&heading(&channel), "", None, &[]);
        assert!(empty.contains("(nothing was said yet)") && !empty.contains("Background"));
    }

    #[test]
    fn a_document_of_ours_fits_into_a_hooks_answer() {
        let channel: ChannelName = "c".repeat(64).parse().unwrap();
        let text = automatic(
            &Heading {
                project: &"/very-long-name".repeat(10),
                ..heading(&channel)
            },
            &"é".repeat(9_000),
            Some(&"x".repeat(LEDGER_BUDGET)),
            &vec!["y".repeat(30); 5],
        );
        assert!(
            text.chars().count() < INLINE - 600,
            "{}",
            text.chars().count()
        );
    }

    fn given<'a>(id: &'a HandoffId, channel: &'a ChannelName, document: &'a str) -> Given<'a> {
        Given {
            id,
            channel,
            session: "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
            kind: Kind::Auto,
            document,
            path: "/a/HO.md",
        }
    }

    #[test]
    fn inline_it_is_wrapped_and_bounded() {
        let id: HandoffId = "HO-20260202-064530-c74cc080".parse().unwrap();
        let channel = ChannelName::global();
        assert_eq!(
            given(&id, &channel, "<!-- x -->\n\ntext\n").inline(INLINE),
            "=== HANDOFF LOADED (ID: HO-20260202-064530-c74cc080) ===\n\
             Channel: global\n\
             Previous Session: c74cc080-94b9-4841-b82f-a62cfb8efdc0\n\
             Type: auto\n\n\
             <!-- x -->\n\ntext\n\
             === END HANDOFF ==="
        );
        let important = format!(
            "{}\n# Notes\n{}\n# Next actions\n1. feed the walrus\n",
            "lines of text\n".repeat(400),
            "é".repeat(50_000)
        );
        for document in [&"lines of text\n".repeat(5_000), &important] {
            let inline = given(&id, &channel, document).inline(INLINE);
            assert!(inline.len() <= INLINE, "{}", inline.len());
            assert!(inline.len() > INLINE / 2, "{}", inline.len());
            assert!(
                inline.contains("This is the most important part, "),
                "{inline}"
            );
            assert!(inline.ends_with("The whole document is in /a/HO.md]\n=== END HANDOFF ==="));
        }
        let inline = given(&id, &channel, &important).inline(INLINE);
        assert!(
            inline.contains("1. feed the walrus"),
            "what matters most comes along"
        );
        let many = "é".repeat(9_000);
        assert!(
            given(&id, &channel, &many).inline(INLINE).contains(&many),
            "characters count"
        );
        let exact = "a".repeat(9_000);
        assert!(given(&id, &channel, &exact).inline(INLINE).contains(&exact));
    }

    #[test]
    fn prompts_name_the_handoff() {
        let id: HandoffId = "HO-20260202-064530-c74cc080".parse().unwrap();
        let channel = ChannelName::global();
        let given = given(&id, &channel, "text");
        assert!(
            given
                .prompt()
                .starts_with("Continue from handoff (ID: HO-20260202-064530-c74cc080)")
        );
        assert!(!given.prompt().contains('\n'));
        let long = given.prompt_with_document();
        assert!(
            long.starts_with("Continue from handoff (ID: ")
                && long.ends_with("=== END HANDOFF ===")
        );
    }
}
