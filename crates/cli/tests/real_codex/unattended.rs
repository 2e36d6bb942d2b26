//! Nobody is at the keyboard, and Codex runs commands in its sandbox and asks as it does by default.

use crate::common::World;
use crate::common::unattended::{by_its_own_documents, by_sm, over_crashes};

#[test]
fn boundaries_are_passed_with_nobody_there() {
    if let Some(world) = World::codex("boundaries_are_passed_with_nobody_there") {
        by_its_own_documents(&world, &[], |_, _| {});
    }
}

#[test]
fn boundaries_are_passed_while_the_daemon_is_killed() {
    if let Some(world) = World::codex("boundaries_are_passed_while_the_daemon_is_killed") {
        over_crashes(&world, &[]);
    }
}

#[test]
fn automatic_handoffs_need_nobody() {
    if let Some(world) = World::codex("automatic_handoffs_need_nobody") {
        by_sm(&world, &[]);
    }
}
