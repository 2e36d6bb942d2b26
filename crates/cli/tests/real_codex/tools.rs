//! Codex with the tools of `sm mcp`, given with its launch: no dialog, no file, no way out of its sandbox
//! needed.

use crate::common::{DEADLINE, World};
use serde_json::json;
use sm_testkit::model::texts_of;

#[test]
fn the_tool_hands_over_out_of_the_sandbox_with_nobody_there() {
    let test = "the_tool_hands_over_out_of_the_sandbox_with_nobody_there";
    let Some(world) = World::codex(test) else {
        return;
    };
    let config = world.env.home().join(".codex/config.toml");
    // by default nothing may connect to the daemon's socket from inside of the sandbox
    world.start_idle("api", &[]);
    let own = std::fs::read_to_string(&config).unwrap();
    for round in 1..=3 {
        let document =
            format!("# Goal\nfeed walrus-{round}: \"\u{e9}\"\n\n# State\nhalf\n\n# Next\n1. go on");
        let call = format!("TOOL: mcp__sm/handoff {}", json!({"document": document}));
        world.send_wait("api", &call, &[]);
        let reached = sm_testkit::wait_until(DEADLINE, || {
            (world.show("api")["generation"] == round + 1).then_some(())
        });
        assert!(reached.is_some(), "{}", world.about("api"));
        world.wait_handoff("api", "done");
        let shown = world.wait_state("api", "idle");
        let conversation = shown["conversation_id"].as_str().unwrap();
        let told = texts_of(&world.requests_of(conversation)[0]).concat();
        assert!(told.contains(&document), "{told}");
    }
    let events = world.sm(&["events", "api", "--json"]).exits(0).out;
    assert!(!events.contains("asks for permission"), "{events}");
    assert!(
        !std::fs::read_to_string(&config)
            .unwrap()
            .contains("mcp_servers"),
        "{own}"
    );
}

#[test]
fn a_server_of_the_users_works_beside_ours_and_one_of_the_name_in_its_place() {
    let test = "a_server_of_the_users_works_beside_ours_and_one_of_the_name_in_its_place";
    let Some(world) = World::codex(test) else {
        return;
    };
    let sm = sm_testkit::clean::binary("sm").unwrap();
    let config = world.env.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let server =
        |name: &str| format!("\n[mcp_servers.{name}]\ncommand = {sm:?}\nargs = [\"mcp\"]\n");
    std::fs::write(&config, format!("{before}{}", server("mine"))).unwrap();
    world.start_idle("api", &[]);
    world.send_wait("api", "which tools are there", &[]);
    let offered = world.request_with("which tools are there").body["tools"].to_string();
    for name in ["mcp__sm", "mcp__mine"] {
        assert!(offered.contains(name), "{name}: {offered}");
    }
    std::fs::write(&config, format!("{before}{}", server("sm"))).unwrap();
    world.start_idle("other", &[]);
    let events = world.sm(&["events", "other", "--json"]).exits(0).out;
    assert!(
        events.contains("started without sm's own tools"),
        "{events}"
    );
}
