//! A person who types under `sm run` while their agent's context is left: nothing is lost.

use std::path::PathBuf;

use sm_testkit::clean::{Record, RecordKind, binary};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

use crate::world::{DEADLINE, World};

const PANE: &str = "person";
const DRAFT: &str = "half a thought";
/// Of 200,000: critical.
const FULL: &str = "TOKENS: 160000";

struct Desk {
    world: World,
    tmux: Tmux,
}

impl Desk {
    /// `sm run claude` with a first prompt that fills its context and waits for a file.
    fn new(knobs: &str) -> Self {
        let mut world = World::with_config("[run]\ndeadline_turns = 0\n");
        if !knobs.is_empty() {
            world.env.set("FAKE_AGENT", knobs);
        }
        let desk = Self {
            tmux: Tmux::new().unwrap(),
            world,
        };
        let prompt = format!("{FULL}\nHOLD: {}", desk.file("go").display());
        let script = "\"$@\"; echo $? > \"$HOME/code\"; exec cat";
        let sm = binary("sm").unwrap();
        let sm = sm.to_string_lossy();
        let argv: Vec<String> = ["sh", "-c", script, "sh", &sm, "run", "claude", &prompt]
            .map(str::to_owned)
            .into();
        let (env, cwd) = (desk.world.env.env(), desk.world.env.project());
        desk.tmux.start(PANE, (100, 30), &cwd, &env, &argv).unwrap();
        desk.given(FULL);
        desk
    }

    fn file(&self, name: &str) -> PathBuf {
        self.world.env.home().join(name)
    }

    fn go(&self) {
        std::fs::write(self.file("go"), "").unwrap();
    }

    fn log(&self) -> String {
        let path = self.file(".claude/handoff/handoff.log");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[track_caller]
    fn logs(&self, text: &str) {
        let there = || self.log().contains(text).then_some(());
        assert!(
            wait_until(DEADLINE, there).is_some(),
            "{text:?} is not logged\n{}",
            self.about()
        );
    }

    #[track_caller]
    fn sees(&self, text: &str) {
        let there = || self.screen().contains(text).then_some(());
        assert!(
            wait_until(DEADLINE, there).is_some(),
            "{text:?} is not to be seen\n{}",
            self.about()
        );
    }

    fn screen(&self) -> String {
        self.tmux.screen(PANE).unwrap_or_default()
    }

    fn types(&self, text: &str) {
        self.tmux.type_text(PANE, text).unwrap();
    }

    fn key(&self, key: &str) {
        self.tmux.key(PANE, key).unwrap();
    }

    /// The prompt that holds this, once an agent has it.
    #[track_caller]
    fn given(&self, part: &str) -> Record {
        let found = || {
            let records = self.world.records();
            let mut prompts = records.into_iter().filter(|r| r.kind == RecordKind::Prompt);
            prompts.find(|record| record.text.contains(part))
        };
        wait_until(DEADLINE, found)
            .unwrap_or_else(|| panic!("no agent was given {part:?}\n{}", self.about()))
    }

    /// The context that took the place of the first.
    #[track_caller]
    fn successor(&self) -> String {
        let next = self.given("Continue from handoff (ID: ").conversation;
        assert_ne!(next, self.given(FULL).conversation);
        next
    }

    fn about(&self) -> String {
        format!(
            "── screen\n{}\n── handoff.log\n{}── given\n{:#?}",
            self.screen().trim_end(),
            self.log(),
            self.world.records()
        )
    }

    fn drafts(&self) -> Vec<String> {
        let folder = self.world.env.sm_home().join("state/drafts");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
            .collect()
    }
}

const WAITS: &str = "the context is left as soon as the person is done writing";

#[test]
fn a_draft_is_waited_for_until_its_turn_is_over() {
    let desk = Desk::new("");
    desk.types(DRAFT);
    desk.sees(DRAFT);
    desk.go();
    desk.logs(WAITS);
    desk.key("Enter");
    let next = desk.successor();
    let said = desk.given(DRAFT);
    assert_eq!(said.text, DRAFT);
    assert_eq!(said.conversation, desk.given(FULL).conversation);
    assert_ne!(said.conversation, next);
    assert!(desk.drafts().is_empty(), "nothing had to be kept");
}

#[test]
fn a_draft_that_is_taken_back_is_not_waited_for_any_longer() {
    let desk = Desk::new("");
    desk.types(DRAFT);
    desk.sees(DRAFT);
    desk.go();
    desk.logs(WAITS);
    for _ in DRAFT.chars() {
        desk.key("BSpace");
    }
    desk.successor();
    assert_eq!(desk.world.times(DRAFT), 0, "{}", desk.about());
}

#[test]
fn a_draft_goes_along_when_nothing_can_wait() {
    let desk = Desk::new("");
    let long = "a second line of it\nand a third\nand a fourth\nand a fifth\nand the last";
    desk.types(DRAFT);
    desk.tmux.paste(PANE, long).unwrap();
    desk.sees("[Pasted text #1 +4 lines]");
    let current = std::fs::read_to_string(desk.file(".claude/.current-session")).unwrap();
    std::fs::write(desk.file(".claude/.restart-session"), current).unwrap();
    desk.logs("a draft in the composer is kept in ");
    let next = desk.successor();
    desk.sees("[Pasted text #1 +4 lines]");
    desk.key("Enter");
    let said = desk.given(DRAFT);
    assert_eq!(said.text, format!("{DRAFT}{long}"));
    assert_eq!(said.conversation, next);
    assert_eq!(desk.drafts(), [format!("{DRAFT}{long}")]);
}

#[test]
fn what_is_typed_while_agents_change_is_for_the_next() {
    let desk = Desk::new("slow_start_ms=2000");
    desk.go();
    desk.logs(" leaves: its context is full");
    desk.types("go on with the printer");
    desk.key("Enter");
    desk.types(DRAFT);
    let next = desk.successor();
    let said = desk.given("go on with the printer");
    assert_eq!(said.text, "go on with the printer");
    assert_eq!(said.conversation, next);
    desk.sees(DRAFT);
    assert_eq!(
        desk.world.times(DRAFT),
        0,
        "not submitted: {}",
        desk.about()
    );
}

#[test]
fn what_was_submitted_before_the_end_of_the_turn_has_its_turn() {
    let desk = Desk::new("");
    desk.types("one more thing");
    desk.sees("one more thing");
    desk.key("Enter");
    desk.sees("queued");
    desk.go();
    let next = desk.successor();
    let said = desk.given("one more thing");
    assert_ne!(said.conversation, next);
    assert_eq!(said.text, "one more thing");
}
