//! Agents that follow each other on one terminal, as a brain wants it.
//!
//! The relay needs a terminal of its own, so each test runs this program again in one: `host` below
//! is that run, and which brain it has is told by a variable.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::termios::LocalModes;
use sm_run::{Brain, Control, Next, Process, Report, Run, RunError, Terminal, run};
use sm_testkit::person::Person;
use sm_testkit::wait_until;

const LONG: Duration = Duration::from_secs(60);
const WHICH: &str = "SM_TEST_BRAIN";

/// Plays the rotations that a name stands for, and tells on the terminal what it was told.
struct Scripted {
    which: String,
    agent: Option<Process>,
    begun: u32,
    wants: Vec<Control>,
    wake_at: Option<Instant>,
    wake: (UnixStream, UnixStream),
}

fn sh(script: &str) -> Run {
    Run::new("sh").args(["-c", script])
}

impl Scripted {
    fn say(&mut self, text: String) {
        self.wants.push(Control::Notice(text));
    }

    fn first(&self) -> Run {
        match self.which.as_str() {
            "deaf" => {
                sh("trap '' TERM; printf '\\033[?25l'; : > shown; while :; do sleep 0.02; done")
            }
            "interrupted" => sh("printf ready; read line"),
            // It ends when the test says so, whatever it is told.
            "held" | "goodbye" => sh(
                "stty raw -echo; trap '' TERM; : > shown; until [ -e typed ]; do sleep 0.02; done",
            ),
            "counts" => sh(
                "stty raw -echo; trap '' TERM; : > shown; head -c 2 | wc -c | sed 's/ *//;s/^/got /'",
            ),
            "abandoned" => sh("printf ready; head -c 1 >/dev/null"),
            "typed" => sh("stty raw -echo; printf ready; head -c 1 >/dev/null"),
            _ => sh("printf '\\033[?2004h\\033[31mred'; : > shown; while :; do sleep 0.02; done"),
        }
    }
}

impl Brain for Scripted {
    fn started(&mut self, agent: Process) {
        assert!(agent.is_alive() || agent.start > 0);
        self.agent = Some(agent);
        self.begun += 1;
        let grace = match self.which.as_str() {
            "deaf" => Duration::from_millis(100),
            _ => LONG,
        };
        match self.which.as_str() {
            "rotate" | "deaf" | "fails" if self.begun == 1 => {
                // It looks by the clock whether the output is there.
                self.wake_at = Some(Instant::now());
                self.wants.push(Control::End { agent, grace });
            }
            "held" | "goodbye" | "counts" if self.begun == 1 => {
                self.wake_at = Some(Instant::now());
                self.wants.push(Control::End { agent, grace });
                self.wants.push(Control::Hold);
            }
            "held" => {
                self.wake_at = Some(Instant::now());
                self.wants.push(Control::Replay);
            }
            "stranger" if self.begun == 1 => {
                let start = agent.start + 1;
                let agent = Process { start, ..agent };
                self.wants.push(Control::End { agent, grace });
                (&self.wake.1).write_all(b"x").unwrap();
            }
            _ => {}
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wake.0.as_fd())
    }

    fn wake_at(&self) -> Option<Instant> {
        self.wake_at
    }

    fn control(&mut self) -> Option<Control> {
        if self.wake_at.is_some() && !Path::new("shown").exists() {
            self.wake_at = Some(Instant::now() + Duration::from_millis(5));
            return None;
        }
        self.wake_at = None;
        let mut byte = [0; 8];
        self.wake.0.set_nonblocking(true).unwrap();
        let _ = std::io::Read::read(&mut self.wake.0, &mut byte);
        let wants = self.wants.pop();
        if matches!(wants, Some(Control::End { .. })) {
            std::fs::write("ending", "").unwrap();
        }
        wants
    }

    fn refused(&mut self, meant: Process, runs: Option<Process>) {
        let runs = runs.unwrap();
        assert_eq!((meant.pid, meant.start), (runs.pid, runs.start + 1));
        // The right one this time.
        self.say("refused".into());
        let grace = LONG;
        self.wants.push(Control::End { agent: runs, grace });
    }

    fn ended(&mut self, report: &Report) -> Next {
        assert_eq!(Some(report.agent), self.agent);
        let code = report.ended.code();
        let (by_us, person) = (report.by_us, report.person_interrupted());
        self.say(format!("ended {code} by us {by_us} person {person}"));
        match (self.which.as_str(), self.begun) {
            (_, 1) if report.goodbye.is_some() => Next::Exit(report.code()),
            ("held", 1) => Next::Again(sh("stty raw -echo; head -c 6; printf ' second'")),
            ("abandoned", 1) => {
                std::fs::write("between", "").unwrap();
                wait_until(LONG, || Path::new("typed").exists().then_some(())).unwrap();
                Next::Again(sh("printf second"))
            }
            ("fails", 1) => Next::Again(Run::new("no-such-agent")),
            ("typed", 1) => {
                // While no agent is there.
                std::fs::write("between", "").unwrap();
                wait_until(LONG, || Path::new("typed").exists().then_some(())).unwrap();
                Next::Again(sh("stty raw -echo; head -c 3; printf ' second'"))
            }
            (_, 1) => Next::Again(sh("printf second; exit 5")),
            _ => Next::Exit(code),
        }
    }

    fn unsent(&mut self, bytes: &[u8]) {
        self.say(format!("unsent {:?}", String::from_utf8_lossy(bytes)));
    }

    fn abandoned(&mut self, code: i32) {
        self.say(format!("abandoned with {code}"));
    }

    fn failed(&mut self, error: &RunError) -> Next {
        assert!(error.is_not_found());
        Next::Exit(77)
    }
}

/// Not a test of its own: what the others run in a terminal.
#[test]
#[ignore = "run by the other tests, in a terminal"]
fn host() {
    let Ok(which) = std::env::var(WHICH) else {
        return;
    };
    let mut brain = Scripted {
        which,
        agent: None,
        begun: 0,
        wants: Vec::new(),
        wake_at: None,
        wake: UnixStream::pair().unwrap(),
    };
    let terminal = Terminal::of_person().unwrap().unwrap();
    let code = run(brain.first(), terminal, &mut brain).unwrap();
    std::process::exit(code);
}

fn hosted(which: &str, folder: &Path) -> Person {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "host", "--nocapture", "-q"])
        .env(WHICH, which)
        .current_dir(folder);
    Person::start(&mut command, 80, 24).unwrap()
}

fn code(person: &mut Person) -> Option<i32> {
    person.waits(LONG).and_then(|status| status.code())
}

#[test]
fn one_agent_after_the_other_on_the_same_terminal() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("rotate", temp.path());
    assert_eq!(code(&mut person), Some(5));
    // What the first left switched on is undone, and what is said is said in between.
    let between = "red\x1b[?2004l\x1b[m\x1b[J\r\nended 143 by us true person false\r\nsecond";
    assert!(person.text().contains(between), "{:?}", person.text());
    let end = "second\r\nended 5 by us false person false\r\n";
    assert!(person.text().ends_with(end), "{:?}", person.text());
    let after = person.settings().unwrap().local_modes;
    assert!(
        after.contains(LocalModes::ICANON | LocalModes::ECHO),
        "{after:?}"
    );
}

#[test]
fn an_agent_that_does_not_listen_is_killed_after_its_grace() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("deaf", temp.path());
    assert_eq!(code(&mut person), Some(5));
    let between = "\x1b[?25l\x1b[?25h\x1b[J\r\nended 137 by us true person false\r\nsecond";
    assert!(person.text().contains(between), "{:?}", person.text());
}

#[test]
fn another_process_than_the_one_that_runs_is_never_ended() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("stranger", temp.path());
    assert_eq!(code(&mut person), Some(5));
    assert!(person.text().contains("refused\r\n"), "{:?}", person.text());
    assert!(
        person.text().contains("ended 143 by us true"),
        "{:?}",
        person.text()
    );
}

#[test]
fn a_persons_interrupt_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("interrupted", temp.path());
    assert!(person.sees("ready", LONG));
    assert!(person.types(b"\x03", LONG));
    assert_eq!(code(&mut person), Some(5));
    let told = "ended 130 by us false person true";
    assert!(person.text().contains(told), "{:?}", person.text());
}

#[test]
fn what_is_typed_between_two_agents_is_for_the_second() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("typed", temp.path());
    assert!(person.sees("ready", LONG));
    types_between(&mut person, temp.path(), b"abc");
    assert_eq!(code(&mut person), Some(0));
    assert!(person.text().contains("abc second"), "{:?}", person.text());
}

#[test]
fn ctrl_c_between_two_agents_is_the_end() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("typed", temp.path());
    assert!(person.sees("ready", LONG));
    types_between(&mut person, temp.path(), b"\x03");
    assert_eq!(code(&mut person), Some(130));
    assert!(!person.text().contains("second"), "{:?}", person.text());
}

/// Ends the first agent, and types before there is a second.
fn types_between(person: &mut Person, folder: &Path, bytes: &[u8]) {
    assert!(person.types(b"x", LONG));
    assert!(person.until(LONG, |_| folder.join("between").exists()));
    assert!(person.types(bytes, LONG));
    std::fs::write(folder.join("typed"), "").unwrap();
}

#[test]
fn a_next_agent_that_is_not_there_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("fails", temp.path());
    assert_eq!(code(&mut person), Some(77));
    let told = "sm: cannot run no-such-agent: ";
    assert!(person.text().contains(told), "{:?}", person.text());
}

/// Types this while the first agent is told to end, and lets it end.
fn typed_while_ending(which: &str, keys: &[u8]) -> (Option<i32>, String) {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted(which, temp.path());
    let ending = temp.path().join("ending");
    assert!(person.until(LONG, |_| ending.exists()));
    assert!(person.types(keys, LONG));
    std::fs::write(temp.path().join("typed"), "").unwrap();
    (code(&mut person), person.text())
}

#[test]
fn what_is_typed_while_an_agent_is_ended_is_for_the_next() {
    // An answer of the terminal to a question of the first one is not.
    let (code, text) = typed_while_ending("held", b"ab\x1b[?62c\rcd\r");
    assert_eq!(code, Some(0), "{text:?}");
    assert!(text.contains("ab\rcd\r second"), "{text:?}");
    assert!(!text.contains("unsent"), "{text:?}");
}

#[test]
fn a_goodbye_while_an_agent_is_ended_is_one() {
    let (code, text) = typed_while_ending("goodbye", b"text\x03");
    assert_eq!(code, Some(130), "{text:?}");
    assert!(text.contains("unsent \"text\""), "{text:?}");
    assert!(!text.contains("second"), "{text:?}");
}

#[test]
fn a_goodbye_reaches_the_agent_as_often_as_it_was_said() {
    // It counts what it gets, and ends for the second.
    let (code, text) = typed_while_ending("counts", b"text\x03\x03");
    assert_eq!(code, Some(130), "{text:?}");
    assert!(text.contains("got 2"), "{text:?}");
    assert!(text.contains("unsent \"text\""), "{text:?}");
}

#[test]
fn a_goodbye_between_two_agents_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let mut person = hosted("abandoned", temp.path());
    assert!(person.sees("ready", LONG));
    assert!(person.types(b"\n", LONG));
    let between = temp.path().join("between");
    assert!(person.until(LONG, |_| between.exists()));
    assert!(person.types(b"\x03", LONG));
    std::fs::write(temp.path().join("typed"), "").unwrap();
    assert_eq!(code(&mut person), Some(130));
    assert!(person.text().contains("abandoned"), "{:?}", person.text());
    assert!(!person.text().contains("second"), "{:?}", person.text());
}
