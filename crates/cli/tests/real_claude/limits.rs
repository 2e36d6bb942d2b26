//! Limits of the provider. Claude Code tells an account's limits, with their end, in words of its own;
//! newer versions write the end down and go on by themselves.

use crate::common::World;
use crate::common::limits::{
    a_lost_network_is_waited_out, an_overload_is_waited_out, cancelled_it_stays_where_it_is,
    our_words, usage_limit_is_waited_for,
};
use crate::{FREE, claude};
use sm_core::limit::LimitKind;

/// What newer versions say to their model when an account's limit is over.
const ITS_OWN: &str = "Your claude.ai usage limit has reset.";

#[test]
fn a_usage_limit_is_waited_for_and_its_dialog_left() {
    let test = "a_usage_limit_is_waited_for_and_its_dialog_left";
    let Some(world) = claude(test) else { return };
    let world = world.with_account();
    let words = our_words(LimitKind::Usage);
    usage_limit_is_waited_for(&world, &FREE, &["sentence"], &words);
    let left = |event: &String| event.contains("question about the limit was left");
    assert!(
        world.events("api").iter().any(left),
        "{}",
        world.about("api")
    );
}

#[test]
fn a_usage_limit_is_waited_for_on_the_newest() {
    let test = "a_usage_limit_is_waited_for_on_the_newest";
    let Some(world) = World::claude_newest(test) else {
        return;
    };
    let world = world.with_account();
    let mut words = our_words(LimitKind::Usage);
    words.push(ITS_OWN.to_owned());
    // its status line and its record both tell it exactly
    usage_limit_is_waited_for(&world, &FREE, &["agent", "transcript"], &words);
}

#[test]
fn words_to_go_on_are_cancelled() {
    let Some(world) = claude("words_to_go_on_are_cancelled") else {
        return;
    };
    cancelled_it_stays_where_it_is(&world.with_account(), &FREE);
}

#[test]
fn an_overload_is_waited_out_by_claude() {
    let Some(mut world) = claude("an_overload_is_waited_out_by_claude") else {
        return;
    };
    world.env.set("CLAUDE_CODE_MAX_RETRIES", "1");
    an_overload_is_waited_out(&world, &FREE);
}

#[test]
fn an_overload_is_waited_out_by_the_newest() {
    let test = "an_overload_is_waited_out_by_the_newest";
    let Some(mut world) = World::claude_newest(test) else {
        return;
    };
    world.env.set("CLAUDE_CODE_MAX_RETRIES", "1");
    an_overload_is_waited_out(&world, &FREE);
}

#[test]
fn a_lost_network_is_waited_out_by_claude() {
    let Some(mut world) = claude("a_lost_network_is_waited_out_by_claude") else {
        return;
    };
    world.env.set("CLAUDE_CODE_MAX_RETRIES", "1");
    a_lost_network_is_waited_out(world, &FREE);
}

#[test]
fn an_agent_that_is_not_logged_in_stands_still_and_says_so() {
    let test = "an_agent_that_is_not_logged_in_stands_still_and_says_so";
    for found in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = found else { continue };
        let world = world.without_login();
        world.start_idle("api", &FREE);
        let asked = world.sm(&["ask", "api", "say hello"]).exits(1);
        assert!(asked.err.contains("Not logged in"), "{}", asked.err);
        let shown = world.show("api");
        let attention = shown["attention"].as_str().unwrap_or_default();
        assert!(attention.contains("/login"), "{shown:#}");
        assert_eq!(world.main_requests().len(), 0);
    }
}
