//! Carrying out what the session wants done, after it was journaled: results may get lost.

use super::daemon::Input;
use super::world::{Item, World, tr};
use sm_core::signal::Origin;
use sm_core::{Answer, Effect, Event, KeyOutcome};

impl World {
    pub(super) fn execute(&mut self, effect: Effect) {
        if self.crash_point("before an effect") {
            return;
        }
        match effect {
            Effect::Launch(plan) => self.launch_agent(&plan),
            Effect::Terminate if self.agent.alive() => self.die(Some(143), None),
            Effect::Terminate => {
                let launch = self.daemon.session.record().launch;
                self.terminal_alive = false;
                self.input(5, Input::TerminalGone { launch });
            }
            Effect::StopAgent { launch } => self.stop_agent(launch),
            Effect::Prepare(id) => self.prepare(&id),
            Effect::CloseTerminal => self.terminal_alive = self.agent.alive(),
            Effect::Probe { probe, ours } => {
                self.stats.probes += 1;
                self.find_record();
                let transcript_read = self.read_transcript();
                if self.fault(self.options.faults.probe_lost) {
                    tr!(self, "fault: probe {probe} lost");
                } else {
                    let after = self.delay(1, 8, 1_000);
                    self.input(
                        after,
                        Input::Look {
                            probe,
                            ours,
                            transcript_read,
                        },
                    );
                }
            }
            Effect::Paste {
                flight,
                pastes,
                guard,
            } => {
                self.pounce();
                let text = pastes.concat();
                tr!(self, "paste {text:?}");
                let ok = self.daemon.session.record().may_type(flight)
                    && self.paste(text, guard.as_ref());
                self.result(Event::Pasted { flight, ok });
            }
            Effect::Press { flight, key, guard } => {
                self.pounce();
                let outcome = match self.daemon.session.record().may_type(flight) {
                    true => self.press(key, guard.as_ref()),
                    false => KeyOutcome::Failed,
                };
                tr!(self, "press {key:?}: {outcome:?}");
                self.result(Event::Pressed { flight, outcome });
            }
            Effect::Answer { request, answer } => self.answer(request.0, answer),
            Effect::Mail {
                flight,
                waiter,
                text,
                handing: _,
            } => {
                self.stats.mails += 1;
                match self.mailbox_of(waiter) {
                    Some(at) if self.mailboxes[at].nested => {
                        self.fail("a message was given to a nested agent".into());
                    }
                    Some(at) => {
                        tr!(self, "mail {text:?}");
                        self.mailboxes[at].offer = Some((flight, text));
                        let after = self.delay(1, 10, 500);
                        self.at(after, Item::WaiterOffered { waiter: at });
                    }
                    None => self.input(
                        1,
                        Input::Event(Event::Mailed {
                            flight,
                            waiter,
                            taken: false,
                        }),
                    ),
                }
            }
            Effect::Dismiss { waiter } => {
                if let Some(at) = self.mailbox_of(waiter) {
                    self.mailboxes[at].alive = false;
                    if let Some((flight, _)) = self.mailboxes[at].offer.take() {
                        let taken = false;
                        self.input(
                            1,
                            Input::Event(Event::Mailed {
                                flight,
                                waiter,
                                taken,
                            }),
                        );
                    }
                }
            }
            Effect::Tell { to, message } => {
                self.check_told(&to, &message);
                self.daemon
                    .journal
                    .outbox
                    .retain(|(_, told)| told.id != message.id);
            }
            Effect::Spill { .. } | Effect::Notify(_) | Effect::Record(_) => {}
        }
        self.crash_point("after an effect");
    }

    fn result(&mut self, event: Event) {
        if self.fault(self.options.faults.result_lost) {
            tr!(self, "fault: result lost");
            return;
        }
        let after = self.delay(0, 3, 300);
        self.input(after, Input::Event(event));
    }

    fn answer(&mut self, request: u64, answer: Answer) {
        let Ok(hook) = usize::try_from(request) else {
            return;
        };
        let Some(run) = self.hooks.get(hook) else {
            return; // a waiter's request
        };
        let origin = run.origin;
        self.check_answer(hook, &answer);
        if answer != Answer::Nothing {
            self.stats.answers += 1;
            if origin != Origin::Own {
                self.fail(format!("a foreign hook was answered with {answer:?}"));
                return;
            }
            if self.fault(self.options.faults.answer_lost) {
                tr!(self, "fault: the answer to hook {hook} is lost");
                return; // it gives up by itself
            }
        }
        self.hook_finishes(hook, answer);
    }
}
