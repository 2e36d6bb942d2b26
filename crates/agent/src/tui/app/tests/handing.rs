//! A handoff on the screen.

use super::*;

#[test]
fn handoff_is_completed_and_its_argument_hinted() {
    let mut sim = Sim::new(60, 12);
    sim.types("/hand");
    assert!(
        sim.screen().contains("› /handoff  go on in a new"),
        "{}",
        sim.screen()
    );
    sim.press(Key::Tab);
    assert!(
        sim.screen().contains("❯ /handoff  [focus instructions]"),
        "{}",
        sim.screen()
    );
    let wanted = Command::Handoff {
        focus: Some("the parser".into()),
        edit: false,
    };
    assert_eq!(sim.says("the parser"), sent(wanted));
    assert!(!sim.screen().contains("/handoff"), "the editor is clear");
}

#[test]
fn outcomes_of_a_handoff_are_told_apart() {
    let done = HandoffOutcome::Done {
        document: "d".into(),
        saved_path: Some("/x/handoff.md".into()),
        session: "/x/s.jsonl".into(),
    };
    for (automatic, outcome, expected) in [
        (
            false,
            HandoffOutcome::Nothing,
            "! Nothing to hand off (no messages yet)",
        ),
        (
            false,
            HandoffOutcome::Busy(WAIT_FOR_THE_ANSWER),
            "! Wait for the current response",
        ),
        (false, HandoffOutcome::Cancelled, "· Handoff cancelled"),
        (true, HandoffOutcome::Cancelled, "· Auto-handoff cancelled"),
        (
            false,
            HandoffOutcome::Empty,
            "✗ Handoff failed: the model returned no text",
        ),
        (
            false,
            HandoffOutcome::Failed("key refused".into()),
            "✗ Handoff failed: key refused",
        ),
        (
            true,
            HandoffOutcome::Failed("key refused".into()),
            "! Auto-handoff failed: key refused",
        ),
        (
            false,
            done.clone(),
            "· New session started with handoff context\n· saved as /x/handoff.md",
        ),
        (true, done, "· Auto-handoff completed"),
    ] {
        let mut sim = Sim::new(60, 12);
        sim.told(Update::Handoff { automatic, outcome });
        assert!(sim.all().contains(expected), "{expected}\n{}", sim.all());
    }
}

#[test]
fn the_loader_shows_the_document_growing_and_each_attempt() {
    let mut sim = Sim::new(60, 14);
    let handing = |attempt| {
        Update::State(State::HandingOff {
            goal: crate::turn::Goal::NextSession,
            automatic: false,
            attempt,
        })
    };
    sim.told(handing(1));
    sim.told(Update::HandoffText("# Objective\nShip the parser".into()));
    sim.later(Duration::from_secs(3));
    let screen = sim.screen();
    assert!(
        screen.contains("Generating handoff… (esc to cancel) 3s"),
        "{screen}"
    );
    assert!(screen.contains("  Ship the parser"), "{screen}");
    sim.told(handing(2));
    let screen = sim.screen();
    assert!(screen.contains("(esc to cancel) 3s, attempt 2"), "{screen}");
    assert!(!screen.contains("Ship the parser"), "{screen}");
    assert_eq!(sim.press(Key::Esc), sent(Command::CancelHandoff));
    // What is typed meanwhile is for the new session.
    assert_eq!(sim.says("go on"), sent(Command::Prompt("go on".into())));
    sim.told(Update::Queued {
        queue: Queue::NextSession,
        text: "go on".into(),
    });
    assert!(
        sim.screen().contains("in the new session: go on"),
        "{}",
        sim.screen()
    );
    assert!(sim.screen().contains("1 queued"), "{}", sim.screen());
    sim.told(Update::State(State::Idle));
    sim.told(Update::Rebuilt(view()));
    sim.told(Update::UserMessage("go on".into()));
    assert!(!sim.screen().contains("queued"), "{}", sim.screen());
    assert!(
        sim.all().ends_with(&sim.screen().trim_end().to_owned()) || sim.all().contains("❯ go on")
    );
}

#[test]
fn automatic_handoffs_say_so() {
    let mut sim = Sim::new(60, 12);
    sim.told(Update::State(State::HandingOff {
        goal: crate::turn::Goal::NextSession,
        automatic: true,
        attempt: 1,
    }));
    assert!(
        sim.screen().contains("Auto-handoff… (esc to cancel)"),
        "{}",
        sim.screen()
    );
    assert_eq!(sim.press(Key::Esc), sent(Command::CancelHandoff));
}
