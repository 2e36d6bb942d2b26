//! Handoffs with hooks that never come, or come late, and with hooks of the user's own.

use crate::FREE;
use crate::common::World;
use crate::common::handoff::text;
use crate::handoff::{WORK, empty_but_for};
use std::os::unix::fs::PermissionsExt;

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

/// A hook of the user's own for the event by which ours is told of a prompt. It runs `then` for a
/// successor's prompt.
fn users_hook(world: &World, then: &str) {
    let script = world.env.path().join("users-hook");
    let state = world.env.path().display().to_string();
    let text = format!(
        "#!/bin/sh\nif grep -q 'continue from where you left off'; then cd {state:?}; {then}; fi\n"
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = world.env.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let own = serde_json::json!({"hooks": {"UserPromptSubmit": [
        {"hooks": [{"type": "command", "command": script}]}
    ]}});
    std::fs::write(settings, own.to_string()).unwrap();
}

/// Asked for while it is idle; a message waits.
fn hands_off_under(world: &World) -> String {
    world
        .model
        .control(|control| control.reply = Some("ok".into()));
    std::fs::write(world.in_project("notes.md"), "# Goal\nfeed the walrus\n").unwrap();
    world.start_idle("api", &FREE);
    world.send_wait("api", "said before", &[]);
    world.wait_state("api", "idle");
    world
        .sm(&["handoff", "notes.md", "--session", "api"])
        .exits(0);
    world.send("api", "said after", &[])
}

#[test]
fn a_prompt_that_a_users_hook_blocks_once_is_given_by_the_next_way() {
    let test = "a_prompt_that_a_users_hook_blocks_once_is_given_by_the_next_way";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        users_hook(
            &world,
            "if [ ! -e blocked ]; then : > blocked; echo no >&2; exit 2; fi",
        );
        let message = hands_off_under(&world);
        let done = world.wait_handoff("api", "done");
        assert!(world.env.path().join("blocked").exists());
        assert_eq!(done["carrier"], "relaunch", "{done:#}");
        assert_eq!(done["in_context"]["proof"], "transcript", "{done:#}");
        let new = world.once_ever(&world.wake_of("notes.md"));
        world.wait_message("api", &message, "consumed");
        assert_eq!(world.once_ever("said after"), new);
    }
}

#[test]
fn a_prompt_that_a_users_hook_always_blocks_is_rolled_back() {
    let test = "a_prompt_that_a_users_hook_always_blocks_is_rolled_back";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        users_hook(&world, "echo no >&2; exit 2");
        let message = hands_off_under(&world);
        let old = world.once_ever("said before");
        world.wait_handoff("api", "rolled_back");
        world.wait_message("api", &message, "consumed");
        assert_eq!(
            world.once_ever("said after"),
            old,
            "the old conversation goes on"
        );
        let wake = world.wake_of("notes.md");
        let asked = world.main_requests();
        assert!(!asked.iter().any(|r| r.body.to_string().contains(&wake)));
    }
}
