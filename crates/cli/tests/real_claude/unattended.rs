//! Nobody is at the keyboard, and Claude Code asks for permissions as it does by default.

use crate::common::World;
use crate::{ASKING, claude};
use serde_json::json;
use sm_testkit::model::texts_of;

/// The tool call of an agent that hands over without writing a file.
fn hands_over(document: &str) -> String {
    let command = format!("sm handoff - <<'END'\n{document}\nEND");
    format!(
        "TOOL: Bash {}",
        json!({"command": command, "description": "hand over"})
    )
}

fn never_waited(world: &World) {
    let events = world.sm(&["events", "api", "--json"]).exits(0).out;
    assert!(!events.contains("asks for permission"), "{events}");
}

/// By the agent's own document, given on standard input.
fn agent_hands_over(world: &World) {
    world.start_idle("api", &ASKING);
    for round in 1..=3 {
        let document = format!("# Goal\nfeed walrus-{round}\n\n# State\nhalf\n\n# Next\n1. go on");
        world.send_wait("api", &hands_over(&document), &[]);
        successor_has(world, round, &document);
    }
    never_waited(world);
}

/// By sm's own, which the agent could read only with a permission.
fn sm_hands_over(world: &World) {
    world.start_idle("api", &ASKING);
    for round in 1..=3 {
        world.send_wait("api", &format!("the walrus-{round} is hungry"), &[]);
        world.wait_state("api", "idle");
        world
            .sm(&["handoff", "--auto", "--session", "api"])
            .exits(0);
        successor_has(world, round, &format!("walrus-{round}"));
    }
    never_waited(world);
}

#[track_caller]
fn successor_has(world: &World, round: u64, part: &str) {
    let done = wait_generation(world, round + 1);
    let in_context = &done["in_context"];
    assert_eq!(in_context["characters"], in_context["of"], "{done:#}");
    assert_eq!(in_context["proof"], "hook", "{done:#}");
    let shown = world.wait_state("api", "idle");
    let conversation = shown["conversation_id"].as_str().unwrap();
    let first = &world.requests_of(conversation)[0];
    let told = texts_of(first).concat();
    assert!(told.contains(part), "{part} is not in {told}");
}

#[track_caller]
fn wait_generation(world: &World, generation: u64) -> serde_json::Value {
    let reached = sm_testkit::wait_until(crate::common::DEADLINE, || {
        (world.show("api")["generation"] == generation).then_some(())
    });
    assert!(
        reached.is_some(),
        "not {generation}\n{}",
        world.about("api")
    );
    world.wait_handoff("api", "done")
}

#[test]
fn boundaries_are_passed_with_nobody_there() {
    let Some(world) = claude("boundaries_are_passed_with_nobody_there") else {
        return;
    };
    agent_hands_over(&world);
}

#[test]
fn boundaries_are_passed_with_nobody_there_on_the_newest() {
    let test = "boundaries_are_passed_with_nobody_there_on_the_newest";
    let Some(world) = World::claude_newest(test) else {
        return;
    };
    agent_hands_over(&world);
}

#[test]
fn automatic_handoffs_need_nobody() {
    let test = "automatic_handoffs_need_nobody";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        sm_hands_over(&world);
    }
}

#[test]
fn a_users_own_denial_goes_before_sms_permissions() {
    let test = "a_users_own_denial_goes_before_sms_permissions";
    for world in [World::claude(test), World::claude_newest(test)] {
        let Some(world) = world else { continue };
        let settings = world.env.home().join(".claude/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let own = r#"{ "permissions": { "deny": ["Bash(sm:*)"] } }"#;
        std::fs::write(&settings, own).unwrap();
        world.start_idle("api", &ASKING);
        world.send_wait("api", &hands_over("# Goal\nfeed the walrus"), &[]);
        let refused = world.model.wait_for_request(
            |request| {
                texts_of(request).concat().contains("enied")
                    || request.body.to_string().contains("denied")
            },
            crate::common::DEADLINE,
        );
        assert!(refused.is_some(), "{}", world.about("api"));
        world.wait_state("api", "idle");
        assert!(world.handoffs("api").is_empty(), "{}", world.about("api"));
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
