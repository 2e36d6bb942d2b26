//! The ledger as a text for a successor that has no transcript.
//!
//! It must never be longer than its budget, and the same ledger always gives the same bytes. What
//! a person said goes first, then what is under way, then the files and names of the work in the
//! order of how much the agent dealt with them; what had to be left out is counted.

mod directives;
mod grams;
mod names;
mod page;
mod state;

use crate::ledger::Ledger;
use crate::redact::redact;
use crate::text;
use page::Page;
use sm_core::Timestamp;

/// What only the outside knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub now: Option<Timestamp>,
    /// The session's name.
    pub session: Option<String>,
    /// Constraints that stand in every context, word for word.
    pub pins: Vec<String>,
    /// Children, jobs and messages that are under way.
    pub in_flight: Vec<String>,
    pub repository: Option<Repository>,
    /// The document that this context began with: it may say more than is known here.
    pub began_with: Option<String>,
    /// Where everything else can be read.
    pub rest: Option<String>,
}

/// The state of the working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repository {
    pub branch: Option<String>,
    /// Changed and untracked files, as `git status --short` says it.
    pub dirty: Vec<String>,
    /// The last commits, newest first: `1a2b3c4 subject`.
    pub commits: Vec<String>,
}

/// What was left out, to be told at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LeftOut {
    pins: usize,
    directives: usize,
    cut: usize,
    names: usize,
    commands: usize,
    /// Not for want of room.
    secrets: u64,
}

/// Writes the document in at most `budget` characters.
pub fn document(ledger: &Ledger, frame: &Frame, budget: usize) -> String {
    let mut room = budget;
    loop {
        let text = compose(ledger, frame, room);
        // What the frame brought, and what became a secret by standing together.
        let text = redact(&text).text;
        let over = text::chars(&text).saturating_sub(budget);
        if over == 0 {
            return text.into_owned();
        }
        if room < over || room < budget / 2 {
            return text::first_chars(&text, budget).to_owned();
        }
        room -= over;
    }
}

fn compose(ledger: &Ledger, frame: &Frame, budget: usize) -> String {
    let mut shares = Shares::of(budget);
    let names = names::All::of(ledger);
    let (text, free) = attempt(ledger, &names, frame, budget, shares);
    if free < 100 {
        return text;
    }
    // All names are there and room is left: everything else may be said at greater length.
    shares.grow(free);
    attempt(ledger, &names, frame, budget, shares).0
}

/// The document, and how much of the budget found no use before the last resort.
fn attempt(
    ledger: &Ledger,
    all: &names::All<'_>,
    frame: &Frame,
    budget: usize,
    shares: Shares,
) -> (String, usize) {
    let mut left = LeftOut {
        secrets: ledger.redacted,
        ..LeftOut::default()
    };
    let head = head(ledger, frame, budget);
    let pins = directives::pins(frame, budget / 4, &mut left);
    let (objective, said) = directives::sections(ledger, shares.directives, &mut left);
    let progress = state::progress(ledger, shares.progress);
    let plan = state::plan(ledger, shares.plan);
    let decided = state::decisions(ledger, shares.decisions);
    let technical = state::technical(ledger, frame, shares.technical, &mut left);
    let next = state::next(ledger, frame, shares.next);
    let written = [
        &head, &objective, &pins, &said, &progress, &plan, &decided, &technical, &next,
    ];
    let used: usize = written.iter().map(|part| text::chars(part)).sum();
    let already = written.map(String::as_str).concat();

    // What the end says depends on the names that found room, which depends on what it needs: it
    // is made twice.
    let chosen = all.unsaid(already, budget);
    let mut names = String::new();
    let mut ending = end(
        frame,
        LeftOut {
            names: 1_000,
            ..left
        },
    );
    let mut room = 0;
    for _ in 0..2 {
        let taken = used + text::chars(&ending) + 10;
        room = budget.saturating_sub(taken).min(shares.names);
        (names, left.names) = chosen.section(room, budget);
        ending = end(frame, left);
    }
    let mut free = budget.saturating_sub(used + text::chars(&ending) + text::chars(&names) + 10);
    if left.names > 0 && room < shares.names {
        free = 0;
    }
    if technical.is_empty() && !names.is_empty() {
        names.insert_str(0, "## State\n");
    }

    let mut page = Page::new(budget);
    page.part(head);
    page.reserve(text::chars(&ending));
    for part in [
        objective,
        pins,
        said,
        progress,
        plan,
        decided,
        technical + &names,
        next,
    ] {
        page.part(part);
    }
    // What is still free holds more of what was said along the way.
    page.part(state::along_the_way(ledger, page.room()));
    page.reserve(0);
    page.part(ending);
    (page.text(), free)
}

/// How the budget is divided; what one part does not need is left to the names.
#[derive(Debug, Clone, Copy)]
struct Shares {
    directives: usize,
    progress: usize,
    plan: usize,
    decisions: usize,
    technical: usize,
    next: usize,
    names: usize,
}

impl Shares {
    fn of(budget: usize) -> Self {
        // In percent at 2,000, 4,000 and 9,500 characters; between them, between. The smaller it
        // is, the more of it goes to the names of what the agent dealt with.
        let between = |from: usize, to: usize, at: usize, of: usize| {
            budget * (from * (of - at) + to * at) / (100 * of)
        };
        let part = |low: usize, middle: usize, high: usize| match budget {
            0..=2_000 => budget * low / 100,
            2_001..=4_000 => between(low, middle, budget - 2_000, 2_000),
            4_001..=9_499 => between(middle, high, budget - 4_000, 5_500),
            _ => budget * high / 100,
        };
        Self {
            directives: part(14, 29, 44),
            progress: part(7, 8, 6),
            decisions: part(0, 0, 4),
            technical: part(4, 4, 6),
            next: part(4, 4, 4),
            plan: if budget > 12_000 { budget / 12 } else { 0 },
            names: if budget > 12_000 {
                4_500 + budget / 5
            } else {
                budget
            },
        }
    }

    /// Divides what is free among everything but the names.
    fn grow(&mut self, free: usize) {
        self.directives += free * 35 / 100;
        self.progress += free * 15 / 100;
        self.plan += free * 20 / 100;
        self.decisions += free * 10 / 100;
        self.technical += free * 15 / 100;
        self.next += free * 5 / 100;
    }
}

fn head(ledger: &Ledger, frame: &Frame, budget: usize) -> String {
    let mut out = String::from("# Handoff");
    if let Some(name) = &frame.session {
        out.push_str(": ");
        out.push_str(&text::short(&text::squeeze(name), 60));
    }
    out.push('\n');
    out.push_str("Written by sm from the transcript");
    if budget >= 3_000 {
        out.push_str(", without a model");
    }
    if let Some(age) = age(frame.now, ledger.time) {
        out.push_str(", whose end is ");
        out.push_str(&age);
        out.push_str(" old");
    }
    out.push_str(&format!(
        "; up to line {}, context {}",
        ledger.line,
        ledger.compactions + 1
    ));
    if budget >= 3_000 {
        if let Some(tokens) = ledger.tokens {
            out.push_str(&format!(", {tokens} tokens"));
        }
        out.push_str(". Check against the files before relying on it");
    }
    out.push_str(".\n");
    out
}

fn age(now: Option<Timestamp>, then: Option<Timestamp>) -> Option<String> {
    let seconds = now?.0.saturating_sub(then?.0).max(0) / 1000;
    Some(match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    })
}

fn end(frame: &Frame, left: LeftOut) -> String {
    let mut parts = Vec::new();
    let mut part = |count: usize, what: &str| {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    };
    part(left.pins, "PINS");
    part(left.directives, "messages");
    part(left.cut, "ends of messages");
    part(left.names, "names");
    part(left.commands, "commands");
    let mut out = String::new();
    if !parts.is_empty() {
        out.push_str(&format!("Left out: {}. ", parts.join(", ")));
    }
    if left.secrets > 0 {
        out.push_str(&format!("Redacted: {}. ", left.secrets));
    }
    if let Some(path) = &frame.began_with {
        out.push_str(&format!(
            "This context began with {}. ",
            text::short(path, 300)
        ));
    }
    if let Some(rest) = &frame.rest {
        out.push_str(&format!("The rest: {}", text::short(rest, 200)));
    }
    if !out.is_empty() {
        out = format!("{}\n", out.trim_end());
    }
    out
}
