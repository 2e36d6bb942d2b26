//! A document that the model itself writes, for the real Codex: `sm handoff --generate`.

use crate::common::World;

#[test]
fn codex_writes_the_document_and_goes_on_from_it() {
    let test = "codex_writes_the_document_and_goes_on_from_it";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.a_generated_document_is_handed_over(&[], "codex");
}

#[test]
fn a_model_that_wants_a_tool_is_refused_and_writes() {
    let test = "a_model_that_wants_a_tool_is_refused_and_writes";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.a_tool_is_refused_while_a_document_is_written(&[]);
}

#[test]
fn a_document_that_was_not_written_changes_nothing() {
    let test = "a_document_that_was_not_written_changes_nothing";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.a_failed_generation_leaves_the_session_as_it_was(&[]);
}

#[test]
fn a_cancelled_document_changes_nothing() {
    let test = "a_cancelled_document_changes_nothing";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.a_cancelled_generation_leaves_the_session_as_it_was(&[]);
}

#[test]
fn a_worthless_document_of_codex_is_replaced_by_the_ledgers() {
    let test = "a_worthless_document_of_codex_is_replaced_by_the_ledgers";
    let Some(world) = World::codex(test) else {
        return;
    };
    world.a_worthless_document_is_replaced(&[]);
}
