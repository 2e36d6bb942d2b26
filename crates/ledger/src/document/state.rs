//! Progress, decisions, technical state and what comes next.

use super::page::Page;
use super::{Frame, LeftOut};
use crate::ledger::{Ledger, Note, Progress, essence};
use crate::record::Outcome;
use crate::text;

/// A section that is nothing if it has no line.
struct Section {
    title: &'static str,
    page: Page,
    begun: bool,
}

impl Section {
    fn new(title: &'static str, room: usize) -> Self {
        Self {
            title,
            page: Page::new(room),
            begun: false,
        }
    }

    fn line(&mut self, line: &str) -> bool {
        let line = if self.begun {
            format!("{line}\n")
        } else {
            format!("## {}\n{line}\n", self.title)
        };
        let fits = self.page.part(line);
        self.begun |= fits;
        fits
    }

    /// The line, shortened to what fits if that is worth it.
    fn fit(&mut self, line: &str) -> bool {
        let title = if self.begun { 0 } else { self.title.len() + 4 };
        let room = self.page.room().saturating_sub(title + 1);
        if room < 40 {
            return false;
        }
        self.line(&text::short(line, room))
    }

    fn text(self) -> String {
        self.page.text()
    }
}

pub fn progress(ledger: &Ledger, room: usize) -> String {
    let mut section = Section::new("Progress", room);
    let each = (room / 4).clamp(60, 300);
    let list = |progress: Progress| -> Vec<String> {
        let steps = ledger.plan.of(progress);
        steps.map(|step| text::short(&step.text, each)).collect()
    };
    let (done, open, doing) = (
        list(Progress::Done),
        list(Progress::Open),
        list(Progress::UnderWay),
    );
    // In little room it stands under what comes next.
    if !doing.is_empty() && room >= 300 {
        section.fit(&format!("Under way: {}", doing.join("; ")));
    }
    if let Some(said) = ledger.prose.last() {
        let said = text::short(&text::squeeze(&said.text), (room / 2).max(80));
        section.fit(&format!("The agent last said: {said}"));
    }
    if !done.is_empty() {
        let line = format!("Finished: {}", done.join("; "));
        if text::chars(&line) < room / 2 {
            section.line(&line);
        } else if room >= 300 {
            section.line(&format!("Finished: {} steps", done.len()));
        }
    }
    if !open.is_empty() && room >= 300 {
        section.fit(&format!("Not started: {}", open.join("; ")));
    }
    for commit in ledger.work.commits.iter().rev().take(5) {
        section.line(&format!(
            "Committed {} on {}: {}",
            commit.hash, commit.branch, commit.subject
        ));
    }
    section.text()
}

pub fn decisions(ledger: &Ledger, room: usize) -> String {
    let mut section = Section::new("Decisions and what was rejected", room);
    let prose = &ledger.prose;
    let stopped: Vec<Note> = prose
        .stopped
        .iter()
        .map(|stopped| Note {
            text: stopped.told(),
            step: stopped.step,
            line: stopped.line,
        })
        .collect();
    let notes = prose.decisions.iter().chain(&prose.rejected);
    let mut notes: Vec<&Note> = notes.chain(&stopped).collect();
    notes.sort_by_key(|note| (std::cmp::Reverse(note.step), note.line));
    let mut taken = Vec::new();
    let mut used = 40;
    for note in notes {
        let size = text::chars(&note.text) + 3;
        if used + size <= room {
            used += size;
            taken.push(note);
        }
    }
    taken.sort_by_key(|note| note.step);
    for note in taken {
        section.line(&format!("- {}", text::squeeze(&note.text)));
    }
    section.text()
}

pub fn technical(ledger: &Ledger, frame: &Frame, room: usize, left: &mut LeftOut) -> String {
    let mut section = Section::new("State", room);
    let repository = frame.repository.as_ref();
    let branch = repository
        .and_then(|repository| repository.branch.as_ref())
        .or(ledger.branch.as_ref());
    let place = match (&ledger.cwd, branch) {
        (Some(cwd), Some(branch)) => format!("In {cwd}, branch {branch}"),
        (Some(cwd), None) => format!("In {cwd}"),
        (None, Some(branch)) => format!("Branch {branch}"),
        (None, None) => String::new(),
    };
    if !place.is_empty() && room >= 150 {
        section.fit(&place);
    } else if let Some(branch) = branch {
        section.line(&format!("Branch {branch}"));
    }
    if let Some(tests) = &ledger.work.tests {
        let command = text::short(essence(&tests.command), 80);
        if tests.passed {
            section.line(&format!("Tests passed: {command}"));
        } else {
            let failing = text::short(&tests.failing.join(", "), 200);
            section.fit(&format!("Tests failed: {command}: {failing}"));
        }
    }
    for trouble in ledger
        .work
        .troubles
        .iter()
        .rev()
        .filter(|t| !t.mended)
        .take(4)
    {
        let what = text::short(&trouble.what, 80);
        if section.page.room() >= 100 {
            section.fit(&format!("Failed: {what}: {}", trouble.said));
        }
    }
    if let Some(repository) = repository {
        if !repository.dirty.is_empty() {
            let dirty: Vec<&str> = repository.dirty.iter().map(|d| d.trim()).collect();
            section.fit(&format!("Not committed: {}", dirty.join(", ")));
        }
        for commit in repository.commits.iter().take(3) {
            section.line(&format!("Commit {commit}"));
        }
    }
    if room >= 500 {
        let links = ledger.links.urls.iter().rev().take(3).map(String::as_str);
        let links: Vec<&str> = links.collect();
        if !links.is_empty() {
            section.line(&format!("Links: {}", links.join(" ")));
        }
        let ports: Vec<&str> = ledger.links.ports.iter().map(String::as_str).collect();
        if !ports.is_empty() {
            section.line(&format!("Ports: {}", ports.join(", ")));
        }
        let mut commands = ledger.work.commands.iter().rev();
        let mut shown = 0;
        for command in &mut commands {
            let how = match command.outcome {
                Outcome::Done => "ok",
                Outcome::Failed => "failed",
                Outcome::Refused => "refused",
                Outcome::Unknown => "ran",
            };
            let words = text::short(essence(&command.text), 120);
            if !section.line(&format!("- {how}: `{words}`")) {
                break;
            }
            shown += 1;
        }
        left.commands = ledger.work.commands.len() - shown;
    }
    section.text()
}

pub fn next(ledger: &Ledger, frame: &Frame, room: usize) -> String {
    let mut section = Section::new("Next", room);
    for item in &frame.in_flight {
        section.fit(&format!("- In flight: {}", text::squeeze(item)));
    }
    for open in &ledger.open {
        let what = text::short(&text::squeeze(open.about.subject()), 100);
        section.line(&format!("- Not come back: {} {what}", open.tool));
    }
    if ledger.interrupted {
        section
            .line("- The agent was interrupted, and was told nothing since: ask before going on");
    }
    for step in ledger.plan.of(Progress::UnderWay).take(1) {
        section.fit(&format!("- Go on with: {}", step.text));
    }
    for step in ledger.plan.of(Progress::Open).take(3) {
        section.fit(&format!("- Then: {}", step.text));
    }
    for command in ledger.background.iter().rev().take(2) {
        section.line(&format!("- Started in the background: {command}"));
    }
    for question in ledger.prose.questions.iter().rev().take(3) {
        section.fit(&format!("- Asked, not answered: {}", question.text));
    }
    section.text()
}

/// What the agent said along the way, newest first, and what the context began with.
pub fn along_the_way(ledger: &Ledger, room: usize) -> String {
    if room < 400 {
        return String::new();
    }
    let mut section = Section::new("Said along the way, newest first", room);
    if let Some(last) = ledger.prose.last() {
        let whole = text::squeeze(&last.text);
        if text::chars(&whole) > 300 {
            section.fit(&format!("- {whole}"));
        }
    }
    for note in ledger.prose.statements.iter().rev().skip(1) {
        let line = format!("- {}", text::short(&text::squeeze(&note.text), 300));
        if !section.line(&line) {
            break;
        }
    }
    let mut out = section.text();
    if let Some(summary) = &ledger.summary {
        let room = room.saturating_sub(text::chars(&out));
        out.push_str(&quoted("What this context began with", &summary.text, room));
    }
    out
}

/// The plan that the agent proposed.
pub fn plan(ledger: &Ledger, room: usize) -> String {
    match &ledger.plan.proposal {
        Some(plan) if plan.agreed => quoted("Plan, agreed to by the person", &plan.text, room),
        Some(plan) => quoted("Plan, not agreed to", &plan.text, room),
        None => String::new(),
    }
}

/// A text with its lines, as far as it fits.
fn quoted(title: &'static str, text: &str, room: usize) -> String {
    let mut section = Section::new(title, room);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line = format!("> {line}");
        if !section.line(&line) {
            section.fit(&line);
            break;
        }
    }
    section.text()
}
