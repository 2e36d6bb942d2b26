//! `sm run` and everything that can happen to a process: stopping and going on, signals from
//! outside, a closed terminal, sudden death. The terminal is as before, and nothing is left.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::LocalModes;
use sm_testkit::person::Person;
use sm_testkit::wait_until;

use crate::run::{LONG, World, code};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// What the agent wrote into a file, when it has.
fn told(world: &World, name: &str) -> String {
    let read = || {
        let text = fs::read_to_string(world.file(name)).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    };
    wait_until(LONG, read).unwrap()
}

fn alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .trim()
        .chars()
        .next();
    state.is_some_and(|state| state != 'Z')
}

/// A person in front of a shell with job control.
fn in_a_shell(world: &World) -> Person {
    let mut shell = world.env.command("bash");
    shell
        .args(["--norc", "--noprofile", "-i"])
        .env("PS1", "prompt> ");
    let mut person = Person::start(&mut shell, 80, 24).unwrap();
    assert!(person.sees("prompt> ", LONG), "{}", person.text());
    person
}

#[test]
fn an_agent_that_stops_itself_stops_us_and_goes_on_with_us() {
    let world = World::new();
    let mut person = in_a_shell(&world);
    // As full-screen programs do: raw, and a stop of its own when the key is typed.
    let script = "stty raw -echo; printf first; head -c 1 | od -An -c > key; \
                  stty sane; kill -TSTP $$; stty raw -echo; stty size; printf second; \
                  head -c 1 > /dev/null; stty sane; exit 3";
    fs::write(world.file("agent"), script).unwrap();
    for round in 0..2 {
        let from = person.seen().len();
        assert!(person.types(b"sm run -- sh agent; echo code $?\n", LONG));
        assert!(person.sees_after(from, b"first", LONG), "{}", person.text());
        assert!(person.types(b"\x1a", LONG));
        assert!(
            person.sees_after(from, b"Stopped", LONG),
            "{}",
            person.text()
        );
        // The key was the agent's.
        assert_eq!(told(&world, "key"), "032");
        // The shell has its terminal back and works.
        assert!(person.types(b"echo still $((40+2))\n", LONG));
        assert!(
            person.sees_after(from, b"still 42", LONG),
            "{}",
            person.text()
        );
        let size = 30 + round;
        person.resize(100, size).unwrap();
        let from = person.seen().len();
        assert!(person.types(b"fg; echo code $?\n", LONG));
        assert!(
            person.sees_after(from, b"second", LONG),
            "{}",
            person.text()
        );
        let resized = format!("{size} 100");
        assert!(
            person.sees_after(from, resized.as_bytes(), LONG),
            "{}",
            person.text()
        );
        assert!(person.types(b"x", LONG));
        assert!(
            person.sees_after(from, b"code 3", LONG),
            "{}",
            person.text()
        );
    }
    person.types(b"exit\n", LONG);
    assert_eq!(code(person.waits(LONG)), Some(0));
    world.nothing_is_left();
}

#[test]
fn ctrl_z_stops_a_plain_program_too_and_ctrl_c_ends_it() {
    let world = World::new();
    let mut person = in_a_shell(&world);
    assert!(person.types(
        b"sm run -- sh -c 'echo go; exec sleep 1000'; echo code $?\n",
        LONG
    ));
    assert!(person.sees("go\r\n", LONG), "{}", person.text());
    assert!(person.types(b"\x1a", LONG));
    assert!(person.sees("Stopped", LONG), "{}", person.text());
    let from = person.seen().len();
    assert!(person.types(b"fg; echo code $?\n", LONG));
    assert!(
        person.sees_after(from, b"sm run", LONG),
        "{}",
        person.text()
    );
    // Once it is raw again the key goes to the agent's terminal.
    let raw = person.until(LONG, |person| {
        let settings = person.settings().unwrap();
        !settings.local_modes.contains(LocalModes::ISIG)
    });
    assert!(raw);
    assert!(person.types(b"\x03", LONG));
    assert!(
        person.sees_after(from, b"code 130", LONG),
        "{}",
        person.text()
    );
    person.types(b"exit\n", LONG);
    assert_eq!(code(person.waits(LONG)), Some(0));
    world.nothing_is_left();
}

#[test]
fn where_nobody_could_continue_us_we_go_on() {
    let world = World::new();
    // The leader of a session cannot be stopped from a terminal.
    let mut person = world.script("kill -STOP $$; printf on");
    assert_eq!(code(person.waits(LONG)), Some(0));
    assert_eq!(person.text(), "on");
}

#[test]
fn signals_from_outside_are_the_agents() {
    let world = World::new();
    for (number, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::HUP, "HUP"),
    ] {
        let script =
            format!("trap 'echo heard; exit 9' {name}; printf ready; while :; do sleep 0.01; done");
        let mut person = world.script(&script);
        assert!(person.sees("ready", LONG));
        signal(person.pid(), number);
        // A hang-up is the end of the terminal, whatever the agent made of it.
        let expected = if number == Signal::HUP { 129 } else { 9 };
        assert_eq!(code(person.waits(LONG)), Some(expected), "{name}");
        let heard = person.text().contains("heard");
        assert_eq!(heard, number != Signal::HUP, "{name}: {}", person.text());
    }
    // One that does not listen is not ended against its will.
    let mut person = world.script("trap '' TERM; printf ready; read line; exit 4");
    assert!(person.sees("ready", LONG));
    signal(person.pid(), Signal::TERM);
    assert!(person.types(b"go\n", LONG));
    assert_eq!(code(person.waits(LONG)), Some(4));
    world.nothing_is_left();
}

#[test]
fn a_closed_terminal_ends_the_agent() {
    let world = World::new();
    let mut person =
        world.script("trap 'echo hup > hup' HUP; echo $$ > pid; while :; do sleep 0.05; done");
    let pid = told(&world, "pid");
    person.closes();
    assert_eq!(code(person.waits(LONG)), Some(129));
    assert_eq!(told(&world, "hup"), "hup");
    assert!(!alive(&pid));
    world.nothing_is_left();
}

#[test]
fn the_terminal_is_as_before_after_a_killed_agent() {
    let world = World::new();
    let script = "stty raw -echo; printf '\\033[?1049h\\033[?25l\\033[?1000h\\033[?2004h\\033[>1u'; \
                  kill -KILL $$";
    let mut person = world.script(script);
    assert_eq!(code(person.waits(LONG)), Some(137));
    let (before, after) = (person.settings_at_first(), person.settings().unwrap());
    assert_eq!(after.local_modes, before.local_modes);
    assert_eq!(after.input_modes, before.input_modes);
    assert_eq!(after.output_modes, before.output_modes);
    let undone = "\x1b[?1000l\x1b[?2004l\x1b[<1u\x1b[?1049l\x1b[?25h\x1b[J";
    assert!(person.text().ends_with(undone), "{:?}", person.text());
    assert_eq!(world.log(), person.seen());
}

#[test]
fn an_agent_that_ends_by_itself_has_the_last_word() {
    let world = World::new();
    let mut person = world.script("printf '\\033[?25l\\033[31mred'; exit 1");
    assert_eq!(code(person.waits(LONG)), Some(1));
    assert_eq!(person.text(), "\x1b[?25l\x1b[31mred");
}

#[test]
fn the_agent_ends_if_we_are_killed_and_the_terminal_is_given_back() {
    let world = World::new();
    for script in [
        "echo $$ > pid; stty raw -echo; while :; do sleep 0.05; done",
        // It takes no hint.
        "trap '' HUP TERM; echo $$ > pid; while :; do sleep 0.05; done",
    ] {
        let _ = fs::remove_file(world.file("pid"));
        let mut person = world.script(script);
        let pid = told(&world, "pid");
        assert!(alive(&pid));
        signal(person.pid(), Signal::KILL);
        assert!(person.waits(LONG).is_some());
        let ended = || (!alive(&pid)).then_some(());
        assert!(wait_until(LONG, ended).is_some(), "{script}");
        let cooked = person.until(LONG, |person| {
            let settings = person.settings().unwrap();
            settings
                .local_modes
                .contains(LocalModes::ICANON | LocalModes::ECHO)
        });
        assert!(cooked, "{script}");
        world.nothing_is_left();
    }
}

#[test]
fn the_agent_ends_if_its_keeper_is_killed() {
    let world = World::new();
    let mut person = world.script("echo $$ $PPID > pids; while :; do sleep 0.05; done");
    let pids = told(&world, "pids");
    let (agent, keeper) = pids.split_once(' ').unwrap();
    signal(keeper.parse().unwrap(), Signal::KILL);
    assert_eq!(code(person.waits(LONG)), Some(137));
    let ended = || (!alive(agent)).then_some(());
    assert!(wait_until(LONG, ended).is_some());
    world.nothing_is_left();
}

#[test]
fn what_the_agent_left_running_goes_on() {
    let world = World::new();
    let script = "(trap '' TTOU; until [ -e stop ]; do sleep 0.02; done; echo alive > job) \
                  >/dev/null 2>&1 & echo left $!";
    let mut person = world.script(script);
    assert_eq!(code(person.waits(LONG)), Some(0));
    fs::write(world.file("stop"), "").unwrap();
    assert_eq!(told(&world, "job"), "alive");
    world.nothing_is_left();
}

#[test]
fn output_of_what_was_left_running_does_not_keep_us() {
    let world = World::new();
    let mut person = world.script("yes & echo $! > job; sleep 0.2; exit 6");
    person.only_count();
    assert_eq!(code(person.waits(LONG)), Some(6));
    drop(person);
    // It can write no more, which ends it.
    let job = told(&world, "job");
    let ended = || (!alive(&job)).then_some(());
    assert!(wait_until(Duration::from_secs(20), ended).is_some());
}

/// A person who does not look: their terminal takes nothing, and the agent goes on writing.
fn unread(world: &World, trap: &str) -> Person {
    let script = format!(
        "trap {trap}; echo $$ > pid; (while :; do printf %01000d 0; done) & while :; do wait; done"
    );
    let person = world.script(&script);
    told(world, "pid");
    // What was written down stands still once nobody takes any more of it.
    let size = || {
        let sessions = world.env.sm_home().join("data/sessions");
        let begun = fs::read_dir(sessions).is_ok_and(|found| found.count() == 1);
        match begun {
            true => world.log().len(),
            false => 0,
        }
    };
    let mut last = (size(), Instant::now());
    let full = wait_until(LONG, || {
        let now = size();
        if now != last.0 || now == 0 {
            last = (now, Instant::now());
        }
        (last.1.elapsed() > Duration::from_millis(500)).then_some(())
    });
    assert!(full.is_some(), "it never fills up");
    person
}

#[test]
fn signals_reach_an_agent_whose_output_nobody_takes() {
    let world = World::new();
    let mut person = unread(&world, "'echo heard > heard; exit 9' TERM");
    signal(person.pid(), Signal::TERM);
    // The agent waits for its terminal, like every program; the signal does not wait for that.
    assert_eq!(told(&world, "heard"), "heard");
    assert_eq!(code(person.waits(LONG)), Some(9));
    assert_eq!(world.log(), person.seen());
    world.nothing_is_left();
}

#[test]
fn a_hang_up_ends_an_agent_whose_output_nobody_takes() {
    let world = World::new();
    for trap in ["'echo heard > heard; exit 9' HUP", "'' HUP TERM"] {
        for name in ["pid", "heard"] {
            let _ = fs::remove_file(world.file(name));
        }
        let _ = fs::remove_dir_all(world.env.sm_home().join("data/sessions"));
        let mut person = unread(&world, trap);
        let pid = told(&world, "pid");
        signal(person.pid(), Signal::HUP);
        // nobody looks, and it ends all the same
        let ended = || (!alive(&pid) && !alive(&person.pid().to_string())).then_some(());
        assert!(wait_until(LONG, ended).is_some(), "{trap}");
        assert_eq!(code(person.waits(LONG)), Some(129), "{trap}");
        world.nothing_is_left();
    }
}
