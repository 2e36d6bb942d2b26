//! What broke in earlier systems that did this job, as directed schedules of the simulation. The
//! number is that of the failure mode; those that are not about sessions and messages are tested elsewhere.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{claude, settle, tools, world};
use sm_core::ids::Process;
use sm_core::message::{Mode, NewMessage, Sender};
use sm_core::signal::{Activity, HookCall, Origin, PersonNeed, Signal, StatusReading};
use sm_core::{
    AgentKind, ConversationId, Event, EventId, MessageId, MessageState, SessionId, State,
};
use sm_testkit::sim::{Act, Stage, World};

fn from_boss(no: u32, mode: Mode) -> NewMessage {
    NewMessage {
        id: MessageId::new(format!("m{no}")).unwrap(),
        from: Sender::Session {
            id: SessionId::new("boss").unwrap(),
            name: "boss".into(),
        },
        text: format!("task <{no}>"),
        mode,
        raw: false,
        notify: true,
        expires_at: None,
    }
}

/// Goes on step by step, looking at the world after every one.
fn watch(world: &mut World, ms: i64, mut look: impl FnMut(&World)) {
    world.run_until(ms, |w| {
        look(w);
        false
    });
}

#[test]
fn fm01_a_stop_notice_belongs_to_its_turn() {
    let mut w = claude().idle();
    w.send_as(from_boss(0, Mode::Sequential));
    w.run_for(5_000);
    assert_eq!(w.notices(), 1);
    w.prompt("something of a person's");
    w.run_for(5_000);
    let w = settle(w);
    assert_eq!(
        w.notices(),
        1,
        "a turn nobody asked about is told to nobody"
    );
}

#[test]
fn fm02_a_late_hook_of_the_old_context_does_not_make_the_new_one_idle() {
    let mut w = claude().working(tools(1, 100));
    w.with_faults(|f| f.hook_delayed = 1000); // from now on hooks come up to 3 s late
    w.act(Act::Clear);
    assert!(w.run_until(10_000, |w| w.agent().stage == Stage::Idle
        && w.agent().current == 1));
    w.faults_over();
    w.plan_turn(tools(1, 20_000));
    w.prompt("new work");
    w.run_for(300);
    watch(&mut w, 8_000, |w| assert_eq!(w.state(), &State::Working));
    assert_eq!(w.session().record().generation.0, 2);
    settle(w);
}

#[test]
fn fm03_the_first_stop_after_a_clear_is_not_skipped() {
    let mut w = claude().idle();
    w.prompt("old work");
    w.run_for(3_000);
    w.act(Act::Clear);
    w.run_for(1_000);
    w.prompt("new work");
    assert!(w.run_until(2_000, |w| w.state() == &State::Working));
    assert!(w.run_until(3_000, |w| w.state() == &State::Idle));
    assert_eq!(w.session().record().why, "the turn has ended");
    settle(w);
}

#[test]
fn fm04_there_is_no_false_idle_right_after_a_dispatch() {
    let mut w = claude().idle();
    w.plan_turn(tools(2, 3_000));
    let m = w.send("dispatch", Mode::Sequential);
    assert!(w.run_until(5_000, |w| w.word(m) == "submitted"));
    watch(&mut w, 5_000, |w| assert_eq!(w.state(), &State::Working));
    settle(w);
}

#[test]
fn fm05_the_first_characters_are_not_lost() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).idle();
        w.send("every character of it\n  counts", Mode::Sequential);
        let w = settle(w);
        assert_eq!(w.said(), ["every character of it\n  counts"]);
        assert_eq!(w.stats().escapes, 0);
    }
}

#[test]
fn fm06_an_enter_that_is_dropped_is_pressed_again_and_nothing_pasted_again() {
    let mut w = claude().idle();
    w.with_faults(|f| f.enter_swallowed = 1000);
    let m = w.send("hello", Mode::Sequential);
    w.run_for(6_000);
    assert_eq!((w.composer().as_str(), w.word(m)), ("hello", "written"));
    w.faults_over();
    let w = settle(w);
    assert_eq!((w.stats().pastes, w.arrived(m)), (1, 1));
    assert!(w.stats().enters > 1);
}

#[test]
fn fm07_a_receipt_says_submitted_only_when_it_is() {
    let mut w = claude().idle();
    w.with_faults(|f| f.enter_swallowed = 1000);
    let m = w.send("hello", Mode::Sequential);
    watch(&mut w, 60_000, |w| {
        let receipt = w.receipt(m).unwrap();
        assert!(!receipt.reached_agent(), "{receipt:?}");
    });
    w.faults_over();
    let w = settle(w);
    assert_eq!(w.word(m), "consumed");
}

#[test]
fn fm08_a_half_typed_line_is_neither_sent_nor_merged_nor_lost() {
    // with a mailbox the message goes round the composer, without one it waits
    for (agent, waits) in [(AgentKind::Claude, false), (AgentKind::Codex, true)] {
        let mut w = world(agent).idle();
        w.act(Act::Type("please DO NOT delete the prod".into()));
        let m = w.send("hi", Mode::Sequential);
        watch(&mut w, 30_000, |w| {
            assert_eq!(w.composer(), "please DO NOT delete the prod")
        });
        if waits {
            assert_eq!(w.word(m), "held");
            assert!(
                w.receipt(m)
                    .unwrap()
                    .reason()
                    .unwrap()
                    .contains("half-typed")
            );
        } else {
            assert_eq!(w.arrived(m), 1);
        }
        w.act(Act::Submit);
        let w = settle(w);
        assert_eq!(w.arrived(m), 1);
        assert!(
            w.said()
                .contains(&"please DO NOT delete the prod".to_string())
        );
    }
}

#[test]
fn fm09_messages_of_all_modes_at_once_neither_double_nor_mix() {
    let mut w = claude().working(tools(6, 400));
    let modes = [Mode::Sequential, Mode::Important, Mode::Urgent];
    let sent: Vec<usize> = (0..12)
        .map(|at| {
            w.run_for(150);
            w.send(&format!("text number {at};"), modes[at % 3])
        })
        .collect();
    let w = settle(w);
    for m in sent {
        assert_eq!((w.arrived(m), w.word(m)), (1, "consumed"), "message {m}");
    }
}

#[test]
fn fm10_without_any_hook_messages_still_flow() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).idle();
        w.prompt("a first turn, so that its record is known");
        w.run_for(4_000);
        w.with_faults(|f| f.hook_lost = 1000);
        let m = w.send("hello", Mode::Sequential);
        assert!(
            w.run_until(60_000, |w| w.word(m) == "consumed"),
            "{}",
            w.word(m)
        );
        assert_eq!(w.arrived(m), 1);
        w.faults_over();
        settle(w);
    }
}

#[test]
fn fm10_without_any_notification_the_turns_end_is_found_in_time() {
    let mut w = claude().working(tools(1, 500));
    w.with_faults(|f| {
        f.hook_lost = 1000;
        f.notice_lost = 1000;
    });
    let m = w.send("hello", Mode::Sequential);
    assert!(
        w.run_until(60_000, |w| w.word(m) == "consumed"),
        "{}",
        w.word(m)
    );
    w.faults_over();
    settle(w);
}

#[test]
fn fm13_nothing_is_typed_during_a_compaction() {
    let mut w = claude().idle();
    w.act(Act::Compact);
    w.run_for(20);
    assert_eq!(w.state(), &State::Compacting);
    let m = w.send("a reminder", Mode::Urgent);
    watch(&mut w, 10_000, |w| {
        if w.agent().stage == Stage::Compact {
            assert_eq!(
                (w.stats().pastes, w.stats().escapes, w.stats().enters),
                (0, 0, 0)
            );
        }
    });
    let w = settle(w);
    assert_eq!(w.arrived(m), 1);
    assert_eq!(w.session().record().compactions, 1);
}

#[test]
fn fm16_a_dead_daemon_does_not_stall_the_agent() {
    let mut w = claude().idle();
    w.plan_turn(tools(3, 100));
    w.prompt("work");
    w.crash();
    // six hooks; each gives up at once or after a quarter of a second
    let done = w.run_until(4_000, |w| w.agent().stage == Stage::Idle);
    assert!(done, "{:?}", w.agent().stage);
    settle(w);
}

#[test]
fn fm18_a_working_agent_is_spoken_to_without_its_screen() {
    let mut w = claude().working(tools(3, 300));
    let important = w.send("look at this", Mode::Important);
    let sequential = w.send("and then that", Mode::Sequential);
    let w = settle(w);
    assert_eq!((w.arrived(important), w.arrived(sequential)), (1, 1));
    assert_eq!(
        (w.stats().pastes, w.stats().enters, w.stats().escapes),
        (0, 0, 0)
    );
}

#[test]
fn fm20_a_message_around_a_clear_goes_into_the_new_context() {
    for ms in [0, 5, 20, 35, 60, 150] {
        let mut w = claude().idle();
        w.prompt("old work");
        w.run_for(3_000);
        w.act(Act::Clear);
        w.run_for(ms);
        let m = w.send("for the new one", Mode::Sequential);
        let w = settle(w);
        assert_eq!(w.arrived(m), 1);
        assert_eq!(
            w.said(),
            ["for the new one"],
            "sent {ms} ms after the clear"
        );
    }
}

#[test]
fn fm22_killed_between_text_and_enter() {
    let mut w = claude().idle();
    let m = w.send("hello", Mode::Sequential);
    assert!(w.run_until(2_000, |w| w.composer() == "hello"));
    w.crash();
    let w = settle(w);
    assert_eq!((w.arrived(m), w.stats().pastes), (1, 1));
}

#[test]
fn fm27_the_status_of_another_process_is_not_the_sessions() {
    let mut w = claude().working(tools(1, 60_000));
    w.run_for(10_000);
    let reading = StatusReading {
        process: Process {
            pid: 101,
            start: 999,
        }, // the same pid, another life
        conversation: Some(ConversationId::new("c9").unwrap()),
        activity: Activity::Idle,
        at: Some(w.now()),
    };
    w.feed(Event::Status(reading));
    assert_eq!(w.state(), &State::Working);
    assert_eq!(w.session().record().generation.0, 1);
    settle(w);
}

#[test]
fn fm28_messages_queued_for_the_old_context_reach_the_new_one() {
    let mut w = claude().idle();
    w.act(Act::Question); // a dialog keeps them waiting
    let first = w.send("first", Mode::Sequential);
    let second = w.send("second", Mode::Sequential);
    w.run_for(3_000);
    assert_eq!((w.word(first), w.word(second)), ("held", "held"));
    w.act(Act::Answer { approve: true });
    w.act(Act::Clear);
    let w = settle(w);
    assert_eq!((w.arrived(first), w.arrived(second)), (1, 1));
    assert_eq!(w.session().record().generation.0, 2);
    let order = w.said().concat();
    assert!(
        order.find("first").unwrap() < order.find("second").unwrap(),
        "{order}"
    );
}

#[test]
fn fm36_no_key_reaches_an_open_dialog_and_the_owner_is_told() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        for mode in [Mode::Sequential, Mode::Important, Mode::Urgent] {
            let mut plan = tools(2, 200);
            plan.batches[0].dialog = true;
            let mut w = world(agent).working(plan);
            assert!(w.run_until(3_000, |w| w.agent().dialog.is_some()));
            w.run_for(100);
            let m = w.send("hello", mode);
            w.run_for(120_000);
            let need = PersonNeed::Permission("Bash".into());
            assert_eq!(w.state(), &State::Waiting(need));
            assert_eq!(
                (w.stats().pastes, w.stats().enters, w.stats().escapes),
                (0, 0, 0)
            );
            assert!(matches!(w.receipt(m), Some(MessageState::Held { .. })));
            assert_eq!(w.stats().calls_for_a_person, 1);
            w.act(Act::Answer { approve: true });
            let w = settle(w);
            assert_eq!(w.arrived(m), 1);
        }
    }
}

#[test]
fn fm36_a_dialog_that_opens_between_the_look_and_the_key_gets_no_key() {
    for ms in 0..60 {
        let mut w = claude().idle();
        let m = w.send("hello", Mode::Sequential);
        w.act_later(ms, Act::Question);
        w.act_later(9_000, Act::Answer { approve: true });
        let w = settle(w); // the world itself fails on a key in a dialog
        assert_eq!(w.arrived(m), 1, "a dialog after {ms} ms");
    }
}

#[test]
fn fm37_every_end_of_a_turn_ends_in_idle() {
    type End = fn(&mut World);
    let ends: [(&str, End); 3] = [
        ("interrupt", |w| w.act_later(400, Act::Escape)),
        ("denial", |w| {
            w.act_later(3_000, Act::Answer { approve: false })
        }),
        ("api error", |_| {}),
    ];
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        for (name, end) in ends {
            for all_lost in [false, true] {
                let mut plan = tools(1, 5_000);
                plan.batches[0].dialog = name == "denial";
                plan.api_error = name == "api error";
                let mut w = world(agent).working(plan);
                end(&mut w);
                if all_lost {
                    w.with_faults(|f| {
                        f.hook_lost = 1000;
                        f.notice_lost = 1000;
                    });
                }
                assert!(
                    w.run_until(10_000, |w| w.agent().stage == Stage::Idle),
                    "{name}"
                );
                let found = w.run_until(60_000, |w| w.state() == &State::Idle);
                assert!(
                    found,
                    "{agent:?}, {name}, all lost: {all_lost}: {:?}",
                    w.state()
                );
                w.faults_over();
                settle(w);
            }
        }
    }
}

#[test]
fn fm39_hooks_of_another_codex_session_are_not_the_sessions() {
    let mut w = world(AgentKind::Codex).working(tools(1, 30_000));
    w.run_for(3_000);
    for (at, origin) in [Origin::Nested, Origin::Unknown].into_iter().enumerate() {
        w.feed(Event::Hook(HookCall {
            id: EventId::new(format!("other{at}")).unwrap(),
            at: w.now(),
            conversation: Some(ConversationId::new("other-thread").unwrap()),
            origin,
            request: None,
            signal: Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
        }));
        assert_eq!(w.state(), &State::Working, "{origin:?}");
    }
    settle(w);
}

// ── what agents and terminals make of a text

#[test]
fn a_composer_that_shows_something_else_for_ever_wedges_nobody() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).idle();
        w.with_faults(|f| f.draws_otherwise = 1000);
        let first = w.send("nobody recognises this", Mode::Sequential);
        w.run_for(10_000);
        assert_eq!((w.arrived(first), w.word(first)), (0, "written"));
        let story = w.story();
        assert!(
            story.contains("the composer shows something else"),
            "{story}"
        );
        let second = w.send("and this waits behind it", Mode::Sequential);
        assert!(
            w.run_until(90_000, |w| w.word(first) == "failed"),
            "{}",
            w.story()
        );
        w.run_for(20_000);
        match agent {
            // beside what stands in the composer
            AgentKind::Claude => assert_eq!((w.arrived(second), w.word(second)), (1, "consumed")),
            _ => assert_eq!((w.arrived(second), w.word(second)), (0, "held")),
        }
        w.faults_over();
        w.act(Act::Erase);
        let w = settle(w);
        assert_eq!((w.arrived(first), w.arrived(second)), (0, 1));
    }
}

#[test]
fn a_prompt_of_which_the_agent_strips_characters_is_given_once() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).idle();
        w.with_faults(|f| f.strips = 1000);
        let m = w.send(
            "RUN\u{fe0f}: echo\u{34f} ran\u{e0041} >> ran.txt\u{e0100}",
            Mode::Sequential,
        );
        w.run_for(60_000);
        assert_eq!(w.word(m), "consumed", "{}", w.story());
        let given = w.said().iter().filter(|text| text.contains("ran.txt"));
        assert_eq!(given.count(), 1);
        let story = w.story();
        assert!(story.contains("removed 4 invisible characters"), "{story}");
    }
}
