//! Nobody is at the keyboard, and Claude Code asks for permissions as it does by default.

use crate::common::handoff::text;
use crate::common::unattended::{by_its_own_documents, by_sm, never_waited, over_crashes};
use crate::common::{DEADLINE, World};
use crate::{ASKING, claude};
use serde_json::json;
use sm_testkit::model::texts_of;
use sm_testkit::wait_until;

/// Files are edited without a question, commands are asked for.
const EDITS: [&str; 5] = [
    "--",
    "--model",
    "claude-sonnet-4-5",
    "--permission-mode",
    "acceptEdits",
];

#[test]
fn boundaries_are_passed_with_nobody_there() {
    let test = "boundaries_are_passed_with_nobody_there";
    if let Some(world) = World::claude(test) {
        by_its_own_documents(&world, &ASKING, |_, _| {});
    }
}

#[test]
fn boundaries_are_passed_with_nobody_there_on_the_newest() {
    let test = "boundaries_are_passed_with_nobody_there_on_the_newest";
    if let Some(world) = World::claude_newest(test) {
        by_its_own_documents(&world, &ASKING, |_, _| {});
    }
}

#[test]
fn boundaries_are_passed_where_edits_are_accepted() {
    let test = "boundaries_are_passed_where_edits_are_accepted";
    if let Some(world) = World::claude(test) {
        by_its_own_documents(&world, &EDITS, |_, _| {});
    }
}

#[test]
fn boundaries_are_passed_where_edits_are_accepted_on_the_newest() {
    let test = "boundaries_are_passed_where_edits_are_accepted_on_the_newest";
    if let Some(world) = World::claude_newest(test) {
        by_its_own_documents(&world, &EDITS, |_, _| {});
    }
}

#[test]
fn automatic_handoffs_need_nobody_where_edits_are_accepted() {
    let test = "automatic_handoffs_need_nobody_where_edits_are_accepted";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        by_sm(&world, &EDITS);
    }
}

#[test]
fn boundaries_are_passed_while_the_daemon_is_killed() {
    let test = "boundaries_are_passed_while_the_daemon_is_killed";
    if let Some(world) = World::claude(test) {
        over_crashes(&world, &ASKING);
    }
}

#[test]
fn boundaries_are_passed_while_the_daemon_is_killed_on_the_newest() {
    let test = "boundaries_are_passed_while_the_daemon_is_killed_on_the_newest";
    if let Some(world) = World::claude_newest(test) {
        over_crashes(&world, &ASKING);
    }
}

#[test]
fn automatic_handoffs_need_nobody() {
    let test = "automatic_handoffs_need_nobody";
    if let Some(world) = World::claude(test) {
        by_sm(&world, &ASKING);
    }
}

#[test]
fn automatic_handoffs_need_nobody_on_the_newest() {
    let test = "automatic_handoffs_need_nobody_on_the_newest";
    if let Some(world) = World::claude_newest(test) {
        by_sm(&world, &ASKING);
    }
}

/// The tool call of an agent that hands over without writing a file.
fn hands_over(document: &str) -> String {
    let command = format!("sm handoff - <<'END'\n{document}\nEND");
    format!(
        "TOOL: Bash {}",
        json!({"command": command, "description": "hand over"})
    )
}

#[test]
fn a_users_own_denial_goes_before_sms_permissions() {
    let test = "a_users_own_denial_goes_before_sms_permissions";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        let settings = world.env.home().join(".claude/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let own = r#"{ "permissions": { "deny": ["Bash(sm *)", "mcp__sm"] } }"#;
        std::fs::write(&settings, own).unwrap();
        world.start_idle("api", &ASKING);
        // said before it is tried: nobody has to find out why nothing was handed over
        let needs = text(&world.show("api")["handoff_needs_person"]);
        assert!(needs.contains("`mcp__sm` and `Bash(sm *)`"), "{needs}");
        world.send_wait("api", &hands_over("# Goal\nfeed the walrus"), &[]);
        let refused = world.model.wait_for_request(
            |request| {
                texts_of(request).concat().contains("enied")
                    || request.body.to_string().contains("denied")
            },
            DEADLINE,
        );
        assert!(refused.is_some(), "{}", world.about("api"));
        world.wait_state("api", "idle");
        assert!(world.handoffs("api").is_empty(), "{}", world.about("api"));
        // from outside it goes on with nobody there
        let ran = world.sm(&["handoff", "--auto", "--session", "api"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let left = || (world.show("api")["generation"] == 2).then_some(());
        assert!(
            wait_until(DEADLINE, left).is_some(),
            "{}",
            world.about("api")
        );
        never_waited(&world);
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), own);
    }
}

#[test]
fn without_sms_permissions_a_person_is_asked() {
    let Some(world) = claude("without_sms_permissions_a_person_is_asked") else {
        return;
    };
    let path = world.env.sm_home().join("config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("handoff.permissions = false\n{config}")).unwrap();
    world.start_idle("api", &ASKING);
    world.send_wait("api", &hands_over("# Goal\nfeed the walrus"), &[]);
    let session = world.wait_state("api", "waiting");
    assert!(world.handoffs("api").is_empty(), "{session:#}");
}
