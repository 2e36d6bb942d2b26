//! Schedules of the simulation: many random ones, every crash point of the usual deliveries, and
//! proofs that the checks notice a broken driver.
//!
//! `SM_SIM_SEED=n` replays one schedule (test `replay`); `SM_SIM_SCHEDULES=n` is how many `soak` plays,
//! from `SM_SIM_SEED` on.

#[macro_use]
mod common;

use common::{message, tools};
use sm_core::AgentKind;
use sm_core::message::Mode;
use sm_testkit::sim::{self, Act, Mutation, Options, World};

const OF_SEED: common::OfSeed = Options::of_seed;

schedules! {
    OF_SEED, 3_000 each;
    soaked: arrived;
    |stats, count| {
        assert!(stats.arrived > count && stats.crashes > count / 4, "{stats:?}");
        assert!(stats.pastes > count && stats.answers > count && stats.mails > count / 20);
    }
    schedules_1: 0;
    schedules_2: 1;
    schedules_3: 2;
    schedules_4: 3;
    schedules_5: 4;
    schedules_6: 5;
    schedules_7: 6;
    schedules_8: 7;
}

#[test]
fn the_same_seed_is_the_same_schedule() {
    for seed in 0..50 {
        let options = Options::of_seed(seed);
        assert_eq!(
            sim::run(seed, &options).unwrap(),
            sim::run(seed, &options).unwrap()
        );
    }
}

/// What was to get the agent to read an answer to its Stop hook was shown as something else, so it was
/// not entered: the message stood unread for good.
#[test]
fn found_by_soaking_1066283() {
    let stats = common::play(OF_SEED, 1_066_283, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

// ── the checks can fail

#[test]
fn keys_without_their_guard_are_noticed() {
    let what = noticed(Mutation::IgnoreGuard, 2_000);
    assert!(
        what.contains("dialog") || what.contains("draft") || what.contains("merged"),
        "{what}"
    );
}

#[test]
fn effects_before_the_journal_are_noticed() {
    noticed(Mutation::JournalAfterEffects, 1_000);
}

#[test]
fn a_transcript_that_was_not_read_is_noticed() {
    noticed(Mutation::TranscriptUnread, 1_000);
}

#[test]
fn a_draft_taken_for_our_own_text_is_noticed() {
    let what = noticed(Mutation::DraftIsOurs, 1_000);
    assert!(what.contains("draft") || what.contains("merged"), "{what}");
}

#[test]
fn a_sub_agent_taken_for_the_session_is_noticed() {
    noticed(Mutation::SubAgentIsOwn, 1_000);
}

// ── every crash point of the usual deliveries

fn with_every_crash(agent: AgentKind, scene: impl Fn(World) -> World) {
    common::with_every_crash(&Options::calm(agent), |world| world, scene, 20, |_| {});
}

#[test]
fn killed_at_every_point_of_a_paste() {
    for agent in [AgentKind::Claude, AgentKind::Codex, AgentKind::Generic] {
        with_every_crash(agent, |world| {
            let mut world = world.idle();
            world.send_as(message(0, Mode::Sequential));
            world.run_for(30);
            world.send_as(message(1, Mode::Sequential));
            world
        });
    }
}

/// The agent's hook has proven it, the agent is killed, and its record lacks it.
#[test]
fn killed_at_every_point_of_a_prompt_that_was_never_written_down() {
    for (agent, with_terminal, patience) in [
        (AgentKind::Claude, false, 4_000),
        (AgentKind::Claude, true, 4_000),
        (AgentKind::Codex, false, 4_000),
        // restored before anybody has asked the record
        (AgentKind::Claude, false, 0),
        (AgentKind::Claude, true, 0),
        (AgentKind::Codex, true, 0),
    ] {
        with_every_crash(agent, |world| {
            let mut world = world.idle();
            world.with_faults(|faults| faults.record_lost = 1_000);
            world.send_as(message(0, Mode::Sequential));
            world.run_until(60_000, |w| !w.said().is_empty());
            match with_terminal {
                true => world.act(Act::TerminalGone),
                false => world.crash_agent(),
            }
            world.faults_over();
            world.run_until(10_000, |w| !w.state().is_live());
            world.run_for(patience);
            world.act(Act::Restore);
            world.act_later(30_000, Act::Restore); // if the first one was lost with the daemon
            world
        });
    }
}

#[test]
fn killed_at_every_point_of_answers_inside_and_at_the_end_of_a_turn() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        with_every_crash(agent, |world| {
            let mut world = world.working(tools(3, 300));
            world.send_as(message(0, Mode::Important));
            world.send_as(message(1, Mode::Sequential));
            world.run_for(700);
            world.send_as(message(2, Mode::Important));
            world
        });
    }
}

/// The answer to a Stop hook is written down, and the model is not asked with it.
#[test]
fn killed_at_every_point_of_an_answer_that_is_not_followed() {
    with_every_crash(AgentKind::Claude, |world| {
        let mut world = world.working(tools(1, 300));
        world.with_faults(|faults| faults.stop_capped = 1_000);
        world.send_as(message(0, Mode::Sequential));
        world.run_until(10_000, |w| !w.state().is_live() || w.said().len() > 1);
        world.faults_over();
        world
    });
}

#[test]
fn killed_at_every_point_of_a_mailbox_delivery() {
    with_every_crash(AgentKind::Claude, |world| {
        let mut world = world.idle();
        world.act(Act::Type("half a thought".into()));
        world.send_as(message(0, Mode::Sequential));
        world.act_later(20_000, Act::Erase);
        world
    });
}

#[test]
fn killed_at_every_point_of_an_interrupt() {
    with_every_crash(AgentKind::Claude, |world| {
        let mut world = world.working(tools(20, 300));
        world.send_as(message(0, Mode::Urgent));
        world
    });
}

#[test]
fn killed_at_every_point_of_a_dialog() {
    with_every_crash(AgentKind::Claude, |world| {
        let mut plan = tools(2, 300);
        plan.batches[0].dialog = true;
        let mut world = world.working(plan);
        world.send_as(message(0, Mode::Important));
        world.act_later(4_000, Act::Answer { approve: true });
        world
    });
}

#[test]
fn killed_at_every_point_of_a_clear() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        with_every_crash(agent, |world| {
            let mut world = world.working(tools(1, 300));
            world.send_as(message(0, Mode::Sequential));
            world.act(Act::Clear);
            world.act_later(2_500, Act::Clear);
            world
        });
    }
}
