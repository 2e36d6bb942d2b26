//! `sm run claude`: contexts that fill up are left for fresh ones, and nobody needs a daemon for it.

use crate::claude;
use crate::common::World;
use crate::common::run::{PANE, PATIENCE, Walk, handed};
use rustix::process::Pid;
use serde_json::Value;
use sm_testkit::model::{Request, conversation_of, texts_of};
use sm_testkit::process::Process;
use sm_testkit::real;
use sm_testkit::wait_until;
use std::collections::BTreeSet;

const MODEL: [&str; 4] = ["--model", "claude-sonnet-4-5", "--allowedTools", "Bash"];
/// Of 200,000.
const LOW: u64 = 20_000;
const HIGH: u64 = 160_000;

/// Each context does one step of the work.
const STEPS: [(&str, &str); 2] = [
    ("begin the work", "RUN: sh step work"),
    ("Continue from handoff", "RUN: sh step work"),
];

fn walk(test: &str) -> Option<Walk> {
    let walk = Walk::new(claude(test)?);
    walk.when(&STEPS);
    Some(walk)
}

/// `sm run` with these options, and the person's first prompt.
fn begin(walk: &Walk, options: &[&str]) {
    let mut args = vec!["run"];
    args.extend(options);
    args.push("claude");
    args.extend(MODEL);
    args.extend(["--", "begin the work"]);
    walk.start(&args);
}

fn all(context: &[Request]) -> String {
    context
        .iter()
        .flat_map(texts_of)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The channel of the project's folder, which nobody has registered.
fn channel(walk: &Walk) -> String {
    let folder = walk.world.env.project().canonicalize().unwrap();
    sm_channel::ChannelName::of_folder(&folder).to_string()
}

fn manifest(walk: &Walk) -> Value {
    let path = walk
        .world
        .env
        .home()
        .join(".claude/handoff")
        .join(format!("{}.manifest.json", channel(walk)));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn dot_file(walk: &Walk, name: &str) -> Option<String> {
    std::fs::read_to_string(walk.world.env.home().join(".claude").join(name)).ok()
}

#[test]
fn run_goes_through_twenty_contexts_and_ends_when_told() {
    const ROTATIONS: usize = 20;
    let Some(walk) = walk("run_goes_through_twenty_contexts_and_ends_when_told") else {
        return;
    };
    walk.tokens(HIGH);
    begin(&walk, &["--max-restarts", "unlimited"]);
    for n in 1..=ROTATIONS {
        walk.reached("work", n);
        if n == 1 {
            let status = dot_file(&walk, ".context-status").unwrap();
            assert!(
                status.starts_with("OK:") || status.starts_with("CRITICAL:"),
                "{status}"
            );
        }
        if n == ROTATIONS {
            walk.tokens(LOW);
        }
        walk.go_on("work", n);
    }
    walk.reached("work", ROTATIONS + 1);
    let current = dot_file(&walk, ".current-session").unwrap();
    walk.go_on("work", ROTATIONS + 1);
    let contexts =
        || Some(walk.contexts()).filter(|c| c.get(ROTATIONS).is_some_and(|c| c.len() >= 2));
    let contexts = wait_until(PATIENCE, contexts).unwrap_or_else(|| panic!("{}", walk.about()));
    assert_eq!(contexts.len(), ROTATIONS + 1, "{}", walk.about());

    let mut ids = BTreeSet::new();
    for (n, context) in contexts.iter().enumerate() {
        let conversation = conversation_of(&context[0]).unwrap();
        assert_eq!(
            n == ROTATIONS,
            current.starts_with(conversation),
            "{current}"
        );
        if n == 0 {
            continue;
        }
        let texts = all(context);
        let previous = conversation_of(&contexts[n - 1][0]).unwrap();
        assert!(ids.insert(handed(context)), "each has its own: {ids:?}");
        for part in [
            format!("Previous Session: {previous}\nType: auto\n"),
            format!("**Session:** {previous}"),
            format!("**Project:** {}", walk.world.env.project().display()),
            format!("Channel: {}\n", channel(&walk)),
            "## Recent Activity".to_owned(),
            "begin the work".to_owned(),
            "## Instructions".to_owned(),
        ] {
            assert!(texts.contains(&part), "{part} is not in {texts}");
        }
    }
    // Told in the turn, and gone on.
    assert!(all(&contexts[0]).contains("[sm run] This context is at 80 % of its window"));
    assert!(!all(&contexts[ROTATIONS]).contains("[sm run] This context is"));
    let last = manifest(&walk);
    assert_eq!(last["current"]["status"], "consumed", "{last}");
    assert!(
        ids.contains(last["current"]["id"].as_str().unwrap()),
        "{last}"
    );

    walk.wait_seen("RUN done");
    assert_eq!(walk.leave("/exit"), 0, "{}", walk.about());
    assert_eq!(
        walk.contexts().len(),
        ROTATIONS + 1,
        "nothing after a goodbye"
    );
    assert_eq!(dot_file(&walk, ".current-session"), None);
    assert_eq!(dot_file(&walk, ".context-status"), None);
    assert!(walk.world.daemon().is_none(), "nobody needed one");
    let runs = walk.world.env.sm_home().join("state/runs");
    assert_eq!(std::fs::read_dir(runs).unwrap().count(), 0);
}

#[test]
fn run_gives_the_successor_what_its_agent_wrote() {
    let Some(walk) = walk("run_gives_the_successor_what_its_agent_wrote") else {
        return;
    };
    let notes = "# Where it stands\\n\\nthe parser is done, the printer is not\\n";
    let hand = format!("RUN: printf '{notes}' > notes.md && sm handoff notes.md");
    walk.when(&[
        ("begin the work", &hand),
        ("Continue from handoff", "RUN: sh step work"),
    ]);
    walk.tokens(LOW);
    begin(&walk, &[]);
    walk.reached("work", 1);
    walk.go_on("work", 1);
    let contexts = walk.wait_contexts(2);
    let id = handed(&contexts[1]);
    let (first, second) = (all(&contexts[0]), all(&contexts[1]));
    assert!(
        first.contains("Handoff scheduled — will execute after current turn completes"),
        "{first}"
    );
    assert!(
        second.contains("the parser is done, the printer is not"),
        "{second}"
    );
    assert!(second.contains("Type: manual\n"), "{second}");
    assert!(walk.world.daemon().is_none(), "nobody needed one");
    let archived = walk
        .world
        .env
        .home()
        .join(format!(".claude/handoff/archive/{id}.md"));
    assert!(archived.is_file());
    assert_eq!(walk.leave("/exit"), 0, "{}", walk.about());
}

/// Claude Code asks for permissions as it does by default, and nobody answers.
#[test]
fn run_needs_nobody_for_what_its_agent_hands_over() {
    let Some(walk) = walk("run_needs_nobody_for_what_its_agent_hands_over") else {
        return;
    };
    let command = "sm handoff - <<'END'\n# Where it stands\nthe printer is next\nEND";
    let hand = format!(
        "TOOL: Bash {}",
        serde_json::json!({"command": command, "description": "hand over"})
    );
    walk.when(&[
        ("begin the work", &hand),
        ("Continue from handoff", "SAY: I go on."),
    ]);
    walk.tokens(LOW);
    walk.start(&[
        "run",
        "claude",
        "--model",
        "claude-sonnet-4-5",
        "--",
        "begin the work",
    ]);
    let contexts = walk.wait_contexts(2);
    let second = all(&contexts[1]);
    assert!(second.contains("the printer is next"), "{second}");
    walk.wait_seen("I go on.");
    assert_eq!(walk.leave("/exit"), 0, "{}", walk.about());
}

#[test]
fn run_is_restarted_by_a_signal_that_names_its_session() {
    let Some(walk) = walk("run_is_restarted_by_a_signal_that_names_its_session") else {
        return;
    };
    walk.tokens(LOW);
    begin(&walk, &[]);
    walk.reached("work", 1);
    let restart = walk.world.env.home().join(".claude/.restart-session");
    let log = walk.world.env.home().join(".claude/handoff/handoff.log");
    let other = "00000000-94b9-4841-b82f-a62cfb8efdc0";
    std::fs::write(&restart, format!("{other}:/somewhere\n")).unwrap();
    let ignored = || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.contains(&format!(".restart-session names {other}"))
            .then_some(())
    };
    assert!(wait_until(PATIENCE, ignored).is_some(), "{}", walk.about());
    assert!(restart.is_file(), "it is somebody else's");
    assert_eq!(walk.contexts().len(), 1);
    // The shell library's order: the handoff first, then the signal.
    let current = dot_file(&walk, ".current-session").unwrap();
    let session = current.split(':').next().unwrap();
    let made = walk
        .world
        .sm_with(&["channel", "create", "--type", "auto"], "left by a hook\n");
    let id = made.exits(0).out.trim().to_owned();
    std::fs::write(&restart, format!("{session}:/somewhere\n")).unwrap();
    walk.reached("work", 2);
    walk.go_on("work", 2);
    let contexts = walk.wait_contexts(2);
    assert_eq!(handed(&contexts[1]), id);
    assert!(all(&contexts[1]).contains("left by a hook"));
    assert!(!restart.exists(), "it was good for one restart");
    walk.wait_seen("RUN done");
    assert_eq!(walk.leave("/exit"), 0, "{}", walk.about());
}

#[test]
fn run_stops_when_its_restarts_are_used_up() {
    let Some(walk) = walk("run_stops_when_its_restarts_are_used_up") else {
        return;
    };
    walk.tokens(HIGH);
    begin(&walk, &["--max-restarts", "1"]);
    for n in 1..=2 {
        walk.reached("work", n);
        walk.go_on("work", n);
    }
    assert_ne!(walk.code(), 0, "{}", walk.about());
    assert_eq!(walk.contexts().len(), 2);
    let last = manifest(&walk);
    assert_eq!(last["current"]["status"], "active", "{last}");
    let seen = walk.seen().replace('\n', "");
    assert!(seen.contains("All restarts are used up"), "{seen}");
    assert!(
        seen.contains(last["current"]["id"].as_str().unwrap()),
        "{seen}"
    );
}

#[test]
fn run_killed_is_gone_on_with_from_what_it_left() {
    let Some(walk) = walk("run_killed_is_gone_on_with_from_what_it_left") else {
        return;
    };
    walk.tokens(LOW);
    begin(&walk, &[]);
    walk.reached("work", 1);
    let runs = walk.world.env.sm_home().join("state/runs");
    let folder = std::fs::read_dir(&runs)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let about = || -> Option<Value> {
        serde_json::from_slice(&std::fs::read(folder.join("run.json")).ok()?).ok()
    };
    let wrapper = about().unwrap()["pid"].as_i64().unwrap();
    let wrapper = Process::find(Pid::from_raw(wrapper as i32).unwrap()).unwrap();
    let agents = Process::with_env("SM_RUN", folder.as_os_str());
    assert!(!agents.is_empty());
    wrapper.kill();
    walk.go_on("work", 1); // its tool is its own business
    let gone = || agents.iter().all(|agent| !agent.is_alive()).then_some(());
    assert!(wait_until(PATIENCE, gone).is_some(), "{}", walk.about());
    let first = conversation_of(&walk.contexts()[0][0]).unwrap().to_owned();

    let mut args = vec!["run", "--handoff", "claude"];
    args.extend(MODEL);
    walk.run("again", &args);
    walk.reached("work", 2);
    walk.go_on("work", 2);
    let contexts = walk.wait_contexts(2);
    handed(&contexts[1]);
    let texts = all(&contexts[1]);
    assert!(
        texts.contains(&format!("Previous Session: {first}\n")),
        "{texts}"
    );
    assert!(texts.contains("begin the work"), "{texts}");
    assert!(!folder.exists(), "what was left is taken over");
    let there = || walk.seen_of("again").contains("RUN done").then_some(());
    assert!(
        wait_until(PATIENCE, there).is_some(),
        "{}",
        walk.seen_of("again")
    );
}

#[test]
fn without_sm_an_agent_picks_up_the_channels_handoff_and_its_own_after_a_compaction() {
    let test = "without_sm_an_agent_picks_up_the_channels_handoff_and_its_own_after_a_compaction";
    let Some(walk) = walk(test) else { return };
    // There has to be something to compact.
    walk.when(&[("the first prompt", "RUNMANY: 5 echo a step")]);
    walk.tokens(LOW);
    let folder = walk.world.env.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    walk.world.sm(&["hooks", "install", "claude"]).exits(0);
    let made = walk
        .world
        .sm_with(&["channel", "create"], "left for whoever comes\n");
    let id = made.exits(0).out.trim().to_owned();

    let claude = sm_testkit::real::claude().unwrap().program;
    walk.command(
        "person",
        &claude,
        &[&MODEL[..], &["--", "the first prompt"]].concat(),
    );
    let contexts = walk.wait_contexts(1);
    let first = all(&contexts[0]);
    assert!(
        first.contains(&format!("=== HANDOFF LOADED (ID: {id}) ===")),
        "{first}"
    );
    assert!(first.contains("left for whoever comes"), "{first}");
    assert_eq!(manifest(&walk)["current"]["status"], "consumed");
    let session = conversation_of(&contexts[0][0]).unwrap().to_owned();

    // What is typed before the turn is over waits, and may come back.
    let over = |seen: String| {
        seen.lines()
            .any(|l| l.starts_with("✻ ") && l.contains(" for "))
    };
    let over = || over(walk.seen()).then_some(());
    assert!(wait_until(PATIENCE, over).is_some(), "{}", walk.about());
    walk.say("/compact", || {
        manifest(&walk)["current"]["session_id"] == session.as_str()
    });
    let taken = || (manifest(&walk)["current"]["status"] == "consumed").then_some(());
    assert!(wait_until(PATIENCE, taken).is_some(), "{}", walk.about());
    let own = manifest(&walk)["current"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(own, id);
    let begins = format!("=== HANDOFF LOADED (ID: {own}) ===");
    walk.say("what comes next", || {
        let contexts = walk.contexts();
        contexts.last().is_some_and(|context| {
            texts_of(&context[context.len() - 1])
                .iter()
                .any(|text| text.contains("what comes next"))
        })
    });
    let last = walk.contexts().pop().unwrap().pop().unwrap();
    let last = texts_of(&last).join("\n");
    assert!(last.contains(&begins), "{last}");
    assert!(last.contains("Auto-Handoff (Pre-Compaction)"), "{last}");
    assert_eq!(walk.leave("/exit"), 0);
}

#[test]
fn run_loses_nothing_that_is_typed_while_contexts_change() {
    let Some(walk) = walk("run_loses_nothing_that_is_typed_while_contexts_change") else {
        return;
    };
    walk.tokens(HIGH);
    begin(&walk, &[]);
    let over = |screen: &str| {
        let mut lines = screen.lines();
        lines.any(|line| line.starts_with('✻') && line.contains(" for "))
    };
    walk.writes_while_contexts_change(LOW, over);
    assert_eq!(walk.leave("/exit"), 0, "{}", walk.about());
}

#[test]
fn run_stops_with_its_agent_and_goes_on_with_it() {
    let Some(walk) = walk("run_stops_with_its_agent_and_goes_on_with_it") else {
        return;
    };
    walk.tokens(LOW);
    let line = format!("run claude {} -- 'begin the work'", MODEL.join(" "));
    walk.stops_and_goes_on(&line, "/exit");
}

/// What Claude prints at its end is a line that a person can paste.
fn the_farewell_resumes(world: World, program: &std::path::Path) {
    let walk = Walk::new(world);
    walk.when(&[("begin the work", "SAY: it is begun")]);
    walk.tokens(LOW);
    begin(&walk, &[]);
    walk.wait_contexts(1);
    walk.wait_seen("it is begun");
    // The newest names its options only where they fit into a line.
    let wide = ["resize-window", "-x", "500", "-y", "40", "-t"];
    let target = format!("={PANE}:");
    walk.tmux.call(&[&wide[..], &[&target]].concat()).unwrap();
    assert_eq!(walk.leave("/exit"), 0, "{}", walk.about());
    const LEAD: &str = "Resume this session with:";
    walk.wait_seen(LEAD);
    let seen = walk.seen();
    // The terminal has broken it into lines.
    let (_, after) = seen.rsplit_once(LEAD).unwrap();
    let lines = after.lines().skip(1).take_while(|line| !line.is_empty());
    let printed: String = lines.collect();
    assert!(printed.contains("--resume"), "{printed:?} in\n{seen}");
    let bin = walk.world.env.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(program, bin.join("claude")).unwrap();
    let line = format!("PATH='{}':$PATH; {printed}", bin.display());
    walk.command("again", std::path::Path::new("/bin/sh"), &["-c", &line]);
    let resumed = || {
        let seen = walk.seen_of("again");
        (seen.contains("begin the work") && seen.contains("it is begun")).then_some(())
    };
    assert!(
        wait_until(PATIENCE, resumed).is_some(),
        "{printed}\n{}",
        walk.seen_of("again")
    );
    // And it is that conversation.
    walk.tmux.type_text("again", "and then").unwrap();
    let typed = || walk.seen_of("again").contains("and then").then_some(());
    assert!(wait_until(PATIENCE, typed).is_some());
    let asked = || {
        walk.tmux.key("again", "Enter").unwrap();
        let done = || {
            let contexts = walk.contexts();
            let last = all(contexts.last()?);
            (contexts.len() == 1 && last.contains("and then")).then_some(())
        };
        wait_until(std::time::Duration::from_secs(3), done)
    };
    assert!(wait_until(PATIENCE, asked).is_some(), "{}", walk.about());
}

#[test]
fn the_resume_line_that_claude_prints_works() {
    let test = "the_resume_line_that_claude_prints_works";
    if let Some(world) = claude(test) {
        the_farewell_resumes(world, &real::claude().unwrap().program);
    }
}

#[test]
fn the_resume_line_that_the_newest_claude_prints_works() {
    let test = "the_resume_line_that_the_newest_claude_prints_works";
    if let Some(world) = World::claude_newest(test) {
        the_farewell_resumes(world, &real::claude_newest().unwrap().program);
    }
}
