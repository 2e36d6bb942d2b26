//! Limits of the provider, as Codex writes them down.

use crate::common::World;
use crate::common::limits::{
    a_daemon_that_stood_still_tells_once, an_overload_is_waited_out,
    cancelled_it_stays_where_it_is, our_words, usage_limit_is_waited_for,
};
use sm_core::limit::LimitKind;

/// Codex asks again for some twenty seconds by itself.
const AT_ONCE: [&str; 5] = [
    "--",
    "-c",
    "model_providers.fake.request_max_retries=0",
    "-c",
    "model_providers.fake.stream_max_retries=0",
];

#[test]
fn a_usage_limit_is_waited_for() {
    let Some(world) = World::codex("a_usage_limit_is_waited_for") else {
        return;
    };
    let words = our_words(LimitKind::Usage);
    usage_limit_is_waited_for(&world, &[], &["agent"], &words);
}

#[test]
fn a_machine_that_was_suspended_tells_it_once() {
    let Some(world) = World::codex("a_machine_that_was_suspended_tells_it_once") else {
        return;
    };
    a_daemon_that_stood_still_tells_once(&world, &[]);
}

#[test]
fn words_to_go_on_are_cancelled() {
    let Some(world) = World::codex("words_to_go_on_are_cancelled") else {
        return;
    };
    cancelled_it_stays_where_it_is(&world, &[]);
}

#[test]
fn an_overload_is_waited_out_by_codex() {
    let Some(world) = World::codex("an_overload_is_waited_out_by_codex") else {
        return;
    };
    an_overload_is_waited_out(&world, &AT_ONCE);
}
