//! Whether a document can stand in for the context it replaces, before that is dropped.
//!
//! Looks for what a successor cannot do without, and compares what the document says with what is
//! known. Pure: what is known comes in. It must never judge style, and it says nothing where it
//! cannot know: a wrong finding costs an agent more than a missing one.
//!
//! | module | what it looks at |
//! |---|---|
//! | `sections` | objective, state, next action: by headings or wording, in several languages |
//! | `files` | paths that are named |
//! | `claims` | work that is said to be finished, tests that are said to pass |
//! | `known` | what a ledger knows of that |

mod claims;
mod files;
mod known;
mod sections;

pub use known::Known;

use crate::{redact, text};
use serde::Serialize;
use sm_core::template::{handoff_template, is_unfilled_template, unfilled_headings};
use std::fmt;

/// Longer documents are not read whole by the agents that are given them.
const LONGEST: usize = 50_000;
/// Characters of what a finding says.
const QUOTED: usize = 300;
/// Of each kind, so that one habit of an author does not fill the answer.
const MOST_OF_A_KIND: usize = 5;

/// What is known of a file that a document names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFact {
    /// It is there, or the session has dealt with it.
    Known,
    Missing,
    /// Nobody can say.
    Unknown,
}

/// How the last run of tests went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TestFact<'a> {
    /// Nothing is known of this context.
    #[default]
    Unknown,
    /// Everything is known of this context, and none was run.
    NotRun,
    Passed,
    Failed {
        command: &'a str,
    },
}

/// What a document is compared with.
pub struct GateFacts<'a> {
    /// By the path as the document has it.
    pub file: &'a dyn Fn(&str) -> FileFact,
    /// Files that were changed in this context. None: nobody knows.
    pub changed: Option<&'a [String]>,
    pub tests: TestFact<'a>,
    /// Carried by themselves: a document need not repeat them.
    pub pins: &'a [String],
}

impl Default for GateFacts<'_> {
    fn default() -> Self {
        Self {
            file: &|_| FileFact::Unknown,
            changed: None,
            tests: TestFact::Unknown,
            pins: &[],
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know; nothing has to be done.
    Note,
    /// To be looked at again.
    Warning,
    /// A successor would miss it, or be misled.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing about a document, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// 1-based. None: it is about the whole.
    pub line: Option<usize>,
    pub level: Level,
    pub what: String,
    pub todo: String,
    #[serde(skip)]
    cost: u32,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.what)?;
        if !self.todo.is_empty() {
            write!(f, ": {}", self.todo)?;
        }
        Ok(())
    }
}

/// What the gate says of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// 0 to 100.
    pub score: u32,
    /// The worst first, then by line.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The worst there is.
    pub fn level(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    pub fn at_least(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.level >= level)
    }
}

/// Collects findings; only so many of a kind.
struct Findings(Vec<Finding>);

impl Findings {
    fn add(
        &mut self,
        line: Option<usize>,
        level: Level,
        cost: u32,
        what: impl Into<String>,
        todo: impl Into<String>,
    ) {
        self.0.push(Finding {
            line,
            level,
            what: what.into(),
            todo: todo.into(),
            cost,
        });
    }
}

/// Judges a document.
pub fn check(document: &str, facts: &GateFacts<'_>) -> Report {
    let mut found = Findings(Vec::new());
    let document = document.trim_start_matches('\u{feff}');
    if document.trim().is_empty() {
        found.add(
            None,
            Level::Error,
            100,
            "the document is empty",
            "write down what the next context needs to know",
        );
    } else if is_unfilled_template(document) {
        found.add(
            None,
            Level::Error,
            100,
            "the document is still the template",
            "write under each heading what the next context needs to know",
        );
        secrets(document, &mut found);
    } else {
        let outline = sections::Outline::of(document);
        sections::check(&outline, &mut found);
        placeholders(document, &mut found);
        files::check(document, facts, &mut found);
        claims::check(document, &outline, facts, &mut found);
        secrets(document, &mut found);
        size(document, &mut found);
        pins(facts, &mut found);
    }
    let mut findings = found.0;
    quote(document, &mut findings);
    findings.sort_by_key(|f| (std::cmp::Reverse(f.level), f.line));
    let cost: u32 = findings.iter().map(|finding| finding.cost).sum();
    Report {
        score: 100_u32.saturating_sub(cost),
        findings,
    }
}

/// What quotes the document is put before an agent and written down: short, and without its secrets,
/// also those that are none without the name that stands before them.
fn quote(document: &str, findings: &mut [Finding]) {
    let mut secrets: Vec<&str> = redact::find(document)
        .iter()
        .filter_map(|secret| document.get(secret.start..secret.end))
        .filter(|secret| secret.len() >= 6)
        .collect();
    secrets.sort_unstable();
    secrets.dedup();
    for finding in findings {
        for secret in &secrets {
            if finding.what.contains(secret) {
                finding.what = finding.what.replace(secret, "[redacted]");
            }
        }
        finding.what = text::short(&redact::redact(&finding.what).text, QUOTED);
    }
}

fn placeholders(document: &str, found: &mut Findings) {
    let line_of = |wanted: &str| {
        document
            .lines()
            .position(|line| line.trim() == wanted)
            .map(|at| at + 1)
    };
    let mut heading = "";
    let left = unfilled_headings(document);
    for own in handoff_template().lines() {
        if let Some(name) = own.strip_prefix("## ") {
            heading = name;
        } else if own.starts_with('<') && left.contains(&heading) {
            found.add(
                line_of(own),
                Level::Error,
                10,
                format!("the template's placeholder is still under \"{heading}\""),
                "replace it, or remove the heading",
            );
        }
    }
    let stubs = [
        "tbd",
        "todo",
        "...",
        "…",
        "fill in",
        "<fill in>",
        "n/a yet",
        "lorem ipsum",
    ];
    let stubs = document.lines().enumerate().filter(|(_, line)| {
        let line = line
            .trim()
            .trim_start_matches(['-', '*', ' '])
            .to_lowercase();
        stubs.contains(&line.as_str())
    });
    for (at, line) in stubs.take(MOST_OF_A_KIND) {
        found.add(
            Some(at + 1),
            Level::Warning,
            4,
            format!("\"{}\" says nothing", line.trim()),
            "write it down, or remove the line",
        );
    }
}

fn secrets(document: &str, found: &mut Findings) {
    for (nth, secret) in redact::find(document).into_iter().enumerate() {
        let before = document.get(..secret.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        if nth < MOST_OF_A_KIND {
            found.add(
                Some(line),
                Level::Error,
                15,
                format!("this looks like a secret ({})", secret.rule),
                "take it out and say where it is kept instead",
            );
        }
    }
}

fn size(document: &str, found: &mut Findings) {
    let length = document.chars().count();
    if length > LONGEST {
        found.add(
            None,
            Level::Warning,
            10,
            format!("the document has {length} characters, more than agents read at once"),
            format!("keep it below {LONGEST} and name other files for the rest"),
        );
    }
}

fn pins(facts: &GateFacts<'_>, found: &mut Findings) {
    if !facts.pins.is_empty() {
        let count = facts.pins.len();
        let noun = if count == 1 { "pin is" } else { "pins are" };
        found.add(
            None,
            Level::Note,
            0,
            format!("{count} {noun} given to the next context by sm"),
            "",
        );
    }
}
