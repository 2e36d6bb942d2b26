//! The daemon is killed at the steps of a handoff.

use crate::common::handoff::text;
use crate::handoff::{complete_at, empty_but_for};
use crate::{FREE, claude};

/// Each moment in a rotation of its own, of one session.
#[test]
fn a_daemon_killed_at_any_step_of_a_handoff_ends_it_once() {
    let test = "a_daemon_killed_at_any_step_of_a_handoff_ends_it_once";
    let Some(world) = claude(test) else { return };
    world.start_idle("api", &FREE);
    let moments = [
        "scheduled",
        "the turn is over",
        "are safe",
        "clear1 written",
        "the context is left",
        "wake1 written",
        "has its prompt",
    ];
    let mut last = text(&world.show("api")["conversation_id"]);
    for (generation, moment) in (2..).zip(moments) {
        let notes = format!("notes-{generation}.md");
        let done = world.handed_off_over_a_crash("api", &notes, moment);
        let shown = world.wait_state("api", "idle");
        assert_eq!(shown["generation"], generation, "{moment}: {done:#}");
        let new = world.once_ever(&world.wake_of(&notes));
        assert_eq!(text(&shown["conversation_id"]), new);
        assert_eq!(done["carrier"], "clear", "{moment}: {done:#}");
        empty_but_for(&world.requests_of(&new)[0], &text(&done["prompt"]));
        assert_eq!(text(&done["from_conversation"]), last);
        complete_at(&world, &done, "x\n");
        last = new;
    }
}
