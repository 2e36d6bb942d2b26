//! What an agent is given back after its context was compacted: the document its lineage was handed,
//! how old that is, what is under way, and where the rest is. Never more than an agent takes whole.

use crate::clock;
use crate::handoff;
use crate::hub::{Handle, Hub};
use sm_core::{Handoff, HandoffId, Timestamp};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Claude shows a preview only beyond 10,000 characters, Codex cuts the middle out.
const BUDGET: usize = 9_500;
/// The hook waits: a file system that does not answer must not hold up the agent.
const PATIENCE: Duration = Duration::from_millis(120);

/// None: there is nothing of this lineage, and nothing is said.
pub async fn text(hub: &Arc<Hub>, handle: &Handle, id: &HandoffId) -> Option<String> {
    let published = handle.now();
    let current = published.record.lineage().filter(|h| &h.id == id)?.clone();
    let name = published.record.name.to_string();
    let in_flight = handoff::in_flight(hub, handle).await;
    let read = tokio::task::spawn_blocking({
        let current = current.clone();
        move || document(&current)
    });
    let (path, document) = tokio::time::timeout(PATIENCE, read).await.ok()?.ok()??;
    Some(compose(
        &name,
        &current,
        &path,
        &document,
        &in_flight,
        clock::now(),
    ))
}

/// The document as it was handed over: our copy, which nobody changes afterwards.
fn document(handoff: &Handoff) -> Option<(String, String)> {
    let bytes = std::fs::read(&handoff.copy).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let path = match Path::new(&handoff.document).exists() {
        true => handoff.document.clone(),
        false => handoff.copy.clone(),
    };
    (!text.trim().is_empty()).then_some((path, text))
}

/// Pure. The document is what is cut if not everything fits.
fn compose(
    name: &str,
    handoff: &Handoff,
    path: &str,
    document: &str,
    in_flight: &[String],
    now: Timestamp,
) -> String {
    let age = ago(now.since(handoff.prompted_at.unwrap_or(handoff.created_at)));
    let head = format!(
        "[sm recovery] Your context was just compacted. This context began {age} ago (generation {}) from the handoff document {path}; what it said then follows, and may be out of date.\n\n",
        handoff.to.unwrap_or(handoff.from).0
    );
    let mut tail = String::new();
    if !in_flight.is_empty() {
        tail.push_str("\n\nUnder way now:");
        for line in in_flight {
            tail.push_str(&format!("\n- {line}"));
        }
    }
    tail.push_str(&format!(
        "\n\nEverything since then can be searched: sm archive {name} grep \"keyword\". Before your context is full again, write a new document and run `sm handoff <path>`."
    ));
    let cut = format!("\n[sm: … the rest is in {path}]");
    let room = BUDGET
        .saturating_sub(head.chars().count())
        .saturating_sub(tail.chars().count());
    let whole = document.trim_end();
    let body = if whole.chars().count() <= room {
        whole.to_string()
    } else {
        let room = room.saturating_sub(cut.chars().count());
        whole.chars().take(room).collect::<String>() + &cut
    };
    let mut text = head + &body + &tail;
    if text.chars().count() > BUDGET {
        // a list of what is under way that leaves no room at all
        text = text.chars().take(BUDGET).collect();
    }
    text
}

fn ago(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => "less than a minute".to_string(),
        (0, m) => format!("{m} min"),
        (h, m) if h < 48 => format!("{h} h {m} min"),
        (h, _) => format!("{} days", h / 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::{Author, Carrier, Course, Generation, HandoffState, Trigger, TurnId};

    fn handed() -> Handoff {
        Handoff {
            id: HandoffId::new("h1").unwrap(),
            state: HandoffState::Done,
            trigger: Trigger::Agent,
            author: Author::Agent,
            carrier: Carrier::Clear,
            from: Generation(1),
            to: Some(Generation(2)),
            from_conversation: None,
            turn: TurnId(1),
            document: "/work/notes.md".into(),
            copy: "/data/document.md".into(),
            folder: "/data".into(),
            artifacts: Vec::new(),
            steps: Vec::new(),
            tokens_before: None,
            tokens_after: None,
            created_at: Timestamp(0),
            done_at: None,
            given: String::new(),
            wake: None,
            wake_text: String::new(),
            wakes: 0,
            began_at: Some(Timestamp(0)),
            prompted_at: Some(Timestamp(0)),
            clears: 0,
            relaunches: 0,
            unproven: false,
            entered_at: None,
            stashed: None,
            course: Course::Forward,
        }
    }

    fn said(document: &str, in_flight: &[String]) -> String {
        compose(
            "api",
            &handed(),
            "/work/notes.md",
            document,
            in_flight,
            Timestamp(3 * 3_600_000 + 120_000),
        )
    }

    #[test]
    fn it_says_how_old_the_document_is_and_where_the_rest_is() {
        let text = said("# State\nall of it\n", &["child web is working".into()]);
        assert!(text.contains("3 h 2 min ago (generation 2)"), "{text}");
        assert!(text.contains("# State\nall of it\n\nUnder way now:\n- child web is working"));
        assert!(text.contains("sm archive api grep"));
    }

    #[test]
    fn it_is_never_longer_than_an_agent_takes_whole() {
        for size in [0, 9_000, 9_400, 9_500, 20_000, 65_536] {
            for lines in [0, 24, 200] {
                let in_flight = vec!["ü".repeat(200); lines];
                let text = said(&"ä".repeat(size), &in_flight);
                assert!(text.chars().count() <= BUDGET, "{size} {lines}");
            }
        }
        assert!(said(&"x".repeat(20_000), &[]).contains("the rest is in /work/notes.md"));
    }

    #[test]
    fn ages_are_told_in_words() {
        assert_eq!(ago(-5), "less than a minute");
        assert_eq!(ago(61_000), "1 min");
        assert_eq!(ago(50 * 3_600_000), "2 days");
    }
}
