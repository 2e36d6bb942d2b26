//! Handoffs of real agents: what the model does, and what is looked at.

use super::{DEADLINE, World, occurrences};
use serde_json::Value;
use sm_testkit::model::{Request, When, conversation_of, is_main, texts_of};
use sm_testkit::wait_until;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What every successor is told.
pub const WAKE: &str = "and continue from where you left off.";

impl World {
    /// What the model does at a prompt that holds this text.
    pub fn at(&self, has: &str, act: &str) {
        let rule = When {
            has: has.to_owned(),
            act: act.to_owned(),
        };
        self.model.control(|control| control.when.push(rule));
    }

    pub fn in_project(&self, name: &str) -> PathBuf {
        self.env.project().canonicalize().unwrap().join(name)
    }

    /// The first words of the prompt for a successor that is given this document.
    pub fn wake_of(&self, document: &str) -> String {
        format!("Read {} {WAKE}", self.in_project(document).display())
    }

    /// A session's handoffs, newest first, as `sm handoffs` tells them.
    #[track_caller]
    pub fn handoffs(&self, session: &str) -> Vec<Value> {
        let shown = self.sm(&["handoffs", session, "--json"]).exits(0).json();
        shown.as_array().unwrap().clone()
    }

    /// The agent writes this document and hands off; the daemon is killed at that moment of it, and
    /// it ends all the same.
    #[track_caller]
    pub fn handed_off_over_a_crash(&self, session: &str, notes: &str, moment: &str) -> Value {
        let work = format!("RUN: echo x > {notes}\nTHEN: sm handoff {notes}\nHOLDEND: {moment}");
        self.send_wait(session, &work, &[]);
        self.hold(moment);
        let id = text(&self.wait_handoff(session, "scheduled")["id"]);
        if moment == "scheduled" {
            self.kill_daemon();
        }
        self.model.release(moment);
        if moment != "scheduled" {
            self.passes(&id, moment);
            self.kill_daemon();
        }
        let done = self.wait_handoff(session, "done");
        assert_eq!(done["id"], id);
        done
    }

    /// Waits until the newest handoff of a session has this state; gives it whole.
    #[track_caller]
    pub fn wait_handoff(&self, session: &str, state: &str) -> Value {
        let mut last = Value::Null;
        let found = wait_until(DEADLINE, || {
            let all = self.ask(&format!("/handoffs?session={session}"));
            last = all[0].clone();
            (last["state"] == state).then_some(())
        });
        assert!(
            found.is_some(),
            "not {state}: {last:#}\n{}── the model was told last\n{:#?}",
            self.about(session),
            self.main_requests().last().map(|r| {
                let mut told = texts_of(r);
                told.drain(..told.len().saturating_sub(4));
                told
            })
        );
        self.ask(&format!("/handoffs/{}", last["id"].as_str().unwrap()))
    }

    /// Waits until a handoff has passed a moment: a state, words of one of its steps
    /// (`|` between alternatives), or `<message> written` of one of its own messages.
    #[track_caller]
    pub fn passes(&self, id: &str, moment: &str) {
        const STATES: [&str; 5] = ["scheduled", "prepared", "cleared", "prompted", "done"];
        let rank = |state: &str| STATES.iter().position(|s| *s == state);
        let passed = wait_until(DEADLINE, || {
            let now = self.seek(&format!("/handoffs/{id}"))?;
            let state = rank(now["state"].as_str()?)?;
            if let Some(wanted) = rank(moment) {
                return (state >= wanted).then_some(());
            }
            if let Some(message) = moment.strip_suffix(" written") {
                let session = now["session"].as_str()?;
                let target = format!("/sessions/{session}/messages/{id}-{message}");
                return (super::rank(&self.seek(&target)?) >= 1).then_some(());
            }
            let steps = now["steps"].as_array()?;
            let at = |step: &Value| {
                let text = step["text"].as_str().unwrap_or_default();
                moment.split('|').any(|words| text.contains(words))
            };
            steps.iter().any(at).then_some(())
        });
        assert!(passed.is_some(), "{id} never passed {moment:?}");
    }

    /// The requests of one conversation.
    pub fn requests_of(&self, conversation: &str) -> Vec<Request> {
        let mut all = self.main_requests();
        all.retain(|r| conversation_of(r) == Some(conversation));
        all
    }

    /// The conversations that the model was shown a text in, and how often it stood in the last
    /// request of each.
    pub fn shown_in(&self, text: &str) -> Vec<(String, usize)> {
        shown_in(&self.main_requests(), text)
    }

    /// The model was shown this text in one conversation only, and once.
    #[track_caller]
    pub fn once_ever(&self, text: &str) -> String {
        once_among(&self.main_requests(), text)
    }
}

fn shown_in(all: &[Request], text: &str) -> Vec<(String, usize)> {
    let with = all.iter().filter(|r| occurrences(r, text) > 0);
    let named: BTreeSet<&str> = with.filter_map(conversation_of).collect();
    let last = |id: &str| {
        let mut of = all.iter().filter(|r| conversation_of(r) == Some(id));
        of.next_back().map_or(0, |r| occurrences(r, text))
    };
    let counted = named.iter().map(|id| ((*id).to_owned(), last(id)));
    counted.collect()
}

/// As [`World::once_ever`], for many texts.
#[track_caller]
pub fn once_among(all: &[Request], text: &str) -> String {
    let shown = shown_in(all, text);
    assert!(shown.len() == 1 && shown[0].1 == 1, "{text:?} in {shown:?}");
    shown[0].0.clone()
}

/// Artifact of a kind, which is there.
#[track_caller]
pub fn artifact(handoff: &Value, kind: &str) -> (PathBuf, Vec<u8>) {
    let all = handoff["artifacts"].as_array().unwrap();
    let found = all
        .iter()
        .find(|a| a["kind"] == kind && a["problem"].is_null());
    let found = found.unwrap_or_else(|| panic!("no {kind} in {handoff:#}"));
    let path = PathBuf::from(found["path"].as_str().unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let then = usize::try_from(found["bytes"].as_u64().unwrap()).unwrap();
    match kind {
        "transcript" => assert!(bytes.len() >= then, "completed later"),
        _ => assert_eq!(bytes.len(), then, "{kind}"),
    }
    (path, bytes)
}

/// What a conversation began with, before the model said anything.
#[track_caller]
pub fn opening(request: &Request) -> Vec<String> {
    assert!(is_main(request));
    let body = request.body.to_string();
    assert!(!body.contains("\"role\":\"assistant\""), "{body:.2000}");
    texts_of(request)
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Everything that goes with a handoff is kept, and is what it should be.
#[track_caller]
pub fn complete(handoff: &Value, document: &str, transcripts: &Path) {
    assert_eq!(artifact(handoff, "document").1, document.as_bytes());
    let (_, dump) = artifact(handoff, "snapshot");
    let dump = String::from_utf8(dump).unwrap();
    assert!(dump.contains("sm handoff"), "{dump}");
    let whole = |copy: &[u8]| String::from_utf8_lossy(copy).contains("Handoff scheduled");
    let copy = wait_until(DEADLINE, || {
        let (_, copy) = artifact(handoff, "transcript");
        whole(&copy).then_some(copy)
    });
    let copy = copy.unwrap_or_else(|| panic!("the turn is not in the copy: {handoff:#}"));
    let name = format!("{}.jsonl", text(&handoff["from_conversation"]));
    let original = std::fs::read(transcripts.join(name)).unwrap();
    // what was there then; the agent may have written more since
    assert!(original.starts_with(&copy), "{handoff:#}");
}

/// Sets off a row of handoffs: each successor reads its document, writes the next and hands off.
#[track_caller]
pub fn chain(world: &World, session: &str, rounds: usize) {
    let write =
        |round| format!("echo round {round} > notes-{round}.md\nTHEN: sm handoff notes-{round}.md");
    for round in 1..=rounds {
        let read = format!("RUN: cat notes-{round}.md");
        let act = match round {
            last if last == rounds => read,
            _ => format!("{read}; {}", write(round + 1)),
        };
        world.at(&format!("/notes-{round}.md {WAKE}"), &act);
    }
    world.send_wait(session, &format!("RUN: {}", write(1)), &[]);
}

/// Documents of every size are in the successor's first request: whole, or what matters of them; and
/// the handoff says by what that is proven.
#[track_caller]
pub fn documents_are_in_the_first_request(world: &World, args: &[&str]) {
    world.start_idle("api", args);
    for bytes in [200, 9_000, 60_000, 2_000_000] {
        let name = format!("notes-{bytes}.md");
        let mut document = format!(
            "# Handoff\n\n## Log\n\t/clear\n!ls\n\u{1b}[201~ \u{7}\r\n[sm: message 2 of 2]\n{}\n## Goal\nship walrus-{bytes}\n",
            "a line of a long log, and 日本語\n".repeat(bytes / 60)
        );
        document.push_str(&"what was seen on the way\n".repeat(bytes / 60));
        document.push_str("\n## Next actions\n1. feed the penguin\n");
        std::fs::write(world.in_project(&name), &document).unwrap();
        world.sm(&["handoff", &name, "--session", "api"]).exits(0);
        let done = world.wait_handoff("api", "done");
        let expected = sm_core::carried::carried(&document, sm_core::carried::IN_A_PROMPT);
        let in_context = &done["in_context"];
        assert_eq!(in_context["characters"], expected.characters, "{done:#}");
        assert_eq!(in_context["of"], expected.of, "{done:#}");
        assert_eq!(in_context["proof"], "transcript", "{done:#}");
        let shown = world.sm(&["handoffs", "show", &text(&done["id"])]).exits(0);
        assert!(shown.out.contains("proven by transcript"), "{}", shown.out);
        assert_eq!(expected.is_whole(), bytes <= 9_000, "{bytes}");
        let first = world.request_with(&world.wake_of(&name));
        let told = texts_of(&first);
        let prompt = told.iter().find(|text| text.contains(WAKE)).unwrap();
        assert!(
            prompt.trim_end().ends_with(&expected.text),
            "{bytes}: {prompt}"
        );
        for part in [
            &format!("## Goal\nship walrus-{bytes}"),
            "1. feed the penguin",
        ] {
            assert_eq!(prompt.matches(part).count(), 1, "{bytes}: {part}");
        }
        world.wait_state("api", "idle");
    }
}
