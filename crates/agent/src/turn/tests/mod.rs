//! Turns as a person would tell them, one event and what it leads to after the other.

use sm_llm::{Assistant, Block, Content, Message, StopReason, ToolCall, ToolResult, Usage};

use super::*;
use crate::approval::{Approvals, Mode, Person};
use crate::host::WAIT_FOR_THE_ANSWER;

struct Talk {
    turn: Turn,
    /// Everything that was appended, which a model must be able to be asked with.
    history: Vec<Message>,
    ticket: Ticket,
}

fn talk() -> Talk {
    let approvals = Approvals::new(Mode::Ask, Person::Here, "/repo".as_ref(), Vec::new());
    Talk {
        turn: Turn::new(approvals, Start::default()),
        history: Vec::new(),
        ticket: Ticket(0),
    }
}

impl Talk {
    fn limit(mut self, limit: u64) -> Self {
        self.turn.set_limit(Some(limit));
        self
    }

    fn unattended(mut self) -> Self {
        self.turn.approvals.person = Person::Nobody;
        self
    }

    /// A step, told in a few words.
    fn step(&mut self, event: Event) -> String {
        let effects = self.turn.step(event, 7);
        let mut told = Vec::new();
        for effect in effects {
            match &effect {
                Effect::Append(message) => self.history.push(message.clone()),
                Effect::Ask(ticket)
                | Effect::Generate { ticket, .. }
                | Effect::Commit { ticket, .. } => self.ticket = *ticket,
                Effect::Want { .. }
                | Effect::Keep(_)
                | Effect::Run(_)
                | Effect::Cancel
                | Effect::Queued { .. }
                | Effect::Returned(_)
                | Effect::Ended(_)
                | Effect::Edit(_)
                | Effect::Handoff { .. }
                | Effect::State(_) => {}
            }
            told.push(words(&effect));
        }
        if self.turn.is_idle() {
            assert_eq!(
                open_calls(&self.history),
                Vec::<String>::new(),
                "idle with open calls"
            );
        }
        told.join("; ")
    }

    fn check(&mut self, event: Event, expected: &str) -> &mut Self {
        let shown = format!("{event:?}");
        assert_eq!(self.step(event), expected, "after {shown}");
        self
    }

    fn prompt(&mut self, text: &str, expected: &str) -> &mut Self {
        self.check(Event::Prompt(text.into()), expected)
    }

    fn says(&mut self, text: &str, tokens: u64, expected: &str) -> &mut Self {
        let event = Event::Answered {
            ticket: self.ticket,
            answer: answer(text, &[], tokens),
            deeds: vec![],
        };
        self.check(event, expected)
    }

    fn calls(&mut self, calls: &[(&str, Deed)], tokens: u64, expected: &str) -> &mut Self {
        let names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
        let event = Event::Answered {
            ticket: self.ticket,
            answer: answer("", &names, tokens),
            deeds: calls.iter().map(|(_, deed)| deed.clone()).collect(),
        };
        self.check(event, expected)
    }

    fn done(&mut self, id: &str, expected: &str) -> &mut Self {
        self.check(Event::ToolDone(result(id)), expected)
    }

    fn approve(&mut self, id: &str, answer: Answer, expected: &str) -> &mut Self {
        let call_id = id.to_owned();
        self.check(Event::Approved { call_id, answer }, expected)
    }

    fn fails(&mut self, why: Unanswered, expected: &str) -> &mut Self {
        let ticket = self.ticket;
        let partial = None;
        let event = Event::NotAnswered {
            ticket,
            why,
            partial,
        };
        self.check(event, expected)
    }

    fn handoff(&mut self, expected: &str) -> &mut Self {
        let (focus, edit) = (None, false);
        self.check(Event::HandoffAsked { focus, edit }, expected)
    }

    fn writes(&mut self, result: Result<&str, Unwritten>, expected: &str) -> &mut Self {
        let result = result.map(str::to_owned);
        let ticket = self.ticket;
        self.check(Event::Written { ticket, result }, expected)
    }

    fn commits(&mut self, result: Result<(), &str>, expected: &str) -> &mut Self {
        let result = match result {
            Ok(()) => Ok(Switched {
                session: "/new.jsonl".into(),
                document: "doc".into(),
                saved_path: None,
            }),
            Err(why) => Err(why.to_owned()),
        };
        if result.is_ok() {
            self.history.clear();
        }
        let ticket = self.ticket;
        self.check(Event::Committed { ticket, result }, expected)
    }
}

fn words(effect: &Effect) -> String {
    match effect {
        Effect::Append(Message::User(user)) => match &user.content {
            Content::Text(text) => format!("user {text}"),
            Content::Blocks(blocks) => match blocks.first() {
                Some(Block::Text { text, .. }) if text == CONTINUE => "user CONTINUE".into(),
                Some(Block::Text { text, .. }) => format!("user {text}"),
                Some(_) | None => "user ?".into(),
            },
        },
        Effect::Append(Message::Assistant(assistant)) => match assistant.stop_reason {
            StopReason::Aborted => format!("broken {}", assistant.text()),
            StopReason::Error => format!("failed {}", assistant.text()),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                let calls: Vec<&str> = assistant.tool_calls().map(|c| c.id.as_str()).collect();
                format!("assistant {}{}", assistant.text(), calls.join(","))
            }
        },
        Effect::Append(Message::ToolResult(result)) => {
            let text = match result.content.first() {
                Some(Block::Text { text, .. }) if text == INTERRUPTED => "interrupted",
                Some(Block::Text { text, .. }) => text.split('.').next().unwrap_or_default(),
                Some(_) | None => "?",
            };
            format!("result {} {text}", result.tool_call_id)
        }
        Effect::Ask(_) => "ask".into(),
        Effect::Want { call, wanted } => format!("want {}: {}", call.id, wanted.what),
        Effect::Keep(rule) => format!("keep {rule}"),
        Effect::Run(call) => format!("run {}", call.id),
        Effect::Cancel => "cancel".into(),
        Effect::Queued { queue, text } => format!("{queue:?} {text}"),
        Effect::Returned(texts) => format!("returned {}", texts.join(",")),
        Effect::Ended(End::Done) => "ended".into(),
        Effect::Ended(End::Interrupted) => "ended interrupted".into(),
        Effect::Ended(End::Failed(why)) => format!("ended: {why}"),
        Effect::Generate { automatic, .. } => format!("generate{}", auto(*automatic)),
        Effect::Edit(document) => format!("edit {document}"),
        Effect::Commit { document, .. } => format!("commit {document}"),
        Effect::Handoff { automatic, outcome } => outcome.text(*automatic),
        Effect::State(State::HandingOff { automatic, .. }) => {
            format!("HandingOff{}", auto(*automatic))
        }
        Effect::State(state) => format!("{state:?}"),
    }
}

fn auto(automatic: bool) -> &'static str {
    if automatic { " automatic" } else { "" }
}

fn answer(text: &str, calls: &[&str], tokens: u64) -> Assistant {
    let texts = Some(text).filter(|t| !t.is_empty()).map(Block::text);
    let calls = calls.iter().map(|id| {
        Block::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "bash".into(),
            arguments: serde_json::Map::default(),
        })
    });
    Assistant {
        content: texts.into_iter().chain(calls).collect(),
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: Usage {
            total_tokens: tokens,
            ..Usage::default()
        },
        stop_reason: StopReason::Stop,
        error_message: None,
        response_id: None,
        timestamp: 0,
    }
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        content: vec![Block::text("ok")],
        details: None,
        is_error: false,
        timestamp: 0,
    }
}

/// Calls that have no result where the next one speaks.
fn open_calls(history: &[Message]) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for message in history {
        match message {
            Message::ToolResult(result) => open.retain(|id| *id != result.tool_call_id),
            Message::Assistant(assistant) => {
                open.extend(assistant.tool_calls().map(|call| call.id.clone()));
            }
            Message::User(_) => {}
        }
    }
    open
}

fn runs(command: &str) -> Deed {
    Deed::Runs(command.into())
}

fn failed(why: &str) -> Unanswered {
    Unanswered::Failed(why.into())
}

#[test]
fn a_prompt_is_answered() {
    talk()
        .prompt("hello", "user hello; ask; Working")
        .says("hi", 10, "assistant hi; ended; Idle");
}

#[test]
fn calls_that_only_read_run_side_by_side() {
    talk()
        .prompt("go", "user go; ask; Working")
        .calls(
            &[("a", Deed::Harmless), ("b", Deed::Harmless)],
            10,
            "assistant a,b; run a; run b",
        )
        .done("b", "result b ok")
        .done("b", "")
        .done("a", "result a ok; ask")
        .says("done", 10, "assistant done; ended; Idle");
}

#[test]
fn what_changes_something_runs_alone_and_after_a_word() {
    talk()
        .prompt("go", "user go; ask; Working")
        .calls(
            &[
                ("a", Deed::Harmless),
                ("b", runs("make it")),
                ("c", Deed::Harmless),
            ],
            10,
            "assistant a,b,c; run a",
        )
        .done("a", "result a ok; want b: run `make it`; Waiting")
        .approve("x", Answer::Once, "")
        .approve("b", Answer::Once, "run b; Working")
        .approve("b", Answer::Once, "")
        .done("b", "result b ok; run c")
        .done("c", "result c ok; ask");
}

#[test]
fn always_is_asked_once_and_no_is_told() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[
                ("a", runs("make it")),
                ("b", runs("make it all")),
                ("c", runs("rm x")),
            ],
            10,
            "assistant a,b,c; want a: run `make it`; Waiting",
        )
        .approve("a", Answer::Always, "run a; Working")
        .done("a", "result a ok; run b")
        .done("b", "result b ok; want c: run `rm x`; Waiting")
        .approve(
            "c",
            Answer::No(Some("leave it".into())),
            "result c the person does not want this; ask; Working",
        )
        .calls(
            &[("d", runs("make more"))],
            10,
            "assistant d; want d: run `make more`; Waiting",
        )
        .approve(
            "d",
            Answer::AlwaysKept,
            "keep bash:make more; run d; Working",
        )
        .done("d", "result d ok; ask");
}

#[test]
fn unattended_a_call_that_needs_a_word_is_refused_and_the_turn_goes_on() {
    let mut talk = talk().unattended();
    talk.prompt("go", "user go; ask; Working");
    let event = Event::Answered {
        ticket: talk.ticket,
        answer: answer("", &["a", "b"], 10),
        deeds: vec![runs("make it"), Deed::Harmless],
    };
    let told = talk.step(event);
    assert!(
        told.starts_with("assistant a,b; result a not allowed to run `make it`"),
        "{told}"
    );
    assert!(told.ends_with("; run b"), "{told}");
    talk.done("b", "result b ok; ask");
}

#[test]
fn steering_goes_with_the_next_request_and_follow_ups_after_the_turn() {
    talk()
        .prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .check(Event::Steer("left".into()), "Steering left")
        .check(Event::Prompt("typed".into()), "FollowUp typed")
        .calls(&[("a", Deed::Harmless)], 10, "assistant a; run a")
        .check(Event::Steer("right".into()), "Steering right")
        .done("a", "result a ok; user left; user right; ask")
        .check(Event::Steer("more".into()), "Steering more")
        .says("hm", 10, "assistant hm; user more; ask")
        .says("done", 10, "assistant done; ended; user later; ask")
        .says("done", 10, "assistant done; ended; user typed; ask")
        .says("done", 10, "assistant done; ended; Idle")
        .check(Event::Steer("idle".into()), "user idle; ask; Working");
}

#[test]
fn an_interrupt_at_any_point_leaves_a_whole_history() {
    // while the model answers
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .check(Event::Interrupt, "cancel")
        .check(Event::Interrupt, "")
        .check(Event::Steer("x".into()), "FollowUp x");
    let event = Event::NotAnswered {
        ticket: talk.ticket,
        why: Unanswered::Cancelled,
        partial: Some(answer("I was say", &["half"], 0)),
    };
    talk.check(
        event,
        "broken I was say; ended interrupted; returned later,x; Idle",
    );
    // the whole answer came at the same moment
    talk.prompt("go", "user go; ask; Working")
        .check(Event::Interrupt, "cancel")
        .calls(
            &[("a", runs("rm x"))],
            10,
            "assistant a; result a interrupted; ended interrupted; Idle",
        );
    // while a tool runs, one is asked about and one waits
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[
                ("a", Deed::Harmless),
                ("b", Deed::Reads("/x/y".into())),
                ("c", runs("ls")),
            ],
            10,
            "assistant a,b,c; run a; want b: read /x/y; Waiting",
        )
        .check(
            Event::Interrupt,
            "cancel; result b interrupted; result c interrupted; Working",
        )
        .approve("b", Answer::Once, "")
        .done("a", "result a ok; ended interrupted; Idle")
        .check(Event::Interrupt, "");
    // while only a person is waited for
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[("a", runs("ls"))],
            10,
            "assistant a; want a: run `ls`; Waiting",
        )
        .check(
            Event::Interrupt,
            "cancel; result a interrupted; ended interrupted; Idle",
        );
}

#[test]
fn a_failure_ends_the_turn_with_its_reason() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .fails(failed("no key"), "ended: no key; returned later; Idle")
        .prompt("go", "user go; ask; Working");
    let event = Event::NotAnswered {
        ticket: talk.ticket,
        why: failed("the stream broke"),
        partial: Some(answer("half", &["a"], 0)),
    };
    talk.check(event, "failed half; ended: the stream broke; Idle");
}

#[test]
fn a_late_answer_changes_nothing() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working");
    let old = Event::Answered {
        ticket: talk.ticket,
        answer: answer("late", &[], 1),
        deeds: vec![],
    };
    talk.says("hi", 1, "assistant hi; ended; Idle")
        .check(old.clone(), "")
        .prompt("again", "user again; ask; Working")
        .check(old, "");
}

#[test]
fn a_call_of_an_answer_that_was_cut_does_not_run() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working");
    let mut cut = answer("", &["a"], 10);
    cut.stop_reason = StopReason::Length;
    let event = Event::Answered {
        ticket: talk.ticket,
        answer: cut,
        deeds: vec![runs("rm -r /")],
    };
    let told = talk.step(event);
    assert!(
        told.starts_with("assistant a; result a not run: the answer was cut"),
        "{told}"
    );
    assert!(told.ends_with("; ask"), "{told}");
}

/// A talk of one turn.
fn met() -> Talk {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .says("ok", 50, "assistant ok; ended; Idle");
    talk
}

#[test]
fn nothing_is_handed_off_before_there_is_something() {
    talk()
        .handoff("Nothing to hand off (no messages yet)")
        .prompt("go", "user go; ask; Working")
        .fails(failed("x"), "ended: x; Idle")
        .handoff("Nothing to hand off (no messages yet)");
}

#[test]
fn a_handoff_waits_for_the_answer() {
    let mut talk = met();
    talk.prompt("go", "user go; ask; Working")
        .handoff(WAIT_FOR_THE_ANSWER)
        .calls(&[("a", Deed::Harmless)], 10, "assistant a; run a")
        .handoff(WAIT_FOR_THE_ANSWER);
}

#[test]
fn input_typed_meanwhile_is_said_in_the_new_session() {
    met()
        .handoff("generate; HandingOff")
        .prompt("one", "NextSession one")
        .check(Event::Steer("two".into()), "NextSession two")
        .writes(Ok("doc"), "commit doc")
        .commits(
            Ok(()),
            "New session started with handoff context; user one; ask; Working",
        )
        .says("ok", 5, "assistant ok; ended; user two; ask")
        .says("ok", 5, "assistant ok; ended; Idle");
}

#[test]
fn there_is_one_handoff_at_a_time_and_none_after_it_was_cancelled() {
    let mut talk = met();
    talk.handoff("generate; HandingOff")
        .handoff("A handoff is already being written (esc to cancel).");
    let first = talk.ticket;
    talk.check(Event::Interrupt, "cancel; Handoff cancelled; Idle");
    let late = |ticket| Event::Written {
        ticket,
        result: Ok("late".into()),
    };
    talk.check(late(first), "")
        .handoff("generate; HandingOff")
        .check(late(first), "")
        .writes(Ok("doc"), "commit doc")
        .commits(Ok(()), "New session started with handoff context; Idle");
}

#[test]
fn every_outcome_is_told_as_what_it_is_and_what_was_typed_is_not_lost() {
    for (result, told) in [
        (
            Unwritten::Empty,
            "Handoff failed: the model returned no text",
        ),
        (Unwritten::Cancelled, "Handoff cancelled"),
        (Unwritten::Failed("401".into()), "Handoff failed: 401"),
    ] {
        met()
            .handoff("generate; HandingOff")
            .prompt("typed", "NextSession typed")
            .writes(Err(result), &format!("{told}; user typed; ask; Working"));
    }
    met()
        .handoff("generate; HandingOff")
        .writes(Ok("doc"), "commit doc")
        .commits(Err("disk full"), "Handoff failed: disk full; Idle")
        .prompt("go", "user go; ask; Working");
}

#[test]
fn a_document_can_be_edited_before_it_counts() {
    let mut talk = met();
    let wanted = Event::HandoffAsked {
        focus: None,
        edit: true,
    };
    talk.check(Event::Edited(Some("x".into())), "")
        .check(wanted.clone(), "generate; HandingOff")
        .check(Event::Edited(Some("too early".into())), "")
        .writes(Ok("doc"), "edit doc")
        .check(Event::Edited(None), "Handoff cancelled; Idle")
        .check(wanted, "generate; HandingOff")
        .writes(Ok("doc"), "edit doc")
        .check(Event::Edited(Some("better".into())), "commit better")
        .commits(Ok(()), "New session started with handoff context; Idle");
}

#[test]
fn a_full_context_is_left_after_the_turn() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .says("ok", 100, "assistant ok; ended; Idle")
        .prompt("go", "user go; ask; Working")
        .check(Event::FollowUp("later".into()), "FollowUp later")
        .says(
            "ok",
            101,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        )
        .writes(Ok("doc"), "commit doc")
        .commits(Ok(()), "Auto-handoff completed; user later; ask; Working")
        .says("ok", 20, "assistant ok; ended; Idle");
}

#[test]
fn a_cancelled_automatic_handoff_is_tried_again_before_the_next_prompt() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .says(
            "ok",
            101,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        )
        .check(Event::Interrupt, "cancel; Auto-handoff cancelled; Idle")
        .prompt("next", "generate automatic; HandingOff automatic")
        .writes(Ok("doc"), "commit doc")
        .commits(Ok(()), "Auto-handoff completed; user next; ask; Working")
        .says("ok", 5, "assistant ok; ended; Idle");
}

#[test]
fn a_failed_automatic_handoff_is_a_warning_and_the_turn_proceeds() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .says(
            "ok",
            101,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        )
        .writes(
            Err(Unwritten::Failed("500".into())),
            "Auto-handoff failed: 500; Idle",
        )
        .prompt("next", "generate automatic; HandingOff automatic")
        .writes(
            Err(Unwritten::Empty),
            "Auto-handoff failed: the model returned no text; user next; ask; Working",
        )
        .says("ok", 101, "assistant ok; ended; Idle");
}

#[test]
fn a_context_that_fills_up_in_the_middle_of_a_turn_is_left_there() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .calls(&[("a", Deed::Harmless)], 60, "assistant a; run a")
        .done("a", "result a ok; ask")
        .calls(&[("b", Deed::Harmless)], 101, "assistant b; run b")
        .done("b", "result b ok; generate automatic; HandingOff automatic")
        .check(Event::Steer("and this".into()), "NextSession and this")
        .writes(Ok("doc"), "commit doc")
        .commits(
            Ok(()),
            "Auto-handoff completed; user CONTINUE; user and this; ask; Working",
        )
        // full from the first answer on: leaving it again would not help
        .calls(&[("c", Deed::Harmless)], 150, "assistant c; run c")
        .done("c", "result c ok; ask")
        .says(
            "ok",
            150,
            "assistant ok; ended; generate automatic; HandingOff automatic",
        );
}

#[test]
fn a_handoff_that_fails_in_the_middle_lets_the_turn_go_on() {
    talk()
        .limit(100)
        .prompt("go", "user go; ask; Working")
        .calls(&[("a", Deed::Harmless)], 60, "assistant a; run a")
        .done("a", "result a ok; ask")
        .calls(&[("b", Deed::Harmless)], 101, "assistant b; run b")
        .done("b", "result b ok; generate automatic; HandingOff automatic")
        .check(
            Event::Interrupt,
            "cancel; Auto-handoff cancelled; ask; Working",
        )
        .calls(&[("c", Deed::Harmless)], 102, "assistant c; run c")
        .done("c", "result c ok; ask")
        .says("ok", 102, "assistant ok; ended; Idle");
}

#[test]
fn what_no_longer_fits_is_handed_over_or_said_clearly() {
    let too_long = || Unanswered::TooLong("the context is too long".into());
    let mut talk_with = met().limit(1000);
    talk_with
        .prompt("go", "user go; ask; Working")
        .fails(too_long(), "generate automatic; HandingOff automatic")
        .writes(Ok("doc"), "commit doc")
        .commits(
            Ok(()),
            "Auto-handoff completed; user CONTINUE; ask; Working",
        );
    met().prompt("go", "user go; ask; Working").fails(
        too_long(),
        "ended: the context is too long; /handoff goes on in a new session with what matters of this one; Idle",
    );
}

/// Whatever comes in whatever order: an idle agent has a whole history, and there is never more
/// than one question under way.
#[test]
fn any_order_of_events_leaves_a_whole_history() {
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    for _ in 0..2000 {
        let mut talk = talk().limit(100);
        let mut names = 0;
        let mut known: Vec<String> = Vec::new();
        for _ in 0..40 {
            let ticket = Ticket(talk.ticket.0.saturating_sub(random(2)));
            let id = |known: &[String], at: u64| {
                let at = usize::try_from(at).unwrap_or_default();
                known
                    .get(at % known.len().max(1))
                    .cloned()
                    .unwrap_or_default()
            };
            let at = random(1000);
            let event = match random(14) {
                0 => Event::Prompt("p".into()),
                1 => Event::Steer("s".into()),
                2 => Event::FollowUp("f".into()),
                3 => Event::Interrupt,
                4 | 5 => {
                    let count = random(4);
                    let calls: Vec<String> = (0..count).map(|n| format!("c{names}-{n}")).collect();
                    names += 1;
                    known.clone_from(&calls);
                    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
                    let deeds = (0..count).map(|n| {
                        if (at + n) % 2 == 0 {
                            Deed::Harmless
                        } else {
                            runs("x")
                        }
                    });
                    Event::Answered {
                        ticket,
                        answer: answer("t", &calls, random(150)),
                        deeds: deeds.collect(),
                    }
                }
                6 => Event::NotAnswered {
                    ticket,
                    why: failed("f"),
                    partial: None,
                },
                7 => Event::NotAnswered {
                    ticket,
                    why: Unanswered::Cancelled,
                    partial: Some(answer("h", &["zz"], 0)),
                },
                8 => Event::Approved {
                    call_id: id(&known, at),
                    answer: Answer::Once,
                },
                9 => Event::Approved {
                    call_id: id(&known, at),
                    answer: Answer::No(None),
                },
                10 => Event::ToolDone(result(&id(&known, at))),
                11 => Event::HandoffAsked {
                    focus: None,
                    edit: at % 2 == 0,
                },
                12 => Event::Written {
                    ticket,
                    result: Ok("doc".into()),
                },
                _ => Event::Edited((at % 3 > 0).then(|| "doc".into())),
            };
            // `step` itself looks at the history whenever the agent is idle.
            let told = talk.step(event);
            assert!(
                told.matches("ask").count() + told.matches("generate").count() <= 1,
                "{told}"
            );
            if told.contains("commit") {
                talk.history.clear();
                let result = Ok(Switched {
                    session: "/n".into(),
                    document: "d".into(),
                    saved_path: None,
                });
                talk.step(Event::Committed {
                    ticket: talk.ticket,
                    result,
                });
            }
        }
    }
}

fn told(text: &str, how: Told) -> Event {
    let text = text.to_owned();
    Event::Told { text, how }
}

#[test]
fn what_sm_hands_over_is_said_whatever_becomes_of_the_turn() {
    let mut talk = talk();
    // idle, then with the next request, then after the turn
    talk.check(told("go", Told::Prompt), "user go; ask; Working")
        .check(told("left", Told::Steer), "Steering left")
        .check(told("later", Told::Prompt), "FollowUp later")
        .calls(&[("a", Deed::Harmless)], 10, "assistant a; run a")
        .done("a", "result a ok; user left; ask")
        .says("done", 10, "assistant done; ended; user later; ask")
        .says("done", 10, "assistant done; ended; Idle");
    // a turn that is broken off returns to the editor only what came from there
    talk.prompt("go", "user go; ask; Working")
        .check(told("ours", Told::Steer), "Steering ours")
        .check(Event::Steer("theirs".into()), "Steering theirs")
        .check(Event::Interrupt, "cancel")
        .fails(
            Unanswered::Cancelled,
            "ended interrupted; returned theirs; user ours; ask",
        )
        .fails(Unanswered::Failed("offline".into()), "ended: offline; Idle");
}

#[test]
fn what_is_urgent_ends_the_turn_and_begins_the_next() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .check(told("waits", Told::Prompt), "FollowUp waits")
        .check(told("now", Told::Interrupt), "FollowUp now; cancel")
        .fails(Unanswered::Cancelled, "ended interrupted; user now; ask")
        .says("done", 10, "assistant done; ended; user waits; ask")
        .says("done", 10, "assistant done; ended; Idle")
        .check(told("idle", Told::Interrupt), "user idle; ask; Working");
}

#[test]
fn what_is_urgent_does_not_answer_for_a_person_who_is_asked() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .calls(
            &[("a", runs("make it"))],
            10,
            "assistant a; want a: run `make it`; Waiting",
        )
        .check(told("now", Told::Interrupt), "Steering now")
        .approve("a", Answer::Once, "run a; Working")
        .done("a", "result a ok; user now; ask");
}

#[test]
fn what_is_handed_over_during_a_handoff_is_for_the_next_session() {
    let mut talk = talk();
    talk.prompt("go", "user go; ask; Working")
        .says("done", 10, "assistant done; ended; Idle");
    let began = talk.step(Event::HandoffAsked {
        focus: None,
        edit: false,
    });
    assert!(began.contains("HandingOff"), "{began}");
    talk.check(told("next", Told::Interrupt), "NextSession next");
    assert!(!talk.turn.is_idle(), "the document is still written");
}
