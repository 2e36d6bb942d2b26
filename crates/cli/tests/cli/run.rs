//! `sm run`: every byte arrives, both ways, and the agent notices nothing.
//!
//! A person at a real terminal runs small programs of the system in the place of an agent.

use rustix::termios::LocalModes;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};
use sm_testkit::clean::CleanEnv;
use sm_testkit::person::Person;
use sm_testkit::wait_until;

/// For a machine that is busy with other things.
pub const LONG: Duration = Duration::from_secs(60);

/// A person in front of `sm run -- sh -c <script>`, in a project of their own.
pub struct World {
    pub env: CleanEnv,
}

impl World {
    pub fn new() -> Self {
        Self {
            env: CleanEnv::new().unwrap(),
        }
    }

    pub fn run(&self, words: &[&str]) -> Person {
        let mut sm = self.env.sm().unwrap();
        sm.arg("run").args(words);
        Person::start(&mut sm, 80, 24).unwrap()
    }

    pub fn script(&self, script: &str) -> Person {
        self.run(&["--", "sh", "-c", script])
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.env.project().join(name)
    }

    /// The folder of the one log there is.
    pub fn log_folder(&self) -> PathBuf {
        let sessions = self.env.sm_home().join("data/sessions");
        let mut found: Vec<PathBuf> = fs::read_dir(sessions)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    pub fn log(&self) -> Vec<u8> {
        let folder = self.log_folder();
        let mut parts: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "log"))
            .collect();
        parts.sort();
        parts
            .iter()
            .flat_map(|part| fs::read(part).unwrap())
            .collect()
    }

    /// Nothing of what was started here is left.
    pub fn nothing_is_left(&self) {
        let left = || self.env.processes().is_empty().then_some(());
        assert!(
            wait_until(LONG, left).is_some(),
            "{:?}",
            self.env.processes()
        );
    }
}

pub fn code(status: Option<ExitStatus>) -> Option<i32> {
    status.and_then(|status| status.code())
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Every byte value, and sequences of every kind that terminals know, whole and broken.
fn recorded() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    let sequences = [
        "\x1b[1;31mred\x1b[0m\x1b[38;2;1;2;3m\x1b[48:5:9m\x1b[m",
        "\x1b[?1049h\x1b[2J\x1b[H\x1b[10;10Hthere\x1b[?1049l",
        "\x1b[?25l\x1b[?25h\x1b[?2004h\x1b[?2004l\x1b[?1000;1002;1006h\x1b[?1000;1002;1006l",
        "\x1b[>1u\x1b[<u\x1b[?u\x1b[c\x1b[>c\x1b[6n\x1b[?2026h\x1b[?2026l",
        "\x1b]0;a title\x07\x1b]8;;http://127.0.0.1/\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;aGk=\x07",
        "\x1bPq#0;2;0;0;0#0~~@@vv@@~~@@~~$#0\x1b\\\x1b_Gf=100,a=T;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\",
        "\x1b(0lqqk\x1b(B\x1b7\x1b8\x1bD\x1bM\x1bE\x1b=\x1b>\x1b#8\x1b[3;20r\x1b[r\x1b[5 q\x1b[0 q",
        "wide: 日本語 👩‍👩‍👧 e\u{301}\r\n\ttab\x08\x7f\x0b\x0c\x0e\x0f\x05",
        "\x1b[\x1b[999999999999m\x1b[;;;;;;m\x1b[?\x18\x1b]unfinished\x18\x1b[1;2",
    ];
    for sequence in sequences {
        bytes.extend(sequence.as_bytes());
        bytes.extend((0..=255).rev());
    }
    // Broken UTF-8, and the control characters of 8-bit terminals.
    bytes.extend(b"\xff\xfe\xc3\x28\x9b31m\x90q\x9c\xf0\x9f\x98\r\n");
    bytes.repeat(7)
}

#[test]
fn every_byte_the_agent_shows_arrives_and_is_written_down() {
    let world = World::new();
    let bytes = recorded();
    fs::write(world.file("recorded"), &bytes).unwrap();
    let mut person = world.script("stty raw -echo; cat recorded");
    assert_eq!(code(person.waits(LONG)), Some(0));
    assert_eq!(hash(person.seen()), hash(&bytes));
    assert_eq!(hash(&world.log()), hash(&bytes));
    world.nothing_is_left();
}

#[test]
fn what_is_written_down_can_be_read() {
    let world = World::new();
    let script =
        r"printf '\033[1;32mgreen\033[0m and\r\n'; printf 'overwritten\rrewritten  \n'; stty size";
    let mut person = world.script(script);
    assert_eq!(code(person.waits(LONG)), Some(0));
    assert_eq!(hash(&world.log()), hash(person.seen()));
    let archive = |words: &[&str]| {
        let mut sm = world.env.sm().unwrap();
        let output = sm.arg("archive").args(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let text = "green and\nrewritten\n24 80\n";
    assert_eq!(archive(&["run-"]), (Some(0), text.to_owned()));
    let name = world
        .log_folder()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(archive(&[&name[..10]]), (Some(0), text.to_owned()));
    let raw = String::from_utf8(world.log()).unwrap();
    assert_eq!(archive(&["run-", "--raw"]), (Some(0), raw));
    let (code_of_search, found) = archive(&["run-", "grep", "RE.RITTEN", "-i"]);
    assert_eq!(code_of_search, Some(0));
    assert!(
        found.starts_with("1  ") && found.ends_with("  rewritten\n"),
        "{found}"
    );
    assert_eq!(
        archive(&["run-", "grep", "absent"]),
        (Some(1), String::new())
    );
    let (refused, why) = archive(&["run-", "--generation", "7"]);
    assert_eq!(refused, Some(1));
    assert!(why.contains("has no generation 7"), "{why}");
    // No daemon was needed, nor started.
    world.nothing_is_left();
    let notes = fs::read_to_string(world.log_folder().join("terminal.notes")).unwrap();
    let mut words = notes.split_whitespace();
    assert_eq!(
        (words.next(), words.next()),
        (Some("1"), Some("0")),
        "{notes}"
    );
    assert!(notes.contains(" size 80 24\n"), "{notes}");
    assert!(notes.ends_with(" generation 1\n"), "{notes}");
}

#[test]
fn every_byte_the_person_types_arrives() {
    let world = World::new();
    let bytes = recorded();
    let script = format!(
        "stty raw -echo; printf ready; head -c {} | sha256sum > typed; printf done",
        bytes.len()
    );
    let mut person = world.script(&script);
    assert!(person.sees("ready", LONG));
    assert!(person.types(&bytes, LONG));
    assert_eq!(code(person.waits(LONG)), Some(0));
    assert_eq!(person.text(), "readydone");
    let typed = fs::read_to_string(world.file("typed")).unwrap();
    assert_eq!(typed.split(' ').next(), Some(hash(&bytes).as_str()));
}

#[test]
fn a_paste_of_a_megabyte_arrives_even_if_the_agent_is_slow_to_read_it() {
    let world = World::new();
    let bytes: Vec<u8> = recorded().into_iter().cycle().take(1_000_000).collect();
    fs::write(world.file("wait"), "").unwrap();
    // It reads nothing until the paste has come to a standstill.
    let script = format!(
        "stty raw -echo; printf ready; while [ -e wait ]; do sleep 0.02; done; \
         head -c {} | sha256sum > typed",
        bytes.len()
    );
    let mut person = world.script(&script);
    assert!(person.sees("ready", LONG));
    let taken = person.types_some(&bytes, Duration::from_millis(500));
    assert!(taken < bytes.len(), "nobody reads it");
    fs::remove_file(world.file("wait")).unwrap();
    assert!(person.types(&bytes[taken..], LONG));
    assert_eq!(code(person.waits(LONG)), Some(0));
    let typed = fs::read_to_string(world.file("typed")).unwrap();
    assert_eq!(typed.split(' ').next(), Some(hash(&bytes).as_str()));
}

#[test]
fn fifty_megabytes_of_output_are_complete() {
    let world = World::new();
    let line = b"\x1b[32m0123456789\x1b[0m abcdefghijklmnopqrstuvwxyz\r\n";
    let bytes: Vec<u8> = line.iter().copied().cycle().take(50_000_000).collect();
    fs::write(world.file("much"), &bytes).unwrap();
    let mut person = world.script("stty raw -echo; cat much; printf end");
    let status = person.waits(LONG * 3);
    assert_eq!(code(status), Some(0));
    let expected = [&bytes[..], b"end"].concat();
    assert_eq!(person.count(), expected.len());
    assert_eq!(hash(person.seen()), hash(&expected));
    assert_eq!(hash(&world.log()), hash(&expected));
}

#[test]
fn the_last_output_is_shown_even_if_the_person_looks_late() {
    let world = World::new();
    fs::write(world.file("last"), [b'x'; 40_000]).unwrap();
    let mut person = world.script("stty raw -echo; cat last; : > gone");
    // The agent is through while nobody looks.
    let gone = || world.file("gone").exists().then_some(());
    let through = wait_until(Duration::from_secs(5), gone);
    assert_eq!(code(person.waits(LONG)), Some(0));
    assert_eq!(person.count(), 40_000, "it was through before: {through:?}");
}

#[test]
fn the_exit_code_is_the_agents() {
    let world = World::new();
    for (script, expected) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
        ("kill -INT $$", 130),
        ("kill -SEGV $$", 139),
    ] {
        let mut person = world.script(script);
        assert_eq!(code(person.waits(LONG)), Some(expected), "{script}");
    }
    world.nothing_is_left();
}

#[test]
fn what_cannot_be_run_is_told_and_the_terminal_is_as_before() {
    let world = World::new();
    fs::write(world.file("no-program"), "text").unwrap();
    for (words, expected, told) in [
        (["--", "no-such-agent"], 127, "cannot run no-such-agent"),
        (["--", "./no-program"], 126, "cannot run ./no-program"),
        (["--", "/"], 126, "cannot run /"),
        (["--", ""], 64, "the agent to run has an empty name"),
    ] {
        let mut person = world.run(&words);
        assert_eq!(code(person.waits(LONG)), Some(expected), "{words:?}");
        assert!(person.text().contains(told), "{}", person.text());
        assert!(person.text().contains("hint: "), "{}", person.text());
        // As every terminal is at first. What it was when `sm` ran says nothing: it may be raw by then.
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        let after = person.settings().unwrap();
        assert!(after.local_modes.contains(cooked), "{words:?}");
    }
}

#[test]
fn arguments_and_environment_are_the_agents() {
    let world = World::new();
    let script = r#"printf '[%s]' "$@"; printf ' %s %s' "$SM_TEST_MARK" "$(pwd)"; tty >/dev/null"#;
    let mut sm = world.env.sm().unwrap();
    sm.env("SM_TEST_MARK", "kept");
    sm.args([
        "run",
        "sh",
        "-c",
        script,
        "--verbose",
        "--",
        "-x",
        "a b",
        "",
        "--no-log",
    ]);
    let mut person = Person::start(&mut sm, 80, 24).unwrap();
    assert_eq!(code(person.waits(LONG)), Some(0));
    let expected = format!(
        "[--][-x][a b][][--no-log] kept {}",
        world.env.project().display()
    );
    assert_eq!(person.text(), expected);
}

#[test]
fn the_agent_follows_a_storm_of_resizes() {
    let world = World::new();
    let script = "n=0; trap 'n=$((n+1))' WINCH; stty size; printf ready; \
                  until [ \"$(stty size)\" = '61 211' ]; do sleep 0.01; done; printf \" told $n\"";
    let mut person = world.script(script);
    assert!(person.sees("24 80", LONG) && person.sees("ready", LONG));
    const STORM: u16 = 500;
    for n in 0..STORM {
        person.resize(40 + n % 100, 20 + n % 30).unwrap();
    }
    person.resize(211, 61).unwrap();
    assert_eq!(code(person.waits(LONG)), Some(0), "{}", person.text());
    let text = person.text();
    let told: u16 = text
        .split(" told ")
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap();
    assert!((1..=STORM + 1).contains(&told), "{text}");
}

#[test]
fn without_a_terminal_the_agent_takes_our_place() {
    let world = World::new();
    let bytes = recorded();
    fs::write(world.file("recorded"), &bytes).unwrap();
    for verbose in [false, true] {
        let mut sm = world.env.sm().unwrap();
        sm.arg("run");
        if verbose {
            sm.arg("--verbose");
        }
        sm.args(["--", "sh", "-c", "cat; echo to-stderr >&2; exit 5"]);
        sm.stdin(fs::File::open(world.file("recorded")).unwrap());
        let output = sm
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(hash(&output.stdout), hash(&bytes));
        let told = String::from_utf8(output.stderr).unwrap();
        let note = "input and output: no terminal, so the agent runs directly, \
                    without sm: no log, no rotation\n";
        let expected = if verbose { note } else { "" };
        assert_eq!(told, format!("{expected}to-stderr\n"));
    }
    let mut sm = world.env.sm().unwrap();
    sm.args(["run", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(sm.status().unwrap().signal(), Some(15));
    assert!(!world.env.sm_home().join("data/sessions").exists());
}

#[test]
fn output_to_a_file_and_input_from_a_terminal_is_no_terminal_either() {
    let world = World::new();
    let sm = sm_testkit::clean::binary("sm").unwrap();
    let mut shell = world.env.command("sh");
    shell.args([
        "-c",
        "\"$0\" run -- sh -c 'test -t 0 && ! test -t 1 && echo fine' > out",
    ]);
    shell.arg(sm);
    let mut person = Person::start(&mut shell, 80, 24).unwrap();
    assert_eq!(code(person.waits(LONG)), Some(0));
    assert_eq!(fs::read_to_string(world.file("out")).unwrap(), "fine\n");
}
