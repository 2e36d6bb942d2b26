//! What sm has written down of a context, when Claude Code is gone in the middle of its work.

use crate::common::World;
use crate::common::ledger::{
    an_interrupt_of_sm_is_nobodys_refusal, goes_on_from_the_ledger, no_secret_is_written_down,
};
use crate::{FREE, claude};

#[test]
fn an_agent_killed_in_the_middle_of_its_work_goes_on_from_the_ledger() {
    let test = "an_agent_killed_in_the_middle_of_its_work_goes_on_from_the_ledger";
    let Some(world) = claude(test) else { return };
    goes_on_from_the_ledger(&world, &FREE, "read l < gate; echo got-$l");
}

#[test]
fn no_secret_of_a_claude_session_is_written_down() {
    let test = "no_secret_of_a_claude_session_is_written_down";
    let Some(world) = claude(test) else { return };
    no_secret_is_written_down(&world, &FREE);
}

#[test]
fn no_secret_of_the_newest_claude_is_written_down() {
    let test = "no_secret_of_the_newest_claude_is_written_down";
    let Some(world) = World::claude_newest(test) else {
        return;
    };
    no_secret_is_written_down(&world, &FREE);
}

#[test]
fn what_sm_interrupted_was_not_refused_by_anybody() {
    let test = "what_sm_interrupted_was_not_refused_by_anybody";
    let Some(world) = claude(test) else { return };
    an_interrupt_of_sm_is_nobodys_refusal(&world, &FREE, "read l < gate; echo got-$l");
}

#[test]
fn what_sm_interrupted_in_the_newest_claude_was_not_refused_by_anybody() {
    let test = "what_sm_interrupted_in_the_newest_claude_was_not_refused_by_anybody";
    let Some(world) = World::claude_newest(test) else {
        return;
    };
    an_interrupt_of_sm_is_nobodys_refusal(&world, &FREE, "read l < gate; echo got-$l");
}
