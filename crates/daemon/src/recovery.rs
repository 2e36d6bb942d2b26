//! What an agent is given back after its context was compacted: its pins, the document its lineage
//! was handed, how old that is, what was written down of this context since, what is under way, and
//! where the rest is. Never more than an agent takes whole, and no secret of the document's.

use crate::clock;
use crate::handoff;
use crate::hub::{Handle, Hub};
use crate::ledger;
use crate::pins;
use sm_core::monitor::How;
use sm_core::{Handoff, HandoffId, Timestamp};
use sm_ledger::redact::redact;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Claude shows a preview only beyond 10,000 characters, Codex cuts the middle out.
const BUDGET: usize = ledger::BUDGET;
/// The hook waits: a file system that does not answer must not hold up the agent.
const PATIENCE: Duration = Duration::from_millis(120);
/// What the ledger has beside a document that would fill everything.
const LEDGER_SHARE: usize = 3_500;
/// Less than this says nothing.
const LEDGER_LEAST: usize = 1_000;
const SINCE: &str = "\n\n## Since then, up to the compaction\n";

/// None: there is nothing to be given back, and nothing is said.
pub async fn text(hub: &Arc<Hub>, handle: &Handle, id: Option<&HandoffId>) -> Option<String> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let published = handle.now();
    let pinned = pins::told(&published.record, PATIENCE / 2).await;
    let handed = published.record.lineage().filter(|h| Some(&h.id) == id);
    let handed = match handed.cloned() {
        Some(handoff) => {
            let read = {
                let handoff = handoff.clone();
                tokio::task::spawn_blocking(move || document(&handoff))
            };
            let read = tokio::time::timeout_at(deadline, read).await;
            let read = read.ok().and_then(Result::ok).flatten();
            read.map(|(path, text)| Handed {
                handoff,
                path,
                text: redact(&text).text.into_owned(),
            })
        }
        None => None,
    };
    let name = published.record.name.to_string();
    let in_flight = handoff::in_flight(hub, handle).await;
    let how = &published.record.how;
    let frame = Around::new(
        &name,
        handed.as_ref(),
        &pinned,
        &in_flight,
        how,
        clock::now(),
    );
    let known = match frame.ledger_budget(handed.as_ref()) {
        Some(budget) => {
            let known = ledger::of_before(hub, handle, Vec::new(), budget);
            tokio::time::timeout_at(deadline, known).await.ok()
        }
        None => None,
    };
    let known = known.and_then(Result::ok);
    if handed.is_none() && known.is_none() {
        return only_pins(&pinned);
    }
    Some(frame.around(handed.as_ref(), known.as_deref()))
}

fn only_pins(pinned: &[String]) -> Option<String> {
    let told = sm_core::pins::told(pinned, BUDGET / 2);
    (!told.is_empty()).then(|| format!("[sm recovery] Your context was just compacted. {told}"))
}

/// A document that this lineage was handed.
struct Handed {
    handoff: Handoff,
    path: String,
    text: String,
}

/// The document as it was handed over: our copy, which nobody changes afterwards.
fn document(handoff: &Handoff) -> Option<(String, String)> {
    let text = crate::handoff::read_kept(Path::new(&handoff.copy)).ok()?;
    let path = match Path::new(&handoff.document).exists() {
        true => handoff.document.clone(),
        false => handoff.copy.clone(),
    };
    (!text.trim().is_empty()).then_some((path, text))
}

/// What stands before and after, and the room between. Pure.
struct Around {
    head: String,
    tail: String,
    room: usize,
}

impl Around {
    fn new(
        name: &str,
        handed: Option<&Handed>,
        pinned: &[String],
        in_flight: &[String],
        how: &How,
        now: Timestamp,
    ) -> Self {
        let mut head = match handed {
            Some(Handed { handoff, path, .. }) => {
                let age = ago(now.since(handoff.prompted_at.unwrap_or(handoff.created_at)));
                format!(
                    "[sm recovery] Your context was just compacted. This context began {age} ago (generation {}) from the handoff document {path}; what it said then follows, and may be out of date.\n\n",
                    handoff.to.unwrap_or(handoff.from).0
                )
            }
            None => "[sm recovery] Your context was just compacted. What sm had written down of it from its transcript follows: what you were told word for word, and the files, commands and names you dealt with.\n\n".to_owned(),
        };
        let told = sm_core::pins::told(pinned, BUDGET / 2);
        if !told.is_empty() {
            head.push_str(&told);
            head.push_str("\n\n");
        }
        let mut tail = String::new();
        if !in_flight.is_empty() {
            tail.push_str("\n\nUnder way now:");
            for line in in_flight {
                tail.push_str(&format!("\n- {line}"));
            }
        }
        tail.push_str(&format!(
            "\n\nEverything since then can be searched: sm archive {name} grep \"keyword\". Before your context is full again, write a new document and {}.",
            how.in_short()
        ));
        let room = BUDGET
            .saturating_sub(head.chars().count())
            .saturating_sub(tail.chars().count());
        Self { head, tail, room }
    }

    /// What the ledger may take. None: too little to say anything.
    fn ledger_budget(&self, handed: Option<&Handed>) -> Option<usize> {
        let budget = match handed {
            Some(handed) => {
                let document = handed.text.trim_end().chars().count();
                let free = self.room.saturating_sub(document);
                let share = free.max(LEDGER_SHARE.min(self.room / 2));
                share.saturating_sub(SINCE.len())
            }
            None => self.room,
        };
        (budget >= LEDGER_LEAST).then_some(budget)
    }

    /// The handed document is what is cut if not everything fits.
    fn around(&self, handed: Option<&Handed>, known: Option<&str>) -> String {
        let known = match (handed, known.map(str::trim_end)) {
            (Some(_), Some(known)) => format!("{SINCE}{known}"),
            (None, Some(known)) => known.to_owned(),
            (Some(_) | None, None) => String::new(),
        };
        let room = self.room.saturating_sub(known.chars().count());
        let body = handed.map_or_else(String::new, |handed| cut(handed, room));
        let mut text = format!("{}{body}{known}{}", self.head, self.tail);
        if text.chars().count() > BUDGET {
            // a list of what is under way that leaves no room at all
            text = text.chars().take(BUDGET).collect();
        }
        text
    }
}

fn cut(handed: &Handed, room: usize) -> String {
    let whole = handed.text.trim_end();
    if whole.chars().count() <= room {
        return whole.to_string();
    }
    let cut = format!("\n[sm: … the rest is in {}]", handed.path);
    let room = room.saturating_sub(cut.chars().count());
    whole.chars().take(room).collect::<String>() + &cut
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
    use sm_core::{Author, Carrier, Course, Failure, Generation, HandoffState, Trigger, TurnId};

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
            in_context: None,
            began_at: Some(Timestamp(0)),
            prompted_at: Some(Timestamp(0)),
            clears: 0,
            relaunches: 0,
            unproven: false,
            before: None,
            entered_at: None,
            stashed: None,
            course: Course::Forward,
            person_wait: None,
            failure: Failure::default(),
            note: String::new(),
            source: String::new(),
        }
    }

    fn said(document: &str, in_flight: &[String]) -> String {
        said_with(document, in_flight, None)
    }

    fn said_with(document: &str, in_flight: &[String], known: Option<&str>) -> String {
        let handed = Handed {
            handoff: handed(),
            path: "/work/notes.md".into(),
            text: document.into(),
        };
        let now = Timestamp(3 * 3_600_000 + 120_000);
        Around::new(
            "api",
            Some(&handed),
            &["never touch prod".to_owned()],
            in_flight,
            &How::Command,
            now,
        )
        .around(Some(&handed), known)
    }

    #[test]
    fn what_is_known_since_stands_after_the_document_and_has_its_share() {
        let text = said_with("# State\nall of it\n", &[], Some("# Handoff\nnewer\n"));
        let since = "all of it\n\n## Since then, up to the compaction\n# Handoff\nnewer\n\nEvery";
        assert!(text.contains(since), "{text}");
        for (size, least) in [(10, 8_000), (6_000, 3_000), (50_000, LEDGER_LEAST)] {
            let handed = Handed {
                handoff: handed(),
                path: "/work/notes.md".into(),
                text: "x".repeat(size),
            };
            let around = Around::new("api", Some(&handed), &[], &[], &How::Command, Timestamp(5));
            let budget = around.ledger_budget(Some(&handed)).unwrap();
            assert!(budget >= least, "{size}: {budget}");
            let text = around.around(Some(&handed), Some(&"y".repeat(budget)));
            assert!(text.chars().count() <= BUDGET);
            assert!(text.contains(&"y".repeat(budget)), "whole");
        }
    }

    #[test]
    fn without_a_document_it_is_what_the_ledger_knows() {
        let around = Around::new(
            "api",
            None,
            &[],
            &["child web is working".into()],
            &How::Command,
            Timestamp(5),
        );
        let text = around.around(None, Some("# Handoff: api\nthe goal\n"));
        assert!(text.starts_with("[sm recovery] Your context was just compacted."));
        assert!(text.contains("the goal\n\nUnder way now:\n- child web is working"));
        assert!(around.ledger_budget(None).unwrap() > 8_500);
    }

    #[test]
    fn it_says_how_old_the_document_is_and_where_the_rest_is() {
        let text = said("# State\nall of it\n", &["child web is working".into()]);
        assert!(text.contains("3 h 2 min ago (generation 2)"), "{text}");
        assert!(text.contains("# State\nall of it\n\nUnder way now:\n- child web is working"));
        assert!(text.contains("sm archive api grep"));
        assert!(text.contains("word for word:\n- never touch prod\n\n# State"));
        assert_eq!(only_pins(&[]), None);
        assert!(only_pins(&["x".repeat(900)]).is_some_and(|text| text.len() < 1100));
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
