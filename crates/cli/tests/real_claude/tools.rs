//! Claude Code with the tools of `sm mcp`: given with the launch, allowed by default, for the session's
//! agent alone.

use crate::common::{DEADLINE, World};
use crate::{ASKING, FREE, claude};
use serde_json::{Value, json};
use sm_testkit::clean::binary;
use sm_testkit::model::texts_of;

fn by_tool(document: &str) -> String {
    format!("TOOL: mcp__sm__handoff {}", json!({"document": document}))
}

fn document(round: u64) -> String {
    format!("# Goal\nfeed walrus-{round}: \"\u{e9}\" \\\n\n# State\nhalf\n\n# Next\n1. go on")
}

fn never_waited(world: &World) {
    let events = world.sm(&["events", "api", "--json"]).exits(0).out;
    assert!(!events.contains("asks for permission"), "{events}");
}

#[track_caller]
fn successor_has(world: &World, generation: u64, part: &str) {
    let reached = sm_testkit::wait_until(DEADLINE, || {
        (world.show("api")["generation"] == generation).then_some(())
    });
    assert!(
        reached.is_some(),
        "not {generation}\n{}",
        world.about("api")
    );
    world.wait_handoff("api", "done");
    let shown = world.wait_state("api", "idle");
    let conversation = shown["conversation_id"].as_str().unwrap();
    let told = texts_of(&world.requests_of(conversation)[0]).concat();
    assert!(told.contains(part), "{part} is not in {told}");
}

/// Both versions; what is not installed is said.
fn worlds(test: &str) -> impl Iterator<Item = World> {
    [World::claude(test), World::claude_newest(test)]
        .into_iter()
        .flatten()
}

#[test]
fn the_tool_hands_over_with_nobody_there() {
    for world in worlds("the_tool_hands_over_with_nobody_there") {
        let settings = world.env.home().join(".claude/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let own = "{ \"permissions\": { \"allow\": [\"Bash(ls)\"] } }\n";
        std::fs::write(&settings, own).unwrap();
        start_with_tools(&world, &ASKING);
        for round in 1..=3 {
            world.send_wait("api", &by_tool(&document(round)), &[]);
            successor_has(&world, round + 1, &document(round));
        }
        never_waited(&world);
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), own);
    }
}

const TOOL: &str = "mcp__sm__handoff";

/// Starts a session whose model can call our tools. Newer versions begin without servers that are still
/// starting, and a context that has begun so only names their tools: the next one has them.
fn start_with_tools(world: &World, args: &[&str]) {
    world.start_idle("api", args);
    let mut asked = 0;
    let named = sm_testkit::wait_until(DEADLINE, || {
        asked += 1;
        tools(world, &format!("which tools are there, time {asked}."))
            .iter()
            .any(|tool| tool == TOOL)
            .then_some(())
    });
    assert!(named.is_some(), "{}", world.about("api"));
    world.wait_state("api", "idle");
    let last = world.main_requests().pop().unwrap();
    let offered = last.body["tools"].as_array().unwrap();
    if !offered.iter().any(|tool| tool["name"] == TOOL) {
        let search = json!({"query": format!("select:{TOOL}")});
        world.send_wait("api", &format!("TOOL: ToolSearch {search}"), &[]);
        world.wait_state("api", "idle");
    }
}

/// The tools that a request offers its model; or names for its search for tools, as newer versions do
/// with those of a server that was still starting at the first prompt.
fn tools(world: &World, words: &str) -> Vec<String> {
    world.wait_state("api", "idle");
    world.send_wait("api", words, &[]);
    let request = world.request_with(words);
    let offered = request.body["tools"].as_array().into_iter().flatten();
    let offered = offered.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
    let told = texts_of(&request).join("\n");
    let (_, named) = told.split_once("Use ToolSearch").unwrap_or_default();
    let named = named.lines().filter(|line| line.starts_with("mcp__"));
    offered.chain(named.map(str::to_owned)).collect()
}

#[test]
fn a_server_of_the_users_works_beside_ours() {
    for world in worlds("a_server_of_the_users_works_beside_ours") {
        let server = json!({"command": binary("sm").unwrap(), "args": ["mcp"], "alwaysLoad": true});
        let file = world.env.home().join(".claude.json");
        let mut config: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        config["mcpServers"] = json!({"mine": server});
        std::fs::write(&file, config.to_string()).unwrap();
        let given = world.env.home().join("given.json");
        std::fs::write(&given, json!({"mcpServers": {"given": server}}).to_string()).unwrap();
        let mut args = ASKING.to_vec();
        args.extend(["--mcp-config", given.to_str().unwrap()]);
        world.start_idle("api", &args);
        let wanted = [
            "mcp__sm__handoff",
            "mcp__mine__whoami",
            "mcp__given__whoami",
        ];
        // servers that are still starting are offered with a later request
        let mut asked = 0;
        let mut offered = Vec::new();
        let all = sm_testkit::wait_until(DEADLINE, || {
            asked += 1;
            offered = tools(&world, &format!("which tools are there, time {asked}."));
            let is_there = |name: &&str| offered.iter().any(|tool| tool == name);
            wanted.iter().all(is_there).then_some(())
        });
        assert!(all.is_some(), "after {asked} prompts: {offered:?}");
    }
}

#[test]
fn only_ours_with_strict_servers_and_none_where_the_name_is_taken() {
    let test = "only_ours_with_strict_servers_and_none_where_the_name_is_taken";
    for world in worlds(test) {
        let mut args = ASKING.to_vec();
        args.push("--strict-mcp-config");
        start_with_tools(&world, &args);
        world.sm(&["kill", "api"]).exits(0);
        let server = json!({"mcpServers": {"sm": {"command": "/bin/false"}}});
        let mut args = ASKING.to_vec();
        let server = server.to_string();
        args.extend(["--mcp-config", &server]);
        world.sm(&["kill", "api", "--purge"]);
        world.start_idle("api", &args);
        let offered = tools(&world, "which tools are there now");
        assert!(
            !offered.iter().any(|tool| tool.starts_with("mcp__sm")),
            "{offered:?}"
        );
    }
}

#[test]
fn a_denial_of_the_users_goes_before_sms_tools() {
    for world in worlds("a_denial_of_the_users_goes_before_sms_tools") {
        let settings = world.env.home().join(".claude/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let own = r#"{ "permissions": { "deny": ["mcp__sm__handoff"] } }"#;
        std::fs::write(&settings, own).unwrap();
        world.start_idle("api", &ASKING);
        world.send_wait("api", &by_tool(&document(1)), &[]);
        world.wait_state("api", "idle");
        assert!(world.handoffs("api").is_empty(), "{}", world.about("api"));
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), own);
    }
}

#[test]
fn a_sub_agent_cannot_hand_the_session_over() {
    for world in worlds("a_sub_agent_cannot_hand_the_session_over") {
        start_with_tools(&world, &FREE);
        for (marker, way) in [
            ("walrus-1", by_tool(&document(1))),
            (
                "printf",
                "RUN: printf '# Goal\\nx\\n# State\\ny\\n# Next\\nz\\n' | sm handoff -".to_owned(),
            ),
        ] {
            let sub =
                json!({"description": "look", "prompt": way, "subagent_type": "general-purpose"});
            world.send_wait("api", &format!("TOOL: Agent {sub}"), &[]);
            let denied = world.model.wait_for_request(
                |request| {
                    let body = request.body.to_string();
                    body.contains("A sub-agent cannot hand the session over")
                        && body.contains(marker)
                },
                DEADLINE,
            );
            assert!(denied.is_some(), "{way}: {}", world.about("api"));
            world.wait_state("api", "idle");
            assert!(
                world.handoffs("api").is_empty(),
                "{way}: {}",
                world.about("api")
            );
        }
        // the agent itself may
        world.send_wait("api", &by_tool(&document(2)), &[]);
        successor_has(&world, 2, &document(2));
    }
}

#[test]
fn a_nested_agent_cannot_hand_the_session_over() {
    let Some(world) = claude("a_nested_agent_cannot_hand_the_session_over") else {
        return;
    };
    world.start_idle("api", &FREE);
    let program = sm_testkit::real::claude().unwrap().program;
    let file = world.env.project().join("notes.md");
    std::fs::write(&file, document(1)).unwrap();
    let run = format!(
        "RUN: {} --model claude-sonnet-4-5 --allowedTools Bash -p 'RUN: sm handoff {}; echo came-to-$?'",
        program.display(),
        file.display()
    );
    world.send_wait("api", &run, &[]);
    let refused = world.model.wait_for_request(
        |request| {
            let body = request.body.to_string();
            body.contains("came-to-1") && body.contains("only that agent itself can hand over")
        },
        DEADLINE,
    );
    assert!(refused.is_some(), "{}", world.about("api"));
    world.wait_state("api", "idle");
    let listed = world.handoffs("api");
    assert!(
        listed.iter().all(|one| one["state"] == "refused"),
        "{listed:?}"
    );
}
