//! `sm watch` in a person's terminal, with a real daemon and fake agents: what is on the screen, what
//! the keys do, and that the terminal is afterwards as it was before.

use crate::world::{DEADLINE, World};
use rustix::process::{Pid, Signal};
use sm_testkit::clean::binary;
use sm_testkit::person::Person;
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

const PANE: &str = "watch";

/// A terminal that the daemon knows nothing of, with `sm watch` in it.
struct Desk {
    tmux: Tmux,
}

impl Desk {
    fn new(world: &World, cols: u16, rows: u16) -> Self {
        let sm = binary("sm").unwrap();
        Self::running(world, (cols, rows), &[&sm.to_string_lossy(), "watch"])
    }

    fn running(world: &World, size: (u16, u16), argv: &[&str]) -> Self {
        let tmux = Tmux::new().unwrap();
        let (env, cwd) = (world.env.env(), world.env.project());
        tmux.start(PANE, size, &cwd, &env, argv).unwrap();
        Self { tmux }
    }

    fn screen(&self) -> String {
        self.tmux.screen(PANE).unwrap_or_default()
    }

    #[track_caller]
    fn until(&self, what: &str, so: impl Fn(&str) -> bool) {
        let seen = wait_until(DEADLINE, || so(&self.screen()).then_some(()));
        assert!(seen.is_some(), "never {what}:\n{}", self.screen());
    }

    #[track_caller]
    fn shows(&self, part: &str) {
        self.until(part, |screen| screen.contains(part));
    }

    fn key(&self, key: &str) {
        self.tmux.key(PANE, key).unwrap();
    }

    fn types(&self, text: &str) {
        self.tmux.type_text(PANE, text).unwrap();
    }

    /// Says yes to a question once it can be answered.
    #[track_caller]
    fn answers_yes(&self) {
        self.shows("y yes, n no");
        self.types("y");
    }

    fn resize(&self, cols: u16, rows: u16) {
        let (cols, rows) = (cols.to_string(), rows.to_string());
        let target = format!("={PANE}:");
        let args = ["resize-window", "-t", &target, "-x", &cols, "-y", &rows];
        self.tmux.call(&args).unwrap();
    }
}

#[test]
fn watch_shows_a_session_and_follows_a_message_to_consumed() {
    let world = World::new();
    world.agent("api");
    let desk = Desk::new(&world, 80, 24);
    desk.shows("1 session, nobody needs you");
    desk.shows("api");
    desk.shows("idle");
    // one that comes later is there by itself
    world.agent("worker");
    desk.shows("2 sessions");
    desk.types("m");
    desk.shows("to api (sequential):");
    desk.key("Tab");
    desk.shows("to api (important):");
    desk.types("say hello to the watcher");
    desk.key("Enter");
    world.given("say hello to the watcher");
    desk.shows("3 messages");
    desk.until("consumed twice", |screen| {
        screen.matches("consumed").count() == 2 // in the session, and as the receipt
    });
    desk.key("2");
    desk.until("its timeline", |screen| screen.contains("g1 "));
    desk.key("Escape");
    desk.key("Escape");
    desk.shows("worker");
    desk.types("/work");
    desk.shows("(1 of 2)");
    desk.key("Enter");
    desk.until("only one", |screen| !screen.contains("api "));
}

#[test]
fn watch_is_two_panes_on_a_wide_terminal_and_follows_its_size() {
    let world = World::new();
    world.agent("api");
    let desk = Desk::new(&world, 200, 60);
    desk.until("both", |screen| {
        screen.contains("1 output") && screen.contains("SESSIONS (1)") && screen.contains("│")
    });
    world.send_wait("api", "SAY: something to be seen");
    desk.shows("something to be seen");
    desk.resize(80, 24);
    desk.until("the list alone", |screen| {
        screen.contains("SESSIONS (1)") && !screen.contains("1 output")
    });
    assert!(desk.screen().lines().all(|line| line.chars().count() <= 80));
    desk.resize(30, 6);
    desk.shows("terminal too small");
    desk.resize(120, 30);
    desk.shows("1 output");
    desk.types("?");
    desk.shows("hand off to a fresh context");
}

/// What the other scenarios do not press.
#[test]
fn watch_answers_to_every_key() {
    let world = World::new();
    world.agent("api");
    for name in ["web", "worker"] {
        world.agent(name);
    }
    // more than fits, so that there is something to scroll
    let much: Vec<String> = (1..=40).map(|n| format!("SAY: line {n} of 40")).collect();
    world.send_wait("api", &much.join("\n"));
    let desk = Desk::new(&world, 80, 24);
    desk.shows("SESSIONS (3)");
    let chosen = |name: &str| {
        let mark = format!("▸ idle        {name} ");
        desk.shows(&mark);
    };
    chosen("api");
    for (key, name) in [
        ("j", "web"),
        ("Down", "worker"),
        ("k", "web"),
        ("Up", "api"),
        ("End", "worker"),
        ("Home", "api"),
        ("NPage", "worker"),
        ("PPage", "api"),
    ] {
        desk.key(key);
        chosen(name);
    }
    for grouping in ["by family, sort: name", "by directory, sort: name"] {
        desk.types("g");
        desk.shows(grouping);
    }
    desk.shows("(3)");
    desk.types("g");
    desk.shows("SESSIONS (3)");
    desk.types("/state:idle api");
    desk.shows("SESSIONS (1)");
    desk.key("Escape");
    desk.shows("SESSIONS (3)");
    desk.key("Enter");
    desk.shows("last "); // the curve of its context, or its label
    for (key, sign) in [
        ("2", "g1 "),
        ("BTab", "line 40 of 40"),
        ("Right", "g1 "),
        ("3", "consumed"),
        ("Left", "g1 "),
        ("Tab", "consumed"),
        ("4", "no handoffs yet"),
    ] {
        desk.key(key);
        desk.shows(sign);
    }
    desk.key("1");
    desk.shows("line 40 of 40");
    let gone = |part: &str| desk.until(part, |screen| !screen.contains(part));
    desk.key("PPage");
    gone("line 40 of 40");
    for key in ["k", "j", "Up", "Down"] {
        desk.key(key);
    }
    desk.key("NPage");
    desk.shows("line 40 of 40");
    desk.key("Home");
    gone("line 40 of 40");
    desk.key("End");
    desk.shows("line 40 of 40");
    desk.key("C-l");
    desk.key("BSpace");
    desk.shows("SESSIONS (3)");
    desk.types("r");
    desk.shows("it lives: nothing to restore");
    desk.key("Escape");
    desk.until("no note", |screen| !screen.contains("it lives"));
    chosen("api");
}

#[test]
fn watch_kills_after_a_yes_and_brings_back() {
    let world = World::new();
    world.agent("api");
    let desk = Desk::new(&world, 80, 24);
    desk.shows("SESSIONS (1)");
    desk.shows("K kill");
    desk.types("K");
    desk.shows("kill api?");
    desk.types("n");
    desk.shows("nothing was done");
    assert_eq!(world.show("api")["state"], "idle");
    // a sentence is no answer, whatever letters are in it
    desk.shows("K kill");
    desk.types("K");
    desk.shows("y yes, n no");
    desk.types("yes, but not now");
    desk.shows("nothing was done: only y alone");
    assert_eq!(world.show("api")["state"], "idle");
    desk.shows("K kill");
    desk.types("K");
    desk.shows("kill api?");
    desk.answers_yes();
    desk.shows("is ended");
    world.wait_for("api", "exited");
    desk.shows("r restore");
    desk.types("r");
    desk.shows("start api again");
    desk.answers_yes();
    desk.shows("is started again");
    world.ready("api");
    desk.until("idle again", |screen| screen.contains("idle  "));
}

#[test]
fn watch_attaches_and_comes_back() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "SAY: on the agent's own screen");
    let desk = Desk::new(&world, 80, 24);
    desk.shows("SESSIONS (1)");
    desk.types("a");
    desk.until("the agent", |screen| {
        screen.contains("on the agent's own screen") && !screen.contains("SESSIONS")
    });
    desk.key("C-b");
    desk.key("d");
    desk.shows("SESSIONS (1)");
    // and it works as before
    desk.types("s");
    desk.shows("sort: state");
    desk.resize(100, 30);
    desk.types("?");
    desk.shows("draw anew");
    assert_eq!(world.show("api")["state"], "idle");
}

#[test]
fn watch_hands_off_and_takes_back() {
    let world = World::new();
    world.agent("api");
    let gate = world.gate("go");
    world.send_wait("api", &format!("Paint it.\nHOLD: {}", gate.display()));
    world.wait_for("api", "working");
    let desk = Desk::new(&world, 80, 24);
    desk.shows("h hand off");
    desk.types("h");
    desk.shows("hand off api now");
    desk.answers_yes();
    desk.shows("the handoff is scheduled");
    desk.shows("h cancel handoff");
    desk.types("h");
    desk.shows("cancel the handoff of api?");
    desk.answers_yes();
    desk.shows("the handoff is cancelled");
    desk.shows("h hand off");
    desk.types("h");
    desk.shows("hand off api now");
    desk.answers_yes();
    desk.shows("h cancel handoff");
    std::fs::write(&gate, "").unwrap();
    desk.types("4");
    desk.until("both, with their steps", |screen| {
        screen.contains("cancelled") && screen.contains("done")
    });
    assert_eq!(world.show("api")["generation"], 2);
    desk.shows("generation 2");
}

#[test]
fn watch_tells_of_a_handoff_without_a_successor() {
    let mut world = World::new();
    let faults = "ignore_clear=100,die_on_argument";
    world.env.set("FAKE_AGENT", faults);
    world.agent("api");
    world.send_wait("api", "SAY: some work is done");
    let desk = Desk::new(&world, 200, 60);
    desk.shows("nobody needs you");
    world
        .sm(&["handoff", "--auto", "--session", "api"])
        .exits(0);
    desk.shows("NEEDS YOU (1)");
    desk.shows("handoff rolled back: the successor could not");
    world.send_wait("api", "are you there?");
    desk.shows("nobody needs you");
}

#[test]
fn watch_outlives_the_daemon_and_starts_none_that_was_stopped() {
    let world = World::new();
    world.agent("api");
    let desk = Desk::new(&world, 80, 24);
    desk.shows("SESSIONS (1)");
    world.sm(&["stop"]).exits(0);
    desk.shows("the daemon was stopped");
    desk.shows("api");
    // it goes on, and looks at nobody
    for sort in ["state", "context", "activity", "name"] {
        desk.types("s");
        desk.shows(&format!("sort: {sort}"));
    }
    desk.key("Enter");
    desk.shows("1 output");
    assert!(!world.is_served());
    world.sm(&["ls"]).exits(0);
    desk.until("all is well", |screen| !screen.contains("last known"));
    // one that died is started again
    world.kill_daemon();
    desk.until("all is well again", |screen| {
        !screen.contains("last known") && world.is_served()
    });
}

#[test]
fn watch_is_suspended_and_goes_on() {
    let world = World::new();
    world.agent("api");
    let desk = Desk::running(&world, (80, 24), &["/bin/sh", "-i"]);
    desk.types("PS1='pro''mpt: '; clear");
    desk.key("Enter");
    desk.shows("prompt:");
    let sm = binary("sm").unwrap();
    desk.types(&format!("LC_ALL=C {} watch", sm.display()));
    desk.key("Enter");
    desk.shows("SESSIONS (1)");
    assert!(desk.screen().is_ascii());
    desk.key("C-z");
    desk.until("the shell", |screen| {
        screen.contains("Stopped") && !screen.contains("SESSIONS")
    });
    desk.types("fg");
    desk.key("Enter");
    desk.shows("SESSIONS (1)");
    desk.types("q");
    desk.until("the shell again", |screen| {
        screen.contains("prompt:") && !screen.contains("SESSIONS")
    });
    desk.types("echo ca''me back");
    desk.key("Enter");
    desk.shows("came back");
}

/// How it ends, and what the program says then.
enum End {
    Key(&'static [u8]),
    Signal(Signal),
}

#[test]
fn watch_leaves_the_terminal_as_it_was() {
    let world = World::new();
    world.agent("api");
    // a terminal that nobody has touched
    let before = {
        let mut other = Person::start(&mut world.env.command("true"), 80, 24).unwrap();
        other.waits(DEADLINE).expect("it ends");
        format!("{:?}", other.settings().unwrap())
    };
    for (end, code) in [
        (End::Key(b"q"), 0),
        (End::Key(b"\x03"), 0),
        (End::Key(b"mtext\x03"), 0),
        (End::Signal(Signal::TERM), 143),
        (End::Signal(Signal::HUP), 129),
        (End::Signal(Signal::INT), 130),
    ] {
        let mut shell = world.command(&["watch"]);
        let mut person = Person::start(&mut shell, 80, 24).unwrap();
        assert!(person.sees("SESSIONS", DEADLINE), "{}", person.text());
        assert_ne!(format!("{:?}", person.settings().unwrap()), before);
        match end {
            End::Key(keys) => assert!(person.types(keys, DEADLINE)),
            End::Signal(signal) => {
                let pid = Pid::from_raw(i32::try_from(person.pid()).unwrap()).unwrap();
                rustix::process::kill_process(pid, signal).unwrap();
            }
        }
        let ended = person.waits(DEADLINE).expect("it ends");
        assert_eq!(ended.code(), Some(code), "{}", person.text());
        assert_eq!(format!("{:?}", person.settings().unwrap()), before);
        let all = person.text();
        for (on, off) in [("?1049h", "?1049l"), ("?2004h", "?2004l"), ("?25l", "?25h")] {
            assert!(all.rfind(off) > all.rfind(on), "{off}: {all:?}");
        }
    }
}

#[test]
fn watch_needs_a_terminal() {
    let world = World::new();
    world
        .sm(&["watch"])
        .exits(2)
        .complains("needs a terminal")
        .complains("sm ls");
    assert!(!world.is_served(), "nothing was started for it");
}
