//! Hooks in the user's own settings: Claude Code takes the file, runs his and ours, and where sm
//! started it, each event is told once.

use std::path::PathBuf;
use std::process::Stdio;

use crate::common::{DEADLINE, World};
use crate::{FREE, claude};
use serde_json::Value;
use sm_testkit::wait_until;

/// Settings of a person with a hook and a status line of his own, written as no program would.
const SETTINGS: &str = "{ \"statusLine\": {\"command\": \"echo my-own-$((40+2))-line\",\n      \"type\": \"command\", \"padding\": 1},\n\t\"hooks\": {\"Stop\": [\n\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"echo stopped >> $HOME/own-hook\"}] }]},\r\n \"cleanupPeriodDays\":30}";

fn install(world: &World) -> PathBuf {
    let folder = world.env.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("settings.json");
    std::fs::write(&file, SETTINGS).unwrap();
    world.sm(&["hooks", "install", "claude"]).exits(0);
    file
}

fn own_hooks(world: &World) -> usize {
    let text = std::fs::read_to_string(world.env.home().join("own-hook"));
    text.unwrap_or_default().lines().count()
}

#[test]
fn without_sm_both_hooks_run_and_ours_comes_out_again() {
    let Some(world) = claude("without_sm_both_hooks_run_and_ours_comes_out_again") else {
        return;
    };
    let file = install(&world);
    let installed = std::fs::read_to_string(&file).unwrap();
    // Nobody listens, and no hook starts a daemon: what ours tell stays in the spool.
    let state = world.env.sm_home().join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("stopped"), "").unwrap();
    let spooled = || -> Vec<String> {
        let spool = std::fs::read_to_string(state.join("spool/hooks.jsonl")).unwrap_or_default();
        spool
            .lines()
            .map(|line| {
                let event: Value = serde_json::from_str(line).unwrap();
                event["event"].as_str().unwrap().to_owned()
            })
            .collect()
    };
    let program = sm_testkit::real::claude().unwrap().program;
    let ask = |session: Option<&str>| {
        let mut command = world.env.command(&program);
        command
            .args(["--model", "claude-sonnet-4-5", "-p", "hello"])
            .current_dir(world.env.project())
            .stdin(Stdio::null());
        if let Some(session) = session {
            command.env("CLAUDE_SESSION_MANAGER_ID", session);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("ok"), "{output:?}");
    };
    ask(None);
    assert_eq!(own_hooks(&world), 1, "the user's own ran");
    assert_eq!(spooled(), [""; 0], "ours has nobody to speak for");
    ask(Some("of-another-terminal"));
    assert_eq!(own_hooks(&world), 2);
    let told = spooled();
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let times = told.iter().filter(|told| *told == event).count();
        assert_eq!(times, 1, "{event}: {told:?}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), installed);
    let removed = world.sm(&["hooks", "remove", "claude"]).exits(0);
    assert!(removed.out.contains("byte for byte"), "{}", removed.out);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SETTINGS);
}

#[test]
fn installed_and_given_with_the_launch_each_event_counts_once() {
    let Some(world) = claude("installed_and_given_with_the_launch_each_event_counts_once") else {
        return;
    };
    let file = install(&world);
    let installed = std::fs::read_to_string(&file).unwrap();
    let shown = world.start_idle("api", &FREE);
    let environ = std::fs::read(format!("/proc/{}/environ", shown["pid"])).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    assert!(environ.split('\0').any(|v| v == "SM_HOOKS=injected"));
    world.wait_screen("api", "my-own-42-line");
    world.send_wait("api", "a turn, so that there is usage", &[]);
    world.wait_screen("api", "% ctx");
    let shown = world.wait_state("api", "idle");
    assert_eq!(shown["turn"], 1);
    let ran = wait_until(DEADLINE, || (own_hooks(&world) == 1).then_some(()));
    assert!(ran.is_some(), "the user's own hook ran once");
    let screen = world.screen("api");
    assert_eq!(screen.matches("my-own-42-line").count(), 1, "{screen}");
    assert_eq!(screen.matches("% ctx").count(), 1, "{screen}");
    let ends = world.events("api");
    let ends = ends
        .iter()
        .filter(|line| line.contains(" turn turn 1 ended"));
    assert_eq!(ends.count(), 1, "{}", world.about("api"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), installed);
}

#[test]
fn installed_and_given_with_the_launch_an_alert_and_a_compaction_count_once() {
    let test = "installed_and_given_with_the_launch_an_alert_and_a_compaction_count_once";
    let Some(world) = claude(test) else { return };
    install(&world);
    world.start_idle("api", &FREE);
    world.fills("api", 104_000, &[52]);
    world.usage(20_000);
    world.type_compact();
    world.wait_compactions("api", 1);
    world.fills("api", 106_000, &[52, 53]);
    assert_eq!(world.show("api")["compactions"], 1);
    let done = world.events("api");
    let done = done
        .iter()
        .filter(|line| line.contains(" compaction compaction "));
    assert_eq!(done.count(), 1, "{}", world.about("api"));
    let screen = world.screen("api");
    assert_eq!(screen.matches("my-own-42-line").count(), 1, "{screen}");
}
