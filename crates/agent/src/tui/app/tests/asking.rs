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
    // What was being written is put aside, not lost, so that a letter can answer.
    assert!(
        sim.screen().contains("ctrl+c puts your draft aside"),
        "{}",
        sim.screen()
    );
    assert_eq!(sim.press(Key::Ctrl('c')), []);
    sim.later(QUIET);
    assert!(
        sim.screen()
            .contains("y yes · n no · a always bash:cargo test"),
        "{}",
        sim.screen()
    );
    assert_eq!(sim.press(Key::Enter), []);
    sim.later(QUIET);
    assert_eq!(sim.press(Key::Char('y')), []);
    sim.later(ALONE);
    assert_eq!(sim.tick(), approve(Answer::Once));
    assert!(!sim.screen().contains("Allow"), "{}", sim.screen());
    assert!(sim.screen().contains("❯ yeyyyyyy"), "{}", sim.screen());
}

fn asking() -> Sim {
    let mut sim = Sim::new(80, 16);
    sim.told(Update::State(State::Waiting));
    sim.told(Update::ApprovalWanted {
        call: call("c1", "bash", json!({"command": "cargo test"})),
        wanted: wanted("run `cargo test`"),
    });
    sim
}

fn approve(answer: Answer) -> Vec<Action> {
    sent(Command::Approve {
        call_id: "c1".into(),
        answer,
    })
}

fn instead(text: &str) -> Vec<Action> {
    approve(Answer::No(Some(text.into())))
}

/// What comes of keys with pauses before them (in ms), and of nothing more after them.
fn typed(keys: &[(u64, Key)]) -> Vec<Action> {
    let mut sim = asking();
    let mut actions = Vec::new();
    for (pause, key) in keys {
        sim.later(Duration::from_millis(*pause));
        actions.extend(sim.tick());
        actions.extend(sim.press(key.clone()));
    }
    sim.later(Duration::from_secs(3600));
    actions.extend(sim.tick());
    actions
}

fn keys(first: u64, pause: u64, text: &str) -> Vec<(u64, Key)> {
    text.chars()
        .enumerate()
        .map(|(at, c)| {
            let key = match c {
                '\n' => Key::Enter,
                c => Key::Char(c),
            };
            (if at == 0 { first } else { pause }, key)
        })
        .collect()
}

#[test]
fn only_a_letter_alone_is_an_answer_and_a_text_says_what_to_do_instead() {
    for (first, pause, text, expected) in [
        (500, 0, "y", approve(Answer::Once)),
        (500, 0, "a", approve(Answer::Always)),
        (500, 0, "A", approve(Answer::AlwaysKept)),
        (500, 100, "y\n", approve(Answer::Once)),
        (500, 100, "n\n", approve(Answer::No(None))),
        (500, 900, "n\n", approve(Answer::No(None))),
        // `n` offers to say what instead
        (500, 0, "n", vec![]),
        (500, 900, "n", vec![]),
        (500, 120, "no, use yarn\n", instead("no, use yarn")),
        // sentences, however slowly from the second key on
        (
            500,
            120,
            "stop and use yarn\n",
            instead("stop and use yarn"),
        ),
        (
            9_000,
            650,
            "stop and use yarn\n",
            instead("stop and use yarn"),
        ),
        (
            500,
            5_000,
            "stop and use yarn\n",
            instead("stop and use yarn"),
        ),
        (500, 120, "yarn, please\n", instead("yarn, please")),
        (500, 699, "another way\n", instead("another way")),
        (500, 0, "stop and use yarn", vec![]),
        (500, 0, "ay", vec![]),
        (500, 0, "yy", vec![]),
        // the words for the letters, entered
        (500, 120, "yes\n", approve(Answer::Once)),
        (500, 120, "no\n", approve(Answer::No(None))),
        // nothing counts before it could be read
        (100, 0, "y", vec![]),
        (100, 120, "use yarn\n", instead("use yarn")),
        (500, 0, "\n", vec![]),
    ] {
        assert_eq!(
            typed(&keys(first, pause, text)),
            expected,
            "{text:?} {first} {pause}"
        );
    }
    let paste = |text: &str| Key::Paste(text.into());
    assert_eq!(typed(&[(500, paste("y"))]), []);
    assert_eq!(typed(&[(500, paste("y")), (900, Key::Enter)]), instead("y"));
    assert_eq!(
        typed(&[(500, paste("a")), (50, Key::Enter), (900, paste("y"))]),
        instead("a")
    );
    // What was refused with `n` can still be explained, and a letter is text there.
    let explained: Vec<(u64, Key)> = keys(500, 0, "n")
        .into_iter()
        .chain(keys(900, 120, "a\n"))
        .collect();
    assert_eq!(typed(&explained), instead("a"));
    // Text that is taken back leaves the question as it was.
    let corrected = [
        (500, Key::Char('x')),
        (100, Key::Backspace),
        (500, Key::Char('y')),
    ];
    assert_eq!(typed(&corrected), approve(Answer::Once));
}

#[test]
fn a_paste_that_nothing_marks_as_one_answers_nothing() {
    for (text, later) in [
        ("y\r more", instead("y\n more")),
        ("a\rb\r", instead("a\nb")),
        ("yes\r more", instead("yes\n more")),
        // what stands there is entered by a person
        ("y\r", approve(Answer::Once)),
        ("yes\r", approve(Answer::Once)),
    ] {
        let mut sim = asking();
        sim.later(QUIET);
        let arrival = Arrival::of_read(text.chars().count());
        let mut actions = Vec::new();
        for c in text.chars() {
            let key = if c == '\r' { Key::Enter } else { Key::Char(c) };
            actions.extend(sim.app.press_read(key, arrival, sim.now));
        }
        sim.later(Duration::from_secs(3600));
        actions.extend(sim.tick());
        assert_eq!(actions, [], "{text:?}");
        assert_eq!(sim.press(Key::Enter), later, "{text:?}");
    }
    // Enter is read later, and something with it
    let mut sim = asking();
    sim.later(QUIET);
    assert_eq!(sim.press(Key::Char('y')), []);
    sim.later(Duration::from_millis(10));
    for key in [Key::Enter, Key::Char('m')] {
        assert_eq!(sim.app.press_read(key, Arrival::InBatch, sim.now), []);
    }
    sim.later(Duration::from_secs(3600));
    assert_eq!(sim.tick(), []);
    assert_eq!(sim.press(Key::Enter), instead("y\nm"));
}

#[test]
fn what_was_begun_before_a_question_is_said_as_ever_unless_the_question_was_read() {
    let begun = |pause: u64| {
        let mut sim = Sim::new(80, 16);
        sim.told(Update::State(State::Working));
        sim.types("use yar");
        sim.told(Update::State(State::Waiting));
        sim.told(Update::ApprovalWanted {
            call: call("c1", "bash", json!({"command": "npm i"})),
            wanted: wanted("run `npm i`"),
        });
        sim.types("n");
        sim.later(Duration::from_millis(pause));
        sim.press(Key::Enter)
    };
    assert_eq!(begun(100), sent(Command::Steer("use yarn".into())));
    assert_eq!(begun(900), instead("use yarn"));
}

#[test]
fn a_command_of_ours_at_a_question_is_still_one() {
    let mut sim = asking();
    sim.later(QUIET);
    assert_eq!(sim.says("/quit"), sent(Command::Quit));
    let mut sim = asking();
    sim.later(QUIET);
    assert_eq!(sim.press(Key::Esc), sent(Command::Interrupt));
}

proptest::proptest! {
    #[test]
    fn no_typed_sentence_ever_approves(
        first in 0_u64..10_000,
        letters in proptest::collection::vec((
            proptest::prop_oneof![
                proptest::prelude::Just('y'), proptest::prelude::Just('a'), proptest::prelude::Just('A'),
                proptest::prelude::Just(' '), proptest::char::range('!', '~'),
            ],
            0_u64..700,
        ), 2..20),
        enter in proptest::bool::ANY,
    ) {
        let text: String = letters.iter().map(|(c, _)| *c).collect();
        // The words for the letters are entered as such; an escaped Enter is a line of its own.
        proptest::prop_assume!(!["yes", "always"].contains(&text.trim().to_lowercase().as_str()));
        proptest::prop_assume!(text.trim().chars().count() >= 2);
        let mut typed_keys: Vec<(u64, Key)> =
            letters.iter().map(|(c, pause)| (*pause, Key::Char(*c))).collect();
        if let Some((pause, _)) = typed_keys.first_mut() {
            *pause = first;
        }
        if enter {
            typed_keys.push((100, Key::Enter));
        }
        let approved = typed(&typed_keys).into_iter().find(|action| matches!(
            action,
            Action::Send(Command::Approve { answer, .. }) if !matches!(answer, Answer::No(_))
        ));
        proptest::prop_assert_eq!(approved, None);
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
