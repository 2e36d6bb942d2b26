//! What waits is told: the command or question of a dialog, by hook or by record.

use super::*;

fn call(tool: &str, text: &str) -> ToolCall {
    ToolCall {
        tool: tool.into(),
        text: text.into(),
    }
}

fn asks(text: &str) -> Signal {
    Signal::PersonNeeded {
        need: PersonNeed::Permission("Bash".into()),
        call: Some(call("Bash", text)),
    }
}

fn called(id: &str, text: &str) -> Fact {
    Fact::ToolCalled {
        id: id.into(),
        call: call("Bash", text),
    }
}

fn returned(id: &str) -> Fact {
    Fact::ToolReturned { id: id.into() }
}

fn notices(outcome: &Outcome) -> Vec<&str> {
    let texts = outcome.effects.iter().filter_map(|effect| match effect {
        Effect::Notify(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    texts.collect()
}

impl Bench {
    /// Its status file says so, and no more.
    fn shows_dialog(&mut self) -> Outcome {
        let waiting = Activity::Waiting(PersonNeed::Permission(String::new()));
        let status = screen(Composer::Hidden, waiting).status.unwrap();
        self.on(Event::Status(status))
    }
    fn why(&self) -> &str {
        &self.session.record().why
    }
    fn pending(&self) -> Vec<&str> {
        let pending = &self.session.record().calls.pending;
        pending.iter().map(|call| call.text.as_str()).collect()
    }
}

#[test]
fn a_dialogs_command_is_in_the_state_and_in_the_notice() {
    let mut b = Bench::working();
    let outcome = b.hook(asks("rm -rf build"));
    assert_eq!(b.why(), "it asks for permission (Bash): rm -rf build");
    assert_eq!(
        notices(&outcome),
        [
            "api waits for you: it asks for permission (Bash): rm -rf build. Answer it with: sm attach api"
        ]
    );
    assert_eq!(b.pending(), ["rm -rf build"]);
    // a restart forgets nothing of it
    b.recovers();
    assert_eq!(b.pending(), ["rm -rf build"]);
    b.hook(Signal::ToolsFinished);
    assert_eq!((b.state(), b.pending()), ("working", vec![]));
}

#[test]
fn a_question_is_told_in_its_words() {
    let mut b = Bench::working();
    b.hook(Signal::PersonNeeded {
        need: PersonNeed::Question,
        call: Some(call("AskUserQuestion", "Which database?")),
    });
    assert_eq!(b.why(), "it asks a question: Which database?");
    b.hook(asks(&"x".repeat(5_000)));
    assert!(b.why().chars().count() < 300, "a sentence stays short");
}

/// The record names the call as soon as it is written, which may be before the hook comes.
#[test]
fn a_question_that_the_record_names_first_is_none_about_a_permission() {
    let mut b = Bench::working();
    b.wait(3_000);
    b.shows_dialog();
    b.on(Event::Facts(vec![Fact::ToolCalled {
        id: "1".into(),
        call: call("AskUserQuestion", "Which database?"),
    }]));
    let outcome = b.hook(Signal::PersonNeeded {
        need: PersonNeed::Question,
        call: Some(call("AskUserQuestion", "Which database?")),
    });
    assert_eq!(b.why(), "it asks a question: Which database?");
    assert_eq!(
        b.session.record().state,
        crate::State::Waiting(PersonNeed::Question)
    );
    assert!(notices(&outcome).is_empty(), "it was told");
}

#[test]
fn a_source_with_fewer_words_takes_none_away_and_one_with_more_adds_them() {
    let mut b = Bench::working();
    b.wait(3_000);
    b.shows_dialog();
    assert_eq!(b.why(), "it asks for permission");
    let since = b.session.record().since;
    let outcome = b.hook(asks("make"));
    assert_eq!(b.why(), "it asks for permission (Bash): make");
    assert_eq!(
        notices(&outcome),
        ["api waits for you: it asks for permission (Bash): make. Answer it with: sm attach api"],
        "now that it is known what it asks"
    );
    let outcome = b.hook(Signal::PersonNeeded {
        need: PersonNeed::Permission(String::new()),
        call: None,
    });
    assert!(notices(&outcome).is_empty(), "the same dialog is told once");
    assert!(notices(&b.wait(2_000)).is_empty());
    assert_eq!(b.why(), "it asks for permission (Bash): make");
    assert_eq!(b.session.record().since, since);
}

#[test]
fn without_a_hook_the_record_says_what_waits() {
    let mut b = Bench::working();
    b.on(Event::Facts(vec![
        called("1", "ls"),
        returned("1"),
        called("2", "make install"),
    ]));
    b.wait(3_000);
    let outcome = b.shows_dialog();
    assert_eq!(b.why(), "it asks for permission (Bash): make install");
    assert_eq!(notices(&outcome).len(), 1, "it is known at once");
    // the hook that comes late is about the same dialog
    assert!(notices(&b.hook(asks("make install"))).is_empty());
    assert_eq!(b.pending(), ["make install"]);
}

#[test]
fn a_record_that_is_read_later_gives_the_dialog_its_words() {
    let mut b = Bench::working();
    b.wait(3_000);
    b.shows_dialog();
    let outcome = b.on(Event::Facts(vec![
        called("1", "ls"),
        returned("1"),
        called("2", "make"),
    ]));
    assert_eq!(b.why(), "it asks for permission (Bash): make");
    let [told] = notices(&outcome)[..] else {
        panic!("{outcome:?}");
    };
    assert!(told.contains("(Bash): make. Answer"), "{told}");
    assert!(notices(&b.wait(2_000)).is_empty());
}

#[test]
fn a_dialog_of_which_nothing_is_known_is_told_all_the_same() {
    let mut b = Bench::working();
    b.wait(3_000);
    assert!(notices(&b.shows_dialog()).is_empty(), "its hook may follow");
    assert_eq!(b.state(), "waiting", "that is known at once");
    let due = b.session.next_deadline().unwrap();
    assert!(due.since(b.now) <= 1_000, "{due:?}");
    assert!(notices(&b.wait(500)).is_empty());
    let told = "api waits for you: it asks for permission. Answer it with: sm attach api";
    assert_eq!(notices(&b.wait(600)), [told]);
    // words that come later are for whoever looks
    assert!(notices(&b.hook(asks("make"))).is_empty());
    assert_eq!(b.why(), "it asks for permission (Bash): make");
}

#[test]
fn a_dialog_that_is_answered_before_anybody_was_told_needs_nobody() {
    let mut b = Bench::working();
    b.wait(3_000);
    b.shows_dialog();
    assert!(notices(&b.hook(Signal::ToolsFinished)).is_empty());
    assert_eq!(b.state(), "working");
    assert!(notices(&b.wait(2_000)).is_empty());
}

#[test]
fn a_dialog_that_is_still_to_be_told_survives_a_restart() {
    let mut b = Bench::working();
    b.wait(3_000);
    let outcome = b.shows_dialog();
    assert_eq!(outcome.persist, Persist::Now);
    assert!(notices(&b.recovers()).is_empty());
    let told = "api waits for you: it asks for permission. Answer it with: sm attach api";
    let outcome = b.wait(1_000);
    assert_eq!(notices(&outcome), [told]);
    assert_eq!(outcome.persist, Persist::Now);
    b.recovers();
    assert!(notices(&b.wait(2_000)).is_empty(), "told once");
}

#[test]
fn a_first_run_dialog_is_told_at_once() {
    let mut b = Bench::new();
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    let outcome = b.hook(Signal::PersonNeeded {
        need: PersonNeed::FirstRun("trust".into()),
        call: None,
    });
    assert_eq!(notices(&outcome).len(), 1, "{outcome:?}");
}

#[test]
fn nothing_is_guessed_where_two_calls_are_open() {
    let mut b = Bench::working();
    b.on(Event::Facts(vec![called("1", "ls"), called("2", "rm x")]));
    b.wait(3_000);
    b.shows_dialog();
    assert_eq!(b.why(), "it asks for permission");
}

#[test]
fn a_second_dialog_is_told_and_takes_over_when_the_first_is_answered() {
    let mut b = Bench::working();
    b.on(Event::Facts(vec![
        called("1", "first"),
        called("2", "second"),
    ]));
    b.hook(asks("first"));
    let outcome = b.hook(asks("second"));
    assert_eq!(
        notices(&outcome),
        ["api waits for you: it asks for permission (Bash): second. Answer it with: sm attach api"]
    );
    assert_eq!(b.why(), "it asks for permission (Bash): first (and 1 more)");
    b.on(Event::Facts(vec![returned("1")]));
    assert_eq!(b.why(), "it asks for permission (Bash): second");
    assert!(notices(&b.hook(asks("second"))).is_empty());
}

#[test]
fn the_newest_call_of_the_turn_is_what_it_does() {
    let latest = |b: &Bench| {
        let latest = b.session.record().calls.latest.clone();
        latest.map(|call| call.text)
    };
    let mut b = Bench::working();
    b.on(Event::Facts(vec![called("1", "ls"), called("2", "make")]));
    assert_eq!(latest(&b).as_deref(), Some("make"));
    b.stops();
    assert_eq!(latest(&b), None);
    // a record that is read again is of a turn that is over
    b.on(Event::Facts(vec![called("1", "ls")]));
    assert_eq!(latest(&b), None);
}
