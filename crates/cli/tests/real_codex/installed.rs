//! Hooks in the user's own configuration: Codex asks about them once, as it was said it would, and
//! then they do no harm beside those of a launch.

use crate::common::World;
use crate::start::without_tui;

#[test]
fn codex_asks_about_installed_hooks_and_forgets_them_with_their_removal() {
    let name = "codex_asks_about_installed_hooks_and_forgets_them_with_their_removal";
    let Some(world) = World::codex(name) else {
        return;
    };
    let config = world.env.home().join(".codex/config.toml");
    let mut before = std::fs::read_to_string(&config).unwrap();
    before.insert_str(0, "# mine, and it stays\n");
    std::fs::write(&config, &before).unwrap();
    let said = world.sm(&["hooks", "install", "codex"]).exits(0).out;
    assert!(said.contains("Hooks need review"), "{said}");
    let state = || {
        let all = world.sm(&["hooks", "status", "codex", "--scope", "user", "--json"]);
        let all = all.exits(0).json();
        all[0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(), "not trusted");
    world.start("one", &[]);
    world.wait_state("one", "waiting");
    let screen = world.screen("one");
    assert!(screen.contains("9 hooks are new or changed"), "{screen}");
    // "Trust all and continue"
    world.key("one", "Down");
    world.wait_screen("one", "› 2. Trust all");
    world.key("one", "Enter");
    world.wait_state("one", "idle");
    assert_eq!(state(), "installed", "trusted by the hashes that sm knows");
    let message = world.send_wait("one", "SAY: hello", &[]);
    assert_eq!(message["proof"], "hook");
    let session = world.wait_state("one", "idle");
    assert_eq!(session["turn"], 1);
    world.sm(&["kill", "one"]).exits(0);
    world.sm(&["hooks", "remove", "codex"]).exits(0);
    let after = std::fs::read_to_string(&config).unwrap();
    assert_eq!(without_tui(&after), without_tui(&before));
}
