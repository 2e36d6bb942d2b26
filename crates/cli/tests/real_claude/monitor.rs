//! How full Claude Code's context is, and what it is told of it while it works.

use crate::common::{DEADLINE, World, occurrences};
use crate::{FREE, claude, closing};
use serde_json::Value;
use sm_testkit::model::{Request, texts_of};
use sm_testkit::wait_until;

/// What every alert begins with.
pub const ALERT: &str = "[sm context] Context at ";

impl World {
    /// From the next answer on the model says that it read so many tokens, of 200,000.
    pub fn usage(&self, tokens: u64) {
        self.model.control(|control| {
            control.input_tokens = tokens;
            control.cache_read_input_tokens = 0;
            control.cache_creation_input_tokens = 0;
        });
    }

    pub fn context(&self, session: &str) -> Value {
        self.sm(&["context", session, "--json"]).exits(0).json()
    }

    /// Waits until the gauge stands here.
    #[track_caller]
    pub fn wait_tokens(&self, session: &str, tokens: u64) -> Value {
        let at = wait_until(DEADLINE, || {
            let report = self.context(session);
            (report["tokens"] == tokens).then_some(report)
        });
        at.unwrap_or_else(|| {
            panic!(
                "the gauge is not at {tokens}: {:#}\n{}",
                self.context(session),
                self.about(session)
            )
        })
    }

    /// What the session was told of its context, in order.
    pub fn alerts(&self, session: &str) -> Vec<Value> {
        let all = self.ask(&format!("/sessions/{session}/messages?all=true"));
        let mut all = all.as_array().cloned().unwrap_or_default();
        all.retain(|m| {
            m["text"]
                .as_str()
                .unwrap_or_default()
                .starts_with("[sm context] ")
        });
        all
    }

    /// The whole percentages of the alerts.
    #[track_caller]
    pub fn levels(&self, session: &str) -> Vec<u64> {
        let percent = |alert: &Value| {
            let rest = alert["text"].as_str().unwrap().strip_prefix(ALERT)?;
            rest.split_once('%').unwrap().0.parse().ok()
        };
        self.alerts(session).iter().filter_map(percent).collect()
    }

    #[track_caller]
    pub fn wait_levels(&self, session: &str, wanted: &[u64]) {
        let there = wait_until(DEADLINE, || (self.levels(session) == wanted).then_some(()));
        assert!(
            there.is_some(),
            "{:?} instead of {wanted:?}\n{}",
            self.levels(session),
            self.about(session)
        );
    }

    /// A turn in which the context becomes so full, and in which the agent is told.
    #[track_caller]
    pub fn fills(&self, session: &str, tokens: u64, levels: &[u64]) {
        let name = format!("gate-{tokens}-{}", levels.len());
        let gate = self.gate(&name);
        self.wait_state(session, "idle");
        self.usage(tokens);
        self.send_wait(session, &format!("RUN: read l < {name}\nTHEN: true"), &[]);
        gate.wait_for_reader();
        self.wait_levels(session, levels);
        gate.open();
        self.wait_state(session, "idle");
        let last = self.alerts(session).pop().unwrap();
        let told = self.wait_message(session, last["id"].as_str().unwrap(), "consumed");
        assert_eq!(told["way"], "hook_answer", "{told}");
    }

    /// Waits for the request of a main conversation after `seq` others.
    #[track_caller]
    pub fn request_after(&self, seq: u64) -> Request {
        let is_next = |r: &Request| sm_testkit::model::is_main(r) && r.seq > seq;
        let found = self.model.wait_for_request(is_next, DEADLINE);
        found.expect("one more request")
    }

    pub fn last_seq(&self) -> u64 {
        self.model.requests().last().map_or(0, |r| r.seq)
    }
}

/// The alerts that a request shows the model.
pub fn shown(request: &Request) -> Vec<String> {
    let all = texts_of(request);
    all.into_iter().filter(|t| t.contains(ALERT)).collect()
}

#[test]
fn alerts_arrive_inside_the_running_turn_and_nothing_is_typed() {
    let Some(world) = claude("alerts_arrive_inside_the_running_turn_and_nothing_is_typed") else {
        return;
    };
    world.start_idle("api", &FREE);
    let gates = ["one", "two", "three", "four"].map(|name| world.gate(name));
    let [one, two, three, four] = &gates;
    world.usage(40_000);
    let turn = "RUN: read l < one\nTHEN: read l < two\nTHEN: read l < three\nTHEN: read l < four\nHOLDEND: end";
    world.send_wait("api", turn, &[]);
    one.wait_for_reader();
    let report = world.wait_tokens("api", 40_000);
    assert_eq!(report["used_percentage"], 20.0);
    assert_eq!(report["window"], 200_000);
    assert_eq!(report["usable"], 180_000);

    // (its status line rounds: 99,000 would be 50 %)
    world.usage(98_000);
    one.open();
    two.wait_for_reader();
    world.wait_tokens("api", 98_000);
    assert_eq!(world.levels("api"), [0; 0], "not reached");

    world.usage(100_000); // reached means at or above
    let seq = world.last_seq();
    two.open();
    three.wait_for_reader();
    assert_eq!(shown(&world.request_after(seq)), [""; 0]);
    let report = world.wait_tokens("api", 100_000);
    assert_eq!(report["used_percentage"], 50.0);
    world.wait_levels("api", &[50]);
    let listed = world.sm(&["ls"]).exits(0).out;
    assert!(listed.contains("50% #####----- 100k/200k"), "{listed}");

    world.usage(140_000);
    let seq = world.last_seq();
    three.open();
    let warned = world.request_after(seq);
    let said = shown(&warned);
    assert_eq!(said.len(), 1, "{said:?}");
    for part in [
        "Context at 50% (100,000 tokens, 100,000 left). Consider writing a handoff doc",
        "sm handoff --template",
        "<system-reminder>",
    ] {
        assert!(said[0].contains(part), "{}", said[0]);
    }
    four.wait_for_reader();
    world.wait_tokens("api", 140_000);
    world.wait_levels("api", &[50, 70]);
    let seq = world.last_seq();
    four.open();
    let alarmed = world.request_after(seq);
    let said = shown(&alarmed);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("Context at 70% (140,000 tokens, 60,000 left) — critically high"));
    world.hold("end");

    // all of it in one turn, by hooks
    let shown_now = world.show("api");
    assert_eq!(
        (&shown_now["turn"], &shown_now["state"]),
        (&1.into(), &"working".into())
    );
    for alert in world.alerts("api") {
        assert_eq!(alert["way"], "hook_answer", "{alert:#}");
    }
    world.model.release("end");
    world.wait_state("api", "idle");
    let last = closing(&world, "api");
    assert_eq!(occurrences(&last, ALERT), 2);
    assert_eq!(world.levels("api"), [50, 70]);
    assert_eq!(
        world.show("api")["turn"],
        2,
        "no turn but for the closing words"
    );
}

#[test]
fn alerts_do_not_repeat_over_200_rounds_a_restart_and_a_crash() {
    let Some(world) = claude("alerts_do_not_repeat_over_200_rounds_a_restart_and_a_crash") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.fills("api", 104_000, &[52]);
    world.fills("api", 134_000, &[52, 67]);
    let rounds = || world.main_requests().len();
    let leg = |name: &str, between: &dyn Fn()| {
        let from = rounds();
        world.send_wait("api", &format!("RUNMANY: 70 true {name}"), &[]);
        let (mut seen, mut disturbed) = (from, false);
        let done = wait_until(DEADLINE * 2, || {
            let now = rounds();
            if now > seen {
                seen = now;
                // up and down, over and under both
                world.usage(80_000 + (now as u64 * 37) % 60 * 2_000);
            }
            if now > from + 30 && !disturbed {
                disturbed = true;
                between();
            }
            (now >= from + 71).then_some(())
        });
        assert!(done.is_some(), "{}", world.about("api"));
        world.wait_state("api", "idle");
    };
    leg("calm", &|| {});
    leg("stop", &|| {
        world.sm(&["stop"]).exits(0);
        world.sm(&["ls"]).exits(0);
    });
    leg("kill", &|| {
        world.kill_daemon();
        world.sm(&["ls"]).exits(0);
    });
    assert!(rounds() > 213, "{}", rounds());
    assert_eq!(world.levels("api"), [52, 67]);
    let last = closing(&world, "api");
    assert_eq!(occurrences(&last, ALERT), 2);
    let report = world.context("api");
    for threshold in report["thresholds"].as_array().unwrap() {
        assert_eq!(threshold["said"], true);
    }
}

/// A turn that ends with a full context is not prolonged by a warning; the next prompt carries it.
#[test]
fn a_warning_at_the_end_of_a_turn_costs_no_request() {
    let Some(world) = claude("a_warning_at_the_end_of_a_turn_costs_no_request") else {
        return;
    };
    world.start_idle("api", &FREE);
    world.usage(104_000);
    world.send_wait("api", "HOLD: end\nSAY: that was all", &[]);
    world.hold("end");
    let first = world.last_seq();
    world.model.release("end");
    world.wait_levels("api", &[52]);
    let shown_now = world.wait_state("api", "idle");
    assert_eq!(shown_now["turn"], 1);
    assert_eq!(
        world.alerts("api")[0]["state"],
        "queued",
        "{:#?}",
        world.alerts("api")
    );
    world.send_wait("api", "SAY: a turn without tools", &[]);
    let next = world.request_after(first);
    assert_eq!(
        occurrences(&next, "a turn without tools"),
        1,
        "it is the person's"
    );
    assert_eq!(occurrences(&next, ALERT), 1, "and carries the warning");
    world.wait_state("api", "idle");
    let last = closing(&world, "api");
    assert_eq!(occurrences(&last, ALERT), 1);
    assert_eq!(world.show("api")["turn"], 3);
    let main = world.main_requests();
    assert_eq!(
        main.iter().filter(|r| r.seq >= first).count(),
        3,
        "one for each turn"
    );
}
