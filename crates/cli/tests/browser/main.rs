//! The dashboard in a real browser: Chromium, driven by the scenarios in `web/test/browser`. Each
//! has a daemon, a tmux and fake agents of its own.
//!
//! Node, Chromium and the packages of `web/` are installed by `tools/install-browser.sh`; where they
//! are missing, each test says that it is skipped. Pictures of the run go to `target/screens`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../e2e/world.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod world;

use std::path::{Path, PathBuf};
use std::process::Command;
use world::World;

#[test]
fn the_link_lets_in_once() {
    scenario("signin");
}

#[test]
fn the_overview_follows_the_command_line() {
    scenario("overview");
}

#[test]
fn a_message_from_the_page_walks_to_consumed() {
    scenario("message");
}

#[test]
fn the_terminal_shows_what_tmux_shows() {
    scenario("terminal");
}

#[test]
fn a_handoff_from_the_page_is_seen_step_by_step() {
    scenario("handoff");
}

#[test]
fn a_handoff_without_a_successor_is_told_until_somebody_goes_on() {
    let mut world = World::new();
    let faults = "ignore_clear=100,die_on_argument";
    world.env.set("FAKE_AGENT", faults);
    played("rollback", world);
}

#[test]
fn the_page_outlives_the_daemon_and_misses_nothing() {
    scenario("outage");
}

#[test]
fn what_waits_and_since_when_is_shown() {
    scenario("waiting");
}

#[test]
fn the_pages_keys_work_after_a_click_into_the_terminal() {
    scenario("keys");
}

#[test]
fn nothing_that_was_typed_or_scrolled_to_is_lost_by_navigation() {
    scenario("navigation");
}

#[test]
fn receipts_go_in_their_true_order() {
    scenario("receipts");
}

#[test]
fn a_pin_of_the_project_says_how_it_is_removed() {
    scenario("pins");
}

#[test]
fn lines_of_the_archive_have_their_generation() {
    scenario("archive");
}

#[test]
fn what_others_write_is_only_text() {
    scenario("attack");
}

#[test]
fn every_view_is_usable_at_every_width_in_light_and_dark() {
    scenario("looks");
}

fn scenario(name: &str) {
    played(name, World::new());
}

fn played(name: &str, mut world: World) {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    if let Err(missing) = ready(&web) {
        let required = std::env::var_os("SM_REQUIRE_BROWSER").is_some_and(|v| v == "1");
        assert!(!required, "SM_REQUIRE_BROWSER=1, but {missing}");
        eprintln!("SKIPPED browser {name}: {missing} (run tools/install-browser.sh)");
        return;
    }
    world.env.serve_tcp().unwrap();
    // as `sm` is run, so that the scenario can run it too
    let sm = world.command(&[]);
    let mut node = Command::new("node");
    node.arg(web.join("test/browser").join(format!("{name}.mjs")))
        // agents work where they are started, and write there
        .current_dir(world.env.project())
        .env_clear()
        .envs(
            sm.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("SM_PROGRAM", sm.get_program())
        .env("SM_CHROMIUM", chromium().unwrap())
        .env("SM_SHOTS", web.join("../target/screens"));
    if let Some(path) = std::env::var_os("PATH") {
        node.env("PATH", path);
    }
    let ran = node.output().unwrap();
    assert!(
        ran.status.success(),
        "{name}: {}\n{}{}",
        ran.status,
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// What a scenario needs, or what is missing.
fn ready(web: &Path) -> Result<(), String> {
    let node = Command::new("node").arg("--version").output();
    if !node.is_ok_and(|ran| ran.status.success()) {
        return Err("node is not installed".into());
    }
    if !web.join("node_modules/playwright-core").is_dir() {
        return Err("the packages of web/ are not installed".into());
    }
    chromium()
        .map(drop)
        .ok_or_else(|| "Chromium is not installed".into())
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}
