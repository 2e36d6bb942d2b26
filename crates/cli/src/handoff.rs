//! How people are told of handoffs. Pure: values come in, text goes out.

use jiff::Timestamp;
use sm_core::Hold;
use sm_daemon::api::types::{HandoffView, OpenHandoffView, SessionView};

use crate::text::{Look, Tone, duration, one_line};

/// What people are told of a handoff.
pub trait Told {
    /// More is going to happen.
    fn is_open(&self) -> bool;
    fn tone(&self) -> Tone;
    /// `1→2`.
    fn generations(&self) -> String;
    /// From the end of the turn until the successor had its prompt.
    fn took(&self) -> Option<String>;
    /// One that has ended, for a line about its session.
    fn ended_line(&self, look: &Look) -> String;
}

impl Told for HandoffView {
    fn is_open(&self) -> bool {
        matches!(
            self.state.as_str(),
            "scheduled" | "prepared" | "cleared" | "prompted"
        )
    }

    fn tone(&self) -> Tone {
        match self.state.as_str() {
            "scheduled" | "prepared" | "cleared" | "prompted" => Tone::Busy,
            "done" => Tone::Good,
            "rolled_back" | "abandoned" | "refused" => Tone::Bad,
            "replaced" | "cancelled" => Tone::Dim,
            _ => Tone::Plain,
        }
    }

    fn generations(&self) -> String {
        let to = self
            .to_generation
            .map_or_else(|| "-".to_owned(), |to| to.to_string());
        format!("{}→{to}", self.from_generation)
    }

    fn took(&self) -> Option<String> {
        self.took_ms.map(|ms| span(ms.max(0)))
    }

    fn ended_line(&self, look: &Look) -> String {
        let at = self.done_at.as_deref().unwrap_or(&self.created_at);
        format!(
            "{} {}, generation {} (sm handoffs show {})",
            look.paint(self.tone(), &one_line(&self.state)),
            look.ago(at),
            self.generations(),
            one_line(&self.id)
        )
    }
}

/// One that has not ended, for a line about its session.
pub fn open_line(look: &Look, open: &OpenHandoffView, session: &SessionView) -> String {
    format!(
        "{}: {} (begun {}; sm handoffs show {})",
        look.paint(Tone::Busy, &one_line(&open.state)),
        waits_for(open, session),
        look.ago(&open.created_at),
        one_line(&open.id)
    )
}

/// Why it has not ended yet.
fn waits_for(open: &OpenHandoffView, session: &SessionView) -> String {
    let state = open.state.as_str();
    let name = one_line(&session.name);
    if matches!(session.state.as_str(), "lost" | "exited") {
        // Others may have its name by now.
        return format!("goes on after: sm restore {}", one_line(&session.id));
    }
    if let Some(why) = &open.waits_for_person {
        let why = one_line(why);
        return format!("waits for a person: {why} (sm attach {name})");
    }
    let waits = match (state, session.state.as_str()) {
        ("scheduled", "waiting") => {
            return format!("waits for a person's answer (sm attach {name})");
        }
        ("scheduled", "compacting") => "waits until the agent has compacted its context",
        ("scheduled", "idle" | "handing_off") => "the turn is over; saves what goes with it",
        ("scheduled", _) => "waits for the end of the turn",
        ("prepared", _) => "leaves the old context",
        ("cleared", _) => "gives the successor its prompt",
        ("prompted", _) => "the successor is in its first turn; messages follow after it",
        _ => return String::new(),
    };
    // What keeps its own commands from being typed, such as a draft.
    match &session.queue.held_reason {
        Some(why) if session.queue.held > 0 && why != Hold::HandingOff.explain() => {
            format!("{waits}: {}", one_line(why))
        }
        Some(_) | None => waits.to_owned(),
    }
}

/// Milliseconds from one time to another.
pub fn milliseconds(from: &str, to: &str) -> Option<i64> {
    let (from, to): (Timestamp, Timestamp) = (from.parse().ok()?, to.parse().ok()?);
    Some(
        to.as_millisecond()
            .saturating_sub(from.as_millisecond())
            .max(0),
    )
}

/// "0.4 s", "12 s", "3 min".
pub fn span(milliseconds: i64) -> String {
    match milliseconds {
        ..10_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => duration(milliseconds / 1000),
    }
}

/// "830", "83.2k", "1.2M".
pub fn tokens(count: u64) -> String {
    match count {
        ..1000 => count.to_string(),
        1000..999_950 => format!("{:.1}k", count as f64 / 1000.0),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::commands::ls::tests::session;
    use crate::text::tests::look;
    use sm_daemon::api::types::{FailedHandoffView, InContextView};

    pub fn failed(state: &str) -> FailedHandoffView {
        FailedHandoffView {
            id: "ho-1a2b".into(),
            state: state.into(),
            reason: "the successor could not be given its prompt".into(),
            at: "2026-03-01T11:50:00Z".into(),
            document: "/data/handoffs/ho-1a2b/document.md".into(),
        }
    }

    /// One that is under way.
    pub fn open(state: &str) -> OpenHandoffView {
        OpenHandoffView {
            id: handoff().id,
            state: state.into(),
            created_at: handoff().created_at,
            waits_for_person: None,
        }
    }

    /// One that is done.
    pub fn handoff() -> HandoffView {
        HandoffView {
            id: "ho-1a2b".into(),
            session: "1a2b3c4d".into(),
            state: "done".into(),
            trigger: "agent".into(),
            note: None,
            author: "agent".into(),
            carrier: "clear".into(),
            from_generation: 1,
            to_generation: Some(2),
            document: "/home/ann/src/api/notes.md".into(),
            from_conversation: None,
            copy: "/data/handoffs/1a2b/document.md".into(),
            folder: "/data/handoffs/1a2b".into(),
            given: Some("/home/ann/src/api/notes.md".into()),
            artifacts: vec![],
            steps: vec![],
            tokens_before: Some(83_200),
            tokens_after: Some(830),
            created_at: "2026-03-01T11:50:00Z".into(),
            prompted_at: Some("2026-03-01T11:50:05.2Z".into()),
            done_at: Some("2026-03-01T11:50:12.345Z".into()),
            in_context: Some(InContextView {
                characters: 6412,
                of: 6412,
                proof: Some("transcript".to_owned()),
                text: "in context, 6,412 of 6,412 characters, proven by transcript".to_owned(),
            }),
            took_ms: Some(1230),
            waits_for_person: None,
            prompt: None,
        }
    }

    #[test]
    fn what_an_open_handoff_waits_for() {
        for (state, agent, held, expected) in [
            (
                "scheduled",
                "working",
                None,
                "waits for the end of the turn",
            ),
            (
                "scheduled",
                "waiting",
                None,
                "waits for a person's answer (sm attach api)",
            ),
            (
                "scheduled",
                "handing_off",
                None,
                "the turn is over; saves what goes with it",
            ),
            (
                "scheduled",
                "lost",
                None,
                "goes on after: sm restore 1a2b3c4d",
            ),
            ("prepared", "handing_off", None, "leaves the old context"),
            (
                "prepared",
                "handing_off",
                Some("a draft is there"),
                "leaves the old context: a draft is there",
            ),
            (
                "cleared",
                "handing_off",
                Some(Hold::HandingOff.explain()),
                "gives the successor its prompt",
            ),
            (
                "prompted",
                "working",
                None,
                "the successor is in its first turn; messages follow after it",
            ),
            ("from_the_future", "working", None, ""),
        ] {
            let mut api = session("api");
            api.state = agent.into();
            api.queue.held = usize::from(held.is_some());
            api.queue.held_reason = held.map(str::to_owned);
            assert_eq!(waits_for(&open(state), &api), expected, "{state} {agent}");
            let mut stuck = open(state);
            stuck.waits_for_person = Some("it asks for permission (Bash)".into());
            let told = waits_for(&stuck, &api);
            match agent {
                "lost" => assert_eq!(told, expected),
                _ => assert_eq!(
                    told,
                    "waits for a person: it asks for permission (Bash) (sm attach api)"
                ),
            }
        }
    }

    #[test]
    fn a_handoff_in_a_line() {
        let mut api = session("api");
        api.state = "working".into();
        assert!(!handoff().is_open());
        assert_eq!(
            open_line(&look(), &open("scheduled"), &api),
            "scheduled: waits for the end of the turn (begun 10 min ago; sm handoffs show ho-1a2b)"
        );
        assert_eq!(
            handoff().ended_line(&look()),
            "done 9 min ago, generation 1→2 (sm handoffs show ho-1a2b)"
        );
        assert_eq!(handoff().took().as_deref(), Some("1.2 s"));
    }

    #[test]
    fn spans_and_tokens() {
        for (ms, shown) in [
            (0, "0.0 s"),
            (449, "0.4 s"),
            (9_999, "9.9 s"),
            (10_000, "10 s"),
            (185_000, "3 min"),
        ] {
            assert_eq!(span(ms), shown);
        }
        for (count, shown) in [
            (0, "0"),
            (999, "999"),
            (83_249, "83.2k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
        ] {
            assert_eq!(tokens(count), shown);
        }
    }
}
