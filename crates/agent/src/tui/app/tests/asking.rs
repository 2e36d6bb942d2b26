//! Questions to the person, and what counts as an answer.

use super::*;

#[test]
fn nothing_typed_before_or_while_a_question_appears_answers_it() {
    let mut sim = Sim::new(60, 16);
    sim.told(Update::State(State::Working));
    sim.types("ye");
    let call = call("c1", "bash", json!({"command": "cargo test"}));
    let question = Update::ApprovalWanted {
        call: call.clone(),
        wanted: wanted("run `cargo test`"),
    };
    // Keys read before it was drawn.
    sim.app.told(question, sim.now);
    assert_eq!(sim.app.press(Key::Char('y'), sim.now), []);
    sim.draw();
    // And while the person is still typing.
    for _ in 0..5 {
        sim.later(QUIET / 2);
        assert_eq!(sim.press(Key::Char('y')), []);
    }
    assert!(sim.screen().contains("❯ yeyyyyyy"), "{}", sim.screen());
    assert!(
        sim.screen()
            .contains("Allow to run `cargo test`?\n  cargo test"),
        "{}",
        sim.screen()
    );
    sim.later(QUIET);
    assert!(
        sim.screen()
            .contains("y yes · n no · a always bash:cargo test"),
        "{}",
        sim.screen()
    );
    assert_eq!(sim.press(Key::Enter), []);
    assert_eq!(sim.press(Key::Char('x')), []);
    let approve = |answer| Command::Approve {
        call_id: "c1".into(),
        answer,
    };
    assert_eq!(sim.press(Key::Char('y')), sent(approve(Answer::Once)));
    assert!(!sim.screen().contains("Allow"), "{}", sim.screen());
    for (key, expected) in [
        ('a', Answer::Always),
        ('A', Answer::AlwaysKept),
        ('n', Answer::No(None)),
    ] {
        sim.told(Update::ApprovalWanted {
            call: call.clone(),
            wanted: wanted("run `cargo test`"),
        });
        sim.later(QUIET);
        assert_eq!(sim.press(Key::Char(key)), sent(approve(expected)));
    }
}

#[test]
fn a_long_change_is_shown_whole_before_it_is_asked_about() {
    let mut sim = Sim::new(60, 12);
    let text: String = (0..40).map(|n| format!("line {n}\n")).collect();
    sim.told(Update::ApprovalWanted {
        call: call("c1", "write", json!({"path": "a.txt", "content": text})),
        wanted: wanted("write a.txt"),
    });
    let all = sim.all();
    for n in 0..40 {
        assert!(all.contains(&format!("  +line {n}\n")), "{n}: {all}");
    }
    assert!(
        sim.screen()
            .contains("Allow to write a.txt?\n  (all of it is above)"),
        "{}",
        sim.screen()
    );
}
