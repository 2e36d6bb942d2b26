//! How `sm run` ends, without a daemon: what the person is told when no other agent follows, and what
//! is there to go on from.

use crate::own::Own;
use crate::world::{DEADLINE, eventually, process, text};
use rustix::process::Signal;
use serde_json::Value;
use sm_testkit::clean::RecordKind;
use sm_testkit::process::Process;
use sm_testkit::wait_until;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

/// Of 200,000: critical.
pub const FULL: &str = "TOKENS: 160000";
/// The agent is not asked for a document of its own.
pub const AT_ONCE: &str = "[run]\ndeadline_turns = 0\n";

fn after<'a>(text: &'a str, begin: &str) -> &'a str {
    let at = text
        .find(begin)
        .unwrap_or_else(|| panic!("no {begin:?} in {text}"));
    &text[at + begin.len()..]
}

/// The handoff that a text names first.
pub fn named(text: &str) -> String {
    let rest = after(text, "Handoff HO-");
    let end = rest.find(' ').unwrap();
    format!("HO-{}", &rest[..end])
}

/// The last words of the run, once it has ended with this code.
#[track_caller]
pub fn farewell(own: &Own, code: i32, begin: &str) -> String {
    assert_eq!(own.code(), code, "{}", own.about());
    let all = own.all();
    format!("{begin}{}", after(&all, begin))
}

/// How many contexts began with our prompt.
pub fn successors(own: &Own) -> usize {
    let records = own.world.records();
    let begun = |r: &&sm_testkit::clean::Record| {
        r.kind == RecordKind::Prompt && r.text.contains("Continue from handoff (ID: ")
    };
    records.iter().filter(begun).count()
}

/// The channel of the project's folder, which nobody has registered.
pub fn channel(own: &Own) -> String {
    let folder = own.world.env.project().canonicalize().unwrap();
    sm_channel::ChannelName::of_folder(&folder).to_string()
}

pub fn manifest(own: &Own) -> Value {
    let path = own
        .world
        .env
        .home()
        .join(".claude/handoff")
        .join(format!("{}.manifest.json", channel(own)));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What a run leaves behind as long as it lives.
fn run_json(own: &Own) -> Option<(PathBuf, Value)> {
    let runs = own.world.env.sm_home().join("state/runs");
    let folder = std::fs::read_dir(runs).ok()?.flatten().next()?.path();
    let text = std::fs::read_to_string(folder.join("run.json")).ok()?;
    Some((folder, serde_json::from_str(&text).ok()?))
}

/// Who runs this program here.
pub fn running(own: &Own, program: &str) -> Vec<Process> {
    let runs = |found: &Process| {
        let exe = std::fs::read_link(format!("/proc/{}/exe", found.pid.as_raw_nonzero()));
        exe.is_ok_and(|exe| exe.file_name().is_some_and(|name| name == program))
    };
    let mut found = own.world.env.processes();
    found.retain(runs);
    found
}

/// Its agent: the eldest, as one that was forked for a hook is the same program until it is another.
pub fn agent(own: &Own) -> Process {
    let agents = running(own, "fake-agent");
    agents
        .into_iter()
        .min_by_key(|found| found.start())
        .unwrap()
}

/// `sm run --handoff claude` after all this goes on from that handoff, in a new context.
#[track_caller]
pub fn goes_on(own: &Own, id: &str) {
    let before = successors(own);
    own.start_again(&["run", "--handoff", "claude"]);
    eventually("it goes on", || successors(own) == before + 1);
    let records = own.world.records();
    let told = records
        .iter()
        .rfind(|r| r.text.contains("Continue from handoff (ID: "))
        .unwrap();
    assert!(told.text.contains(id), "{id}: {}", told.text);
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

#[test]
fn used_up_restarts_end_with_the_handoff_and_how_to_go_on() {
    let own = Own::without_daemon(AT_ONCE, "");
    own.start(&["run", "--max-restarts", "1", "claude", FULL]);
    eventually("a second context", || successors(&own) == 1);
    own.shows("❯");
    own.enters(FULL);
    let last = farewell(&own, 143, "sm run stops: ");
    assert!(
        last.starts_with("sm run stops: All restarts are used up (--max-restarts). Handoff HO-"),
        "{last}"
    );
    let id = named(&last);
    assert!(
        last.contains(&format!(
            "of channel {} holds where the work stands; go on with: sm run --handoff claude",
            channel(&own)
        )),
        "{last}"
    );
    assert_eq!(successors(&own), 1);
    let shown = manifest(&own).to_string();
    assert!(shown.contains(&id) && shown.contains("active"), "{shown}");
    goes_on(&own, &id);
}

#[test]
fn a_context_that_was_full_without_new_work_is_the_last() {
    let own = Own::without_daemon(AT_ONCE, "turn_tokens=160000");
    own.start(&["run", "claude", "the first thing"]);
    let last = farewell(&own, 143, "sm run stops: ");
    assert!(
        last.starts_with(
            "sm run stops: The last context was full without anything new done in it, so another would not help. Handoff HO-"
        ),
        "{last}"
    );
    assert!(
        last.contains("go on with: sm run --handoff claude"),
        "{last}"
    );
    assert_eq!(successors(&own), 1, "{}", own.about());
    let id = named(&last);
    assert!(manifest(&own).to_string().contains(&id));
}

#[test]
fn a_handoff_beside_another_sessions_is_named_with_how_to_read_it() {
    let own = Own::without_daemon(AT_ONCE, "");
    let world = &own.world;
    let other = world.sm_given(&["channel", "create", "-"], "of somebody else\n");
    let other = other.exits(0).out.trim().to_owned();
    own.start(&["run", "--max-restarts", "1", "claude", FULL]);
    eventually("a second context", || successors(&own) == 1);
    own.shows("❯");
    own.enters(FULL);
    let last = farewell(&own, 143, "sm run stops: ");
    let id = named(&last);
    assert_ne!(id, other);
    let how = format!("sm channel load --id {id}");
    assert!(
        last.contains(&format!(
            "it is in the archive, as another session's is active in channel {}. Read it with: ",
            channel(&own)
        )),
        "{last}"
    );
    assert!(last.contains(&how), "{last}");
    // as it says; and the other session's is still to be had
    let read = world.sm(&["channel", "load", "--id", &id]).exits(0);
    assert!(read.out.contains("Auto-Handoff"), "{}", read.out);
    let load = ["channel", "load"];
    world.sm(&load).exits(0).says("of somebody else");
}

#[test]
fn a_persons_own_exit_is_the_last_word() {
    let own = Own::without_daemon("", "");
    own.start(&["run", "claude"]);
    own.shows("❯");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    let all = own.all();
    for said in ["Handoff", "sm run", "The agent was ended"] {
        assert!(!all.contains(said), "{said}: {all}");
    }
    assert!(run_json(&own).is_none(), "nothing is left of it");
}

#[test]
fn what_the_agent_handed_over_before_it_was_killed_is_kept_and_named() {
    let own = Own::without_daemon("", "");
    let notes = own.world.env.project().join("notes.md");
    std::fs::write(&notes, "# Where it stands\n\nthe parser is done\n").unwrap();
    let gate = own.world.gate("never");
    own.start(&[
        "run",
        "claude",
        &format!(
            "RUN: sm handoff notes.md --force && touch handed\nHOLD: {}",
            gate.display()
        ),
    ]);
    let handed = own.world.env.project().join("handed");
    eventually("it has handed over", || handed.exists());
    let line = std::fs::read_to_string(own.world.env.home().join(".claude/.current-session"));
    assert!(line.is_ok(), "{line:?}");
    // the agent alone, and by nobody that the run knows of
    agent(&own).signal(Signal::KILL);
    let last = farewell(&own, 137, "The agent was ended. ");
    let id = named(&last);
    let load = ["channel", "load"];
    own.world
        .sm(&load)
        .exits(0)
        .says("the parser is done")
        .says(&id);
}

#[test]
fn a_killed_run_leaves_its_generation_nobody_running_and_what_to_go_on_from() {
    let own = Own::without_daemon(AT_ONCE, "");
    own.start(&["run", "claude", FULL]);
    eventually("a second context", || successors(&own) == 1);
    let second = || run_json(&own).filter(|(_, about)| about["generation"] == 2);
    let (folder, about) =
        wait_until(DEADLINE, second).unwrap_or_else(|| panic!("{:?}", run_json(&own)));
    assert_eq!(about["agent"], "claude");
    assert_eq!(about["channel"], channel(&own));
    assert!(about["conversation"].is_string(), "{about}");
    own.shows("❯");
    own.enters("SAY: the printer is next");
    own.shows("● the printer is next");
    let transcript = text(&about["transcript"]);
    eventually("it is in its record", || {
        std::fs::read_to_string(&transcript).is_ok_and(|t| t.contains("the printer is next"))
    });
    process(&about["pid"]).signal(Signal::KILL);
    assert_eq!(own.code(), 137, "{}", own.about());
    // neither the agent nor its keeper outlives it
    eventually("nobody is left", || {
        running(&own, "fake-agent").is_empty() && running(&own, "sm").is_empty()
    });
    assert!(folder.join("run.json").exists(), "what it was is there");
    own.start_again(&["run", "--handoff", "claude"]);
    eventually("it goes on", || successors(&own) == 2);
    let told = own.world.given("the printer is next");
    assert!(!told.text.is_empty());
    let loaded = own
        .world
        .records()
        .into_iter()
        .rfind(|r| r.text.contains("=== HANDOFF LOADED"))
        .unwrap();
    assert!(
        loaded.text.contains("the printer is next"),
        "{}",
        loaded.text
    );
    assert!(!folder.exists(), "it is gone on with once");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

#[test]
fn pins_and_the_state_of_the_repository_go_along() {
    let own = Own::without_daemon(AT_ONCE, "");
    let project = own.world.env.project();
    let git = |words: &[&str]| {
        let mut command = own.world.env.command("git");
        command.args(["-c", "user.name=me", "-c", "user.email=me@localhost"]);
        let done = command.args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q", "-b", "topic"]);
    std::fs::write(project.join("kept.txt"), "one\n").unwrap();
    git(&["add", "kept.txt"]);
    git(&["commit", "-q", "-m", "keep one thing"]);
    std::fs::write(project.join("kept.txt"), "two\n").unwrap();
    own.world
        .sm(&["pin", "add", "--project", "never touch main"])
        .exits(0);
    own.start(&["run", "claude", FULL]);
    eventually("a second context", || successors(&own) == 1);
    let loaded = own.world.given("=== HANDOFF LOADED");
    for part in ["never touch main", "topic", "kept.txt", "keep one thing"] {
        assert!(loaded.text.contains(part), "{part}: {}", loaded.text);
    }
    let archive = own.world.env.home().join(".claude/handoff/archive");
    let documents = || crate::world::files(&archive).into_iter().next();
    let document = wait_until(DEADLINE, documents).unwrap_or_else(|| panic!("{}", own.about()));
    let document = std::fs::read_to_string(document).unwrap();
    for part in ["never touch main", "topic", "kept.txt"] {
        assert!(document.contains(part), "{part}: {document}");
    }
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

/// Of 200,000 tokens, but the agent is set to compact within 100,000, of which it can use 80,000.
#[test]
fn a_context_is_full_by_what_its_agent_can_use() {
    let own = Own::without_daemon(AT_ONCE, "");
    let settings = r#"{"autoCompactWindow":100000}"#;
    own.start(&["run", "claude", "--settings", settings, "TOKENS: 61000"]);
    eventually("a second context", || successors(&own) == 1);
    own.shows("❯");
    own.enters("TOKENS: 55000");
    let status = own.world.env.home().join(".claude/.context-status");
    eventually("it is told to wrap up", || {
        std::fs::read_to_string(&status).is_ok_and(|status| status.starts_with("WARN:"))
    });
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    assert_eq!(successors(&own), 1);
}

/// Two repositories of one person: a handoff made in one is not taken in the other, and waits there.
#[test]
fn a_handoff_of_one_repository_is_not_taken_in_another() {
    let own = Own::without_daemon("", "");
    let [one, two] = ["one", "two"].map(|name| own.world.env.home().join(name));
    for folder in [&one, &two] {
        std::fs::create_dir_all(folder.join("src")).unwrap();
        let mut git = own.world.env.command("git");
        let made = git.args(["init", "-q"]).current_dir(folder).status();
        assert!(made.unwrap().success());
    }
    let mut create = own.world.command(&["channel", "create", "-"]);
    create.current_dir(one.join("src")).stdin(Stdio::piped());
    let mut creating = create.spawn().unwrap();
    let mut stdin = creating.stdin.take().unwrap();
    stdin.write_all(b"the work of one\n").unwrap();
    drop(stdin);
    assert!(creating.wait().unwrap().success());
    // nothing to go on with: said, and no agent is started on the wrong work
    own.start_in(&two, &["run", "--handoff", "claude"]);
    assert_ne!(own.code(), 0, "{}", own.about());
    assert_eq!(successors(&own), 0, "{}", own.about());
    assert_eq!(own.world.times("the work of one"), 0);
    own.start_again_in(&one, &["run", "--handoff", "claude"]);
    eventually("it goes on in its own repository", || successors(&own) == 1);
    assert!(own.world.times("the work of one") > 0);
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

#[test]
fn runs_with_the_same_settings_share_one_kept_file_with_nobodys_permissions() {
    let own = Own::without_daemon("", "");
    let kept = own.world.env.sm_home().join("state/settings");
    let files = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&kept).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    };
    own.start(&["run", "claude"]);
    own.shows("❯");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    let first = files();
    assert_eq!(first.len(), 1, "{first:?}");
    let settings: Value = serde_json::from_slice(&std::fs::read(&first[0]).unwrap()).unwrap();
    assert!(settings["hooks"]["Stop"].is_array(), "{settings}");
    assert_eq!(settings.get("permissions"), None, "{settings}");

    let given = first[0].to_string_lossy().into_owned();
    for again in [
        vec!["run", "claude"],
        vec!["run", "claude", "--settings", &given],
    ] {
        own.start_again(&again);
        own.tmux.call(&["kill-session", "-t", "=beside"]).unwrap();
        own.shows("❯");
        own.enters("/exit");
        assert_eq!(own.code(), 0, "{}", own.about());
        assert_eq!(files(), first, "{again:?}");
    }
}
