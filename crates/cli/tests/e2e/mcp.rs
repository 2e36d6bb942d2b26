//! `sm mcp` as an agent's client sees it: started inside of a session, asked by lines on its standard
//! input. What a handoff came to is read from the daemon and from the successor.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use sm_client::wire;

use crate::family::inside;
use crate::world::{World, eventually, text};

const DOCUMENT: &str =
    "# Goal\nfeed the walrus: \"é\" \\ \u{1f40b}\n\n# State\nhalf done\n\n# Next\n1. go on";

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
}

/// Asks `sm mcp` inside of a session, and gives its answers.
#[track_caller]
fn asked_inside(world: &World, session: &str, requests: &[Value]) -> Vec<Value> {
    let mut lines = vec![
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines.extend(requests.iter().cloned());
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let given = world.env.project().join("mcp-requests");
    std::fs::write(&given, lines.join("\n") + "\n").unwrap();
    // the input ends once all answers are there, as a client's does
    let wanted = requests.len() + 1;
    let answers = world.env.project().join("mcp-answers");
    let command = format!(
        "(cat {0}; until [ $(wc -l < {1}) -ge {wanted} ]; do :; done) | sm mcp > {1}",
        given.display(),
        answers.display()
    );
    let said = inside(world, session, &command);
    assert!(said.ends_with("exit 0\n"), "{said}");
    let printed = std::fs::read_to_string(&answers).unwrap();
    let answers = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    answers.collect()
}

#[track_caller]
fn said(answers: &[Value], id: u64) -> (String, bool) {
    let answer = answers.iter().find(|answer| answer["id"] == id);
    let result = &answer.unwrap_or_else(|| panic!("{id}: {answers:?}"))["result"];
    (
        text(&result["content"][0]["text"]),
        result["isError"] == true,
    )
}

#[test]
fn the_document_of_a_tool_call_reaches_the_successor() {
    let world = World::new();
    let api = world.agent("api");
    let answers = asked_inside(
        &world,
        "api",
        &[
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            call(2, "whoami", json!({})),
            call(3, "context", json!({})),
            call(4, "handoff_template", json!({})),
            call(5, "archive_search", json!({"pattern": "RUN"})),
            call(
                6,
                "handoff",
                json!({"document": DOCUMENT, "focus": "the walrus"}),
            ),
            call(7, "nothing", json!({})),
        ],
    );
    let listed = answers.iter().find(|answer| answer["id"] == 1).unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 5, "{listed}");
    let (me, failed) = said(&answers, 2);
    assert!(!failed && me.contains(&text(&api["id"])), "{me}");
    let (context, failed) = said(&answers, 3);
    assert!(!failed && context.contains("used_percentage"), "{context}");
    let (template, failed) = said(&answers, 4);
    assert!(!failed && template.starts_with("# Handoff"), "{template}");
    let (found, failed) = said(&answers, 5);
    assert!(!failed && found.contains("RUN"), "{found}");
    let (scheduled, failed) = said(&answers, 6);
    assert!(
        !failed && scheduled.starts_with("Handoff scheduled"),
        "{scheduled}"
    );
    let unknown = answers.iter().find(|answer| answer["id"] == 7).unwrap();
    assert!(unknown["error"].is_object(), "{unknown}");

    eventually("the handoff is done", || {
        world.sm(&["handoffs", "api", "--json"]).json()[0]["state"] == "done"
    });
    let done = world.sm(&["handoffs", "api", "--json"]).exits(0).json()[0].clone();
    assert_eq!(
        (&done["trigger"], &done["author"]),
        (&json!("agent"), &json!("agent"))
    );
    let copy = std::fs::read_to_string(text(&done["copy"])).unwrap();
    assert!(copy.ends_with(DOCUMENT), "{copy}");
    world.given("feed the walrus");
    assert_eq!(world.show("api")["generation"], 2);
}

#[test]
fn the_gate_answers_a_tool_call_as_it_does_the_command() {
    let world = World::new();
    world.agent("api");
    let answers = asked_inside(
        &world,
        "api",
        &[
            call(1, "handoff", json!({"document": " \n"})),
            call(2, "handoff", json!({"document": "x".repeat(4_194_305)})),
            call(3, "archive_search", json!({"pattern": "("})),
        ],
    );
    for (id, why) in [(1, "empty"), (2, "4194304"), (3, "pattern")] {
        let (text, failed) = said(&answers, id);
        assert!(
            failed && text.starts_with("Error: ") && text.contains(why),
            "{text}"
        );
    }
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["generation"], 1);
}

/// A server that was started by the test itself, in the environment of a session.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn start(world: &World, session: &str) -> Self {
        let mut child = world
            .command(&["mcp"])
            .env(wire::SESSION_VAR, session)
            .env(wire::SECRET_VAR, "not-the-secret")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut served = Self {
            child,
            input,
            output,
        };
        served.tell(&initialize());
        assert_eq!(served.hear()["result"]["serverInfo"]["name"], "sm");
        served
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ends(mut self) -> Option<i32> {
        drop(self.input);
        self.child.wait().unwrap().code()
    }
}

#[test]
fn who_does_not_prove_the_session_hands_nothing_over() {
    let world = World::new();
    let api = text(&world.agent("api")["id"]);
    let mut served = Served::start(&world, &api);
    served.tell(&call(1, "handoff", json!({"document": DOCUMENT})));
    let (text, failed) = said(&[served.hear()], 1);
    assert!(
        failed && text.contains("not a process of session"),
        "{text}"
    );
    assert_eq!(served.ends(), Some(0));
    assert_eq!(world.show("api")["generation"], 1);
}

#[test]
fn a_daemon_that_stands_still_is_answered_for() {
    let world = World::new();
    let api = text(&world.agent("api")["id"]);
    let mut served = Served::start(&world, &api);
    let daemon = world.daemon().pid;
    kill_process(daemon, Signal::STOP).unwrap();
    for (id, tool) in (1..).zip(["handoff", "whoami", "context", "archive_search"]) {
        served.tell(&call(
            id,
            tool,
            json!({"document": DOCUMENT, "pattern": "x"}),
        ));
    }
    let mut answers: Vec<Value> = (0..4).map(|_| served.hear()).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for id in 1..=4 {
        // it is still stopped: nobody but us has answered
        let (text, failed) = said(&answers, id);
        assert!(failed && text.contains("did not answer"), "{text}");
    }
    let (handoff, _) = said(&answers, 1);
    assert!(
        handoff.contains("call handoff again with the same document"),
        "{handoff}"
    );
    kill_process(daemon, Signal::CONT).unwrap();
    assert_eq!(served.ends(), Some(0));
}

#[test]
fn a_thousand_requests_that_are_none_end_nothing() {
    let world = World::new();
    let mut served = Served::start(&world, "1a2b3c4d");
    let good = call(1, "whoami", json!({})).to_string();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(below).unwrap()).unwrap()
    };
    let odd = [
        json!(null),
        json!([]),
        json!(17),
        json!("x"),
        json!({"jsonrpc": "2.0"}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call"}),
        json!({"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": []}),
        json!({"jsonrpc": "1.0", "id": 5, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "no/such", "params": {"a": [1]}}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": 3}}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "handoff", "arguments": "x"}}),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 5, "error": {"code": "x"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
        json!([initialize(), initialize()]),
    ];
    let output = served.output;
    let reader = std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        let last = lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
        last.filter(|answer| answer["id"] == "the last").count()
    });
    for number in 0..1000 {
        let mut line = match number % 3 {
            0 => odd[next(odd.len())].to_string().into_bytes(),
            // a good one with bytes changed, or cut
            1 => {
                let mut line = good.clone().into_bytes();
                for _ in 0..=next(4) {
                    let at = next(line.len());
                    line[at] = u8::try_from(next(256)).unwrap();
                }
                line
            }
            _ => good.as_bytes()[..next(good.len())].to_vec(),
        };
        line.push(b'\n');
        served.input.write_all(&line).unwrap();
    }
    let last = json!({"jsonrpc": "2.0", "id": "the last", "method": "tools/list"});
    writeln!(served.input, "{last}").unwrap();
    drop(served.input);
    assert_eq!(reader.join().unwrap(), 1, "the last one was answered");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn fifty_calls_at_once_are_all_answered() {
    let world = World::new();
    let api = text(&world.agent("api")["id"]);
    let mut served = Served::start(&world, &api);
    for id in 1..=50 {
        served.tell(&call(
            id,
            ["whoami", "handoff_template"][id as usize % 2],
            json!({}),
        ));
    }
    let answers: Vec<Value> = (0..50).map(|_| served.hear()).collect();
    for id in 1..=50 {
        let (text, failed) = said(&answers, id);
        assert!(!failed, "{text}");
    }
    assert_eq!(served.ends(), Some(0));
}

/// Each agent has a server of its own: all that a machine has of them ask at the same time.
#[test]
fn fifty_servers_at_once_answer_each_for_its_own_session() {
    let world = World::new();
    let sessions = ["api", "web"].map(|name| (name, text(&world.agent(name)["id"])));
    let mut servers: Vec<(usize, Served)> = (0..50)
        .map(|n| (n % 2, Served::start(&world, &sessions[n % 2].1)))
        .collect();
    for (_, served) in &mut servers {
        for (id, tool) in (1..).zip(["handoff_template", "context", "whoami"]) {
            served.tell(&call(id, tool, json!({})));
        }
    }
    for (whose, mut served) in servers {
        let answers: Vec<Value> = (0..3).map(|_| served.hear()).collect();
        let [template, context, whoami] = [1, 2, 3].map(|id| {
            let (text, failed) = said(&answers, id);
            assert!(!failed, "{text}");
            text
        });
        assert!(template.contains('#'), "{template}");
        let context: Value = serde_json::from_str(&context).unwrap();
        assert_eq!(context["generation"], 1, "{context}");
        let whoami: Value = serde_json::from_str(&whoami).unwrap();
        let (name, id) = &sessions[whose];
        assert_eq!((&whoami["name"], &whoami["id"]), (&json!(name), &json!(id)));
        assert_eq!(served.ends(), Some(0));
    }
}

#[test]
fn an_agent_is_given_its_tools_unless_it_has_a_server_of_that_name() {
    let world = World::new();
    world.agent("api");
    let argv = |session: &str| {
        let pid = &world.show(session)["pid"];
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    let given = argv("api");
    assert!(
        given.contains("--mcp-config={\"mcpServers\":{\"sm\":"),
        "{given}"
    );
    let own = json!({"mcpServers": {"sm": {"command": "mine"}}}).to_string();
    std::fs::write(world.env.project().join(".mcp.json"), &own).unwrap();
    world.agent("other");
    let given = argv("other");
    assert!(!given.contains("--mcp-config"), "{given}");
    let settings = |session: &str| {
        let id = text(&world.show(session)["id"]);
        let folder = world.paths().session_dir(&id);
        std::fs::read_to_string(folder.join("settings.json")).unwrap()
    };
    assert!(settings("api").contains("\"mcp__sm__handoff\""));
    assert!(
        !settings("other").contains("mcp__sm"),
        "theirs is not ours to allow"
    );
}

#[test]
fn an_agent_that_the_agent_has_started_cannot_hand_over() {
    let world = World::new();
    let programs = world.env.home().join("programs");
    let nested = programs.join("nested");
    std::fs::create_dir_all(&nested).unwrap();
    let own = programs.join("claude");
    std::os::unix::fs::symlink(sm_testkit::clean::binary("fake-agent").unwrap(), &own).unwrap();
    let config = format!("[agents.claude]\nprogram = {own:?}\n");
    std::fs::write(world.config_file(), config).unwrap();
    let script = nested.join("claude");
    std::fs::write(&script, "#!/bin/sh\nsm handoff \"$1\"; exit $?\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let notes = world.env.project().join("notes.md");
    std::fs::write(&notes, DOCUMENT).unwrap();
    world.agent("api");
    let said = inside(
        &world,
        "api",
        &format!("{} {}", script.display(), notes.display()),
    );
    assert!(
        said.contains("another agent asks") && said.ends_with("exit 1\n"),
        "{said}"
    );
    world.wait_for("api", "idle");
    assert_eq!(world.show("api")["generation"], 1);
    // programs that are no agents may stand between
    let said = inside(
        &world,
        "api",
        &format!("env sh -c 'sm handoff {}; exit $?'", notes.display()),
    );
    assert!(said.contains("Handoff scheduled"), "{said}");
}
