//! Commands that the agent ran, what failed, and whether it was mended.

use crate::record::{At, Outcome};
use crate::redact::redact;
use crate::text;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const COMMANDS: usize = 200;
const TROUBLES: usize = 60;
const LONGEST: usize = 500;
const FAILING: usize = 12;
/// A test run's output is looked through up to here, from its end.
const OUTPUT: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub text: String,
    pub times: u32,
    pub outcome: Outcome,
    pub step: u32,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What was tried, in short: the same thing done well mends it.
    pub family: String,
    pub what: String,
    pub said: String,
    pub step: u32,
    pub line: u64,
    pub mended: bool,
}

/// The last run of tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    pub command: String,
    pub passed: bool,
    pub failing: Vec<String>,
    pub step: u32,
    pub line: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub branch: String,
    pub hash: String,
    pub subject: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Work {
    pub commands: VecDeque<Command>,
    pub troubles: VecDeque<Trouble>,
    pub tests: Option<Tests>,
    pub commits: VecDeque<Commit>,
}

/// A command without what only prepares it: `cd x &&`, `FOO=1`, `sudo`, `timeout 60`.
pub fn essence(command: &str) -> &str {
    let mut rest = command.trim();
    while let Some((before, after)) = rest.split_once("&&") {
        let before = before.trim();
        if before.starts_with("cd ") || before.starts_with("export ") {
            rest = after.trim_start();
        } else {
            break;
        }
    }
    loop {
        let Some((word, after)) = rest.split_once(char::is_whitespace) else {
            return rest;
        };
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if !(assigns || matches!(word, "sudo" | "time" | "env" | "nohup" | "command")) {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// The program and what it is told to do: `cargo test`, `git commit`.
pub fn family(command: &str) -> String {
    let words = essence(command).split_whitespace();
    let words = words.filter(|word| !word.starts_with('-')).take(2);
    text::head(&words.collect::<Vec<_>>().join(" "), 80).to_owned()
}

/// Whether it runs tests.
pub fn is_test(command: &str) -> bool {
    let command = essence(command);
    let runners = [
        "pytest", "jest", "vitest", "rspec", "mocha", "nextest", "ctest", "phpunit", "unittest",
    ];
    runners.iter().any(|runner| command.contains(runner))
        || command
            .split(|c: char| c.is_whitespace() || matches!(c, ':' | ';' | '&' | '|'))
            .take(6)
            .any(|word| matches!(word, "test" | "tests" | "check" | "test-all" | "ci"))
}

/// The tests that failed, by the marks that the common runners make.
fn failing(output: &str) -> Vec<String> {
    let tail = text::tail(output, OUTPUT);
    let mut found: Vec<String> = Vec::new();
    for line in tail.lines().map(str::trim) {
        let name = line
            .strip_prefix("--- FAIL: ")
            .or_else(|| line.strip_prefix("FAILED "))
            .or_else(|| line.strip_prefix("✗ "))
            .or_else(|| line.strip_prefix("✕ "))
            .or_else(|| line.strip_prefix("FAIL "))
            .or_else(|| line.strip_prefix("FAIL\t"))
            .or_else(|| {
                Some(
                    line.strip_suffix(" ... FAILED")?
                        .trim_start_matches("test "),
                )
            });
        let Some(name) = name else { continue };
        let name = redact(text::head(name.trim(), 160)).text;
        if !name.is_empty() && found.len() < FAILING && !found.iter().any(|have| *have == name) {
            found.push(name.into_owned());
        }
    }
    found
}

/// The lines of an output that say what is wrong, or else how it begins.
pub fn complaint(output: &str) -> String {
    let output = output
        .trim()
        .trim_start_matches("<tool_use_error>")
        .trim_end_matches("</tool_use_error>");
    let marks = [
        "error",
        "Error",
        "FAIL",
        "panic",
        "fatal",
        "not found",
        "No such",
    ];
    let window = text::head(output, OUTPUT);
    let bad = window
        .lines()
        .map(str::trim)
        .filter(|line| marks.iter().any(|mark| line.contains(mark)))
        .filter(|line| line.len() > 6)
        .take(2)
        .collect::<Vec<_>>()
        .join(" / ");
    let said = if bad.is_empty() {
        let lines = window.lines().map(str::trim).filter(|l| !l.is_empty());
        lines.take(2).collect::<Vec<_>>().join(" / ")
    } else {
        bad
    };
    redact(text::head(&text::squeeze(&said), 300))
        .text
        .into_owned()
}

impl Work {
    /// A command ended.
    pub fn ran(&mut self, command: &str, outcome: Outcome, output: &str, step: u32, at: At) {
        let kept = text::head(&text::squeeze(command), LONGEST).to_owned();
        let place = self.commands.iter().rposition(|c| c.text == kept);
        let times = match place.and_then(|place| self.commands.remove(place)) {
            Some(before) => before.times.saturating_add(1),
            None => 1,
        };
        let mut outcome = outcome;
        if is_test(command) && matches!(outcome, Outcome::Done | Outcome::Failed | Outcome::Unknown)
        {
            let failing = failing(output);
            if !failing.is_empty() {
                outcome = Outcome::Failed; // piped through another program, the exit code is lost
            }
            self.tests = Some(Tests {
                command: kept.clone(),
                passed: outcome == Outcome::Done,
                failing,
                step,
                line: at.line,
            });
        }
        self.commands.push_back(Command {
            text: kept,
            times,
            outcome,
            step,
        });
        if self.commands.len() > COMMANDS {
            self.commands.pop_front();
        }
        let family = family(command);
        match outcome {
            Outcome::Done => {
                self.mended(&family);
                if command.contains("git commit") {
                    self.committed(output);
                }
            }
            Outcome::Failed => self.trouble(family, essence(command), output, step, at),
            Outcome::Refused | Outcome::Unknown => {}
        }
    }

    pub fn trouble(&mut self, family: String, what: &str, said: &str, step: u32, at: At) {
        self.troubles.retain(|known| known.family != family);
        self.troubles.push_back(Trouble {
            family,
            what: text::head(&text::squeeze(what), 200).to_owned(),
            said: complaint(said),
            step,
            line: at.line,
            mended: false,
        });
        if self.troubles.len() > TROUBLES {
            self.troubles.pop_front();
        }
    }

    pub fn mended(&mut self, family: &str) {
        for trouble in &mut self.troubles {
            trouble.mended |= trouble.family == family;
        }
    }

    /// `[branch 1a2b3c4] subject`, as git says it.
    fn committed(&mut self, output: &str) {
        let line = output.lines().take(200).find_map(|line| {
            let (inside, subject) = line.trim().strip_prefix('[')?.split_once("] ")?;
            let (branch, hash) = inside.rsplit_once(' ')?;
            let whole = hash.len() >= 7 && hash.bytes().all(|b| b.is_ascii_hexdigit());
            whole.then_some((branch, hash, subject))
        });
        if let Some((branch, hash, subject)) = line {
            self.commits.push_back(Commit {
                branch: text::head(branch, 120).to_owned(),
                hash: hash.to_owned(),
                subject: text::head(subject, 160).to_owned(),
            });
            if self.commits.len() > 40 {
                self.commits.pop_front();
            }
        }
    }
}
