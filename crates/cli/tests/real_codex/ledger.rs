//! What sm has written down of a context, when Codex is gone in the middle of its work.

use crate::common::World;
use crate::common::ledger::{
    an_interrupt_of_sm_is_nobodys_refusal, goes_on_from_the_ledger, no_secret_is_written_down,
};

#[test]
fn codex_killed_in_the_middle_of_its_work_goes_on_from_the_ledger() {
    let test = "codex_killed_in_the_middle_of_its_work_goes_on_from_the_ledger";
    let Some(world) = World::codex(test) else {
        return;
    };
    goes_on_from_the_ledger(&world, &[], "cat gate");
}

#[test]
fn no_secret_of_a_codex_session_is_written_down() {
    let test = "no_secret_of_a_codex_session_is_written_down";
    let Some(world) = World::codex(test) else {
        return;
    };
    no_secret_is_written_down(&world, &[]);
}

#[test]
fn what_sm_interrupted_in_codex_was_not_refused_by_anybody() {
    let test = "what_sm_interrupted_in_codex_was_not_refused_by_anybody";
    let Some(world) = World::codex(test) else {
        return;
    };
    an_interrupt_of_sm_is_nobodys_refusal(&world, &[], "cat gate");
}
