//! Events in any order.

use super::*;

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
