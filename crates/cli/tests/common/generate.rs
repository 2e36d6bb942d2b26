//! A model writes the document of a handoff: the same on every agent.

use super::handoff::text;
use super::{DEADLINE, World, occurrences};
use sm_testkit::wait_until;
use std::path::Path;

/// What the model is asked for.
const ASKED: &str = "Write a handoff document now";

const DOCUMENT: &str = "## Objective\nNumber the boats.\n\n## Constraints and preferences\nNever sink the ninth one.\n\n## Progress\nEight are counted.\n\n## Decisions\nnone\n\n## Technical state\nharbour_register is whole.\n\n## Next actions\n1. Look for the lighthouse-keeper.";

impl World {
    fn answers(&self, reply: &str) {
        self.model
            .control(|control| control.reply = Some(reply.to_owned()));
    }

    /// A session that has something to hand over.
    fn at_work(&self, args: &[&str]) -> String {
        self.answers("ok");
        self.start_idle("api", args);
        self.send_wait("api", "Number the boats in harbour_register.", &[]);
        text(&self.wait_state("api", "idle")["conversation_id"])
    }

    fn transcript(&self) -> Vec<u8> {
        std::fs::read(Path::new(&text(&self.show("api")["transcript_path"]))).unwrap()
    }

    /// The session is as it was: same conversation, no handoff, and it listens.
    #[track_caller]
    fn is_as_it_was(&self, conversation: &str, transcript: &[u8]) {
        let shown = self.wait_state("api", "idle");
        assert_eq!(shown["generation"], 1);
        assert_eq!(text(&shown["conversation_id"]), conversation);
        assert!(self.handoffs("api").is_empty());
        // the agent may add to it, a while after a turn; nobody else does
        let now = self.transcript();
        assert!(now.starts_with(transcript), "the transcript was rewritten");
        assert!(!String::from_utf8_lossy(&now).contains(ASKED));
        self.answers("ok");
        self.send_wait("api", "Still there?", &[]);
        let told = self.request_with("Still there?");
        assert_eq!(occurrences(&told, ASKED), 0);
    }

    /// `sm handoff --generate`: the model writes, the session goes on from what it wrote.
    #[track_caller]
    pub fn a_generated_document_is_handed_over(&self, args: &[&str], program: &str) {
        let conversation = self.at_work(args);
        let before = self.transcript();
        let source = text(&self.show("api")["transcript_path"]);
        self.answers(DOCUMENT);
        let asked = [
            "handoff",
            "--generate",
            "the ninth boat",
            "--session",
            "api",
        ];
        let ran = self.sm(&asked).exits(0);
        assert!(
            ran.out.contains(&format!("Written by {program} itself")),
            "{}",
            ran.out
        );
        self.answers("ok");
        let done = self.wait_handoff("api", "done");
        let shown = self.wait_state("api", "idle");
        assert_eq!(shown["generation"], 2);
        assert_ne!(text(&shown["conversation_id"]), conversation);
        // asked with the whole conversation and the focus, once
        let request = self.request_with("Additional focus: the ninth boat");
        assert_eq!(
            occurrences(&request, "Number the boats in harbour_register."),
            1
        );
        let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
        assert!(copy.contains("Look for the lighthouse-keeper."), "{copy}");
        assert_eq!(done["author"], "model");
        assert!(text(&done["note"]).contains("Written by"), "{done}");
        // and the conversation itself never saw the question
        let after = std::fs::read(source).unwrap();
        assert!(after.starts_with(&before), "the transcript was rewritten");
        assert!(!String::from_utf8_lossy(&after).contains(ASKED));
    }

    /// A model that writes one line, twice: sm's own document is handed over in its place.
    #[track_caller]
    pub fn a_worthless_document_is_replaced(&self, args: &[&str]) {
        self.at_work(args);
        self.answers("I would rather go on.");
        let asked = ["handoff", "--generate", "--session", "api"];
        let previewed = self.sm(&[&asked[..], &["--preview"]].concat()).exits(0);
        assert!(
            previewed.out.contains("Number the boats"),
            "{}",
            previewed.out
        );
        assert!(
            previewed.err.contains("not fit to go on from"),
            "{}",
            previewed.err
        );
        assert!(self.handoffs("api").is_empty(), "a preview changes nothing");
        let ran = self.sm(&asked).exits(0);
        assert!(ran.out.contains("sm's own document"), "{}", ran.out);
        self.answers("ok");
        let done = self.wait_handoff("api", "done");
        assert_eq!(done["author"], "ledger");
        assert!(
            text(&done["note"]).contains("not fit to go on from"),
            "{done}"
        );
        let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
        assert!(copy.contains("Number the boats"), "{copy}");
        assert!(!copy.contains("rather go on"), "{copy}");
        let told = self.sm(&["handoffs", "api"]).exits(0).out;
        assert!(told.contains("ledger"), "{told}");
    }

    /// A model that wants to use a tool in the place of writing is refused, and then writes.
    #[track_caller]
    pub fn a_tool_is_refused_while_a_document_is_written(&self, args: &[&str]) {
        self.at_work(args);
        self.answers(DOCUMENT);
        let proof = self.in_project("ran");
        let act = format!("RUN: touch {}\nTHENREPLY:", proof.display());
        self.at(ASKED, &act);
        let asked = ["handoff", "--generate", "--session", "api"];
        let ran = self.sm(&asked).exits(0);
        self.model.control(|control| control.when.clear());
        self.answers("ok");
        let done = self.wait_handoff("api", "done");
        let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
        assert!(copy.contains("Look for the lighthouse-keeper."), "{copy}");
        let tried = self.model.requests().into_iter().filter(|request| {
            let body = request.body.to_string();
            body.contains(ASKED) && body.contains("touch ")
        });
        assert!(tried.count() > 0, "it never tried: {}", ran.out);
        assert!(
            !proof.exists(),
            "a tool was run while a document was asked for"
        );
        assert!(!copy.contains("touch "), "{copy}");
    }

    /// Whatever goes wrong while it is written, nothing has happened.
    #[track_caller]
    pub fn a_failed_generation_leaves_the_session_as_it_was(&self, args: &[&str]) {
        let conversation = self.at_work(args);
        let asked = ["handoff", "--generate", "--session", "api"];
        for (act, told) in [("FAIL: 400", "Handoff failed: "), ("SAY: ", "no text")] {
            let before = self.transcript();
            self.model.control(|control| control.when.clear());
            self.answers(" ");
            self.at(ASKED, act);
            let ran = self.sm(&asked).exits(1);
            assert!(ran.err.contains(told), "{act}: {}", ran.err);
            self.model.control(|control| control.when.clear());
            self.is_as_it_was(&conversation, &before);
        }
    }

    /// `sm handoff --cancel` ends the one that writes.
    #[track_caller]
    pub fn a_cancelled_generation_leaves_the_session_as_it_was(&self, args: &[&str]) {
        let conversation = self.at_work(args);
        let before = self.transcript();
        self.at(ASKED, "HOLD: forever");
        let asked = ["handoff", "--generate", "--session", "api"];
        let ran = std::thread::scope(|scope| {
            let writing = scope.spawn(|| self.sm(&asked));
            self.request_with(ASKED);
            // a second one is refused meanwhile
            let second = self.sm(&asked).exits(1);
            assert!(second.err.contains("already"), "{}", second.err);
            let cancelled = self.sm(&["handoff", "--cancel", "--session", "api"]);
            assert!(cancelled.exits(0).out.contains("cancelled"));
            writing.join().unwrap()
        });
        assert!(ran.exits(1).err.contains("Handoff cancelled"));
        self.model.control(|control| control.when.clear());
        self.is_as_it_was(&conversation, &before);
        let left = wait_until(DEADLINE, || {
            let desk = self.sm(&["handoff", "--cancel", "--session", "api"]);
            (desk.code != Some(0)).then_some(())
        });
        assert!(left.is_some(), "somebody still writes");
    }
}
