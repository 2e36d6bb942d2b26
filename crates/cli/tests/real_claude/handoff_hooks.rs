//! Handoffs with hooks that never come, or come late.

use crate::FREE;
use crate::common::World;
use crate::common::handoff::text;
use crate::handoff::{WORK, empty_but_for};

/// `event` files in the state folder say what becomes of an event.
const LOSE: &str = r#"if [ -e "$state/lose-$2" ]; then cat > "$state/lost-$2"; exit 0; fi"#;
/// The hook itself takes its time, and the agent waits for it.
const SLOW: &str = r#"if [ -e "$state/slow-$2" ]; then : > "$state/slowed-$2"; sleep 10; fi"#;
/// The agent goes on, and the daemon hears of it late.
const LATE: &str = r#"if [ -e "$state/late-$2" ]; then
cat > "$state/given-$2.$$"
(sleep 10; "$hook" "$@" < "$state/given-$2.$$" > /dev/null; : > "$state/told-$2") > /dev/null 2>&1 &
exit 0
fi"#;

fn world(test: &str, script: &str) -> Option<World> {
    let world = World::claude_hooked(test, script)?;
    world
        .model
        .control(|control| control.reply = Some("ok".into()));
    world.start_idle("api", &FREE);
    Some(world)
}

impl World {
    fn mark(&self, name: &str) {
        std::fs::write(self.env.path().join("bin").join(name), "").unwrap();
    }

    fn marked(&self, name: &str) -> bool {
        self.env.path().join("bin").join(name).exists()
    }
}

/// From a turn that hands off to a message after it: once each, in the second generation.
fn rotates(world: &World, how: &str, events: &[&str], seen: &str) {
    world.send_wait("api", &format!("{WORK}\nHOLDEND: old"), &[]);
    world.hold("old");
    for event in events {
        world.mark(&format!("{how}-{event}"));
    }
    let said = "and then\nthis"; // the prompt names it in one line
    let id = world.send("api", said, &[]);
    world.model.release("old");
    let done = world.wait_handoff("api", "done");
    world.wait_message("api", &id, "submitted");
    for event in events {
        assert!(world.marked(&format!("{seen}-{event}")), "{event}");
    }
    let shown = world.wait_state("api", "idle");
    assert_eq!(shown["generation"], 2, "{done:#}");
    let new = world.once_ever(&world.wake_of("notes.md"));
    assert_eq!(text(&shown["conversation_id"]), new);
    assert_eq!(done["carrier"], "clear", "{done:#}");
    empty_but_for(&world.requests_of(&new)[0], &text(&done["prompt"]));
    assert_eq!(world.once_ever(said), new);
    eprintln!("took {}: {:#}", done["took_ms"], done["steps"]);
}

#[test]
fn a_handoff_without_the_hook_of_the_new_context() {
    let test = "a_handoff_without_the_hook_of_the_new_context";
    if let Some(world) = world(test, LOSE) {
        rotates(&world, "lose", &["SessionStart"], "lost");
    }
}

#[test]
fn a_handoff_without_the_hook_of_the_prompt() {
    let test = "a_handoff_without_the_hook_of_the_prompt";
    if let Some(world) = world(test, LOSE) {
        rotates(&world, "lose", &["UserPromptSubmit"], "lost");
    }
}

#[test]
fn a_handoff_without_any_hook_but_the_end_of_turns() {
    let test = "a_handoff_without_any_hook_but_the_end_of_turns";
    if let Some(world) = world(test, LOSE) {
        let events = ["SessionEnd", "SessionStart", "UserPromptSubmit"];
        rotates(&world, "lose", &events, "lost");
    }
}

#[test]
fn a_handoff_without_the_end_of_turns() {
    let test = "a_handoff_without_the_end_of_turns";
    if let Some(world) = world(test, LOSE) {
        rotates(&world, "lose", &["Stop"], "lost");
    }
}

#[test]
fn a_handoff_while_a_hook_of_the_new_context_takes_ten_seconds() {
    let test = "a_handoff_while_a_hook_of_the_new_context_takes_ten_seconds";
    if let Some(world) = world(test, SLOW) {
        rotates(&world, "slow", &["SessionStart"], "slowed");
    }
}

#[test]
fn a_handoff_while_a_hook_of_the_prompt_takes_ten_seconds() {
    let test = "a_handoff_while_a_hook_of_the_prompt_takes_ten_seconds";
    if let Some(world) = world(test, SLOW) {
        rotates(&world, "slow", &["UserPromptSubmit"], "slowed");
    }
}

#[test]
fn a_handoff_whose_hooks_are_told_ten_seconds_late() {
    let test = "a_handoff_whose_hooks_are_told_ten_seconds_late";
    let Some(world) = world(test, LATE) else {
        return;
    };
    let events = ["SessionEnd", "SessionStart", "UserPromptSubmit"];
    rotates(&world, "late", &events, "late");
    // what comes in the end changes nothing
    let told = sm_testkit::wait_until(crate::common::DEADLINE, || {
        events
            .iter()
            .all(|event| world.marked(&format!("told-{event}")))
            .then_some(())
    });
    assert!(told.is_some());
    let text = "after all of them";
    let id = world.send("api", text, &[]);
    world.wait_message("api", &id, "submitted");
    let shown = world.wait_state("api", "idle");
    assert_eq!(shown["generation"], 2, "{}", world.about("api"));
    world.once_ever(text);
    world.once_ever(&world.wake_of("notes.md"));
}
