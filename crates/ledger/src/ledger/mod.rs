//! What a context holds, kept up to date record by record.
//!
//! Adding a record costs the same however many came before, and memory is bounded. It must never
//! lose the goal or the newest words of a person, and never keep a secret: it is written to disk.

mod clean;
mod earlier;
mod files;
mod interrupts;
mod links;
mod names;
mod people;
mod plan;
mod prose;
mod told;
mod tools;
mod work;

pub use files::{Files, Touched, Use};
pub use interrupts::{Interrupt, Interrupts};
pub use links::Links;
pub use names::{Name, Names};
pub use people::{Directive, People};
pub use plan::{Plan, Progress, Proposal, Step};
pub use prose::{Note, Prose, Stopped, StoppedBy};
pub use told::Told;
pub use tools::{About, Open};
pub use work::{Command, Commit, Tests, Trouble, Work, essence, is_test};

use crate::json;
use crate::record::{At, Outcome, Record, Speaker};
use crate::redact::Origin;
use crate::text;
use clean::Secrets;
use names::Touch;
use serde::{Deserialize, Serialize};
use sm_core::{Timestamp, words};
use std::collections::VecDeque;

/// Calls that are waited for.
const OPEN: usize = 128;
/// Bytes kept of what the program said in the place of a context.
const SUMMARY: usize = 32_000;
/// What a shown text is looked through for; the rest of a longer one is not read.
const SHOWN: usize = 2 * 1024 * 1024;

/// Before what a person says who refuses a call: only people say something.
const WORDS_OF_REFUSAL: &str = "the user said:";

/// What the program put in the place of the context before this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub text: String,
    pub line: u64,
    pub time: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// The last line that was added, and when it was written.
    pub line: u64,
    pub time: Option<Timestamp>,
    /// When this context began.
    pub since: Option<Timestamp>,
    /// Contexts before this one.
    pub compactions: u32,
    pub summary: Option<Summary>,
    /// Lines of conversation in this context.
    pub steps: u32,
    /// The line of the newest step.
    step_line: u64,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub tokens: Option<u64>,
    /// Somebody stopped the agent, and nothing came after it.
    pub interrupted: bool,
    /// When that was.
    pub interrupted_at: Option<Timestamp>,
    pub people: People,
    pub plan: Plan,
    pub files: Files,
    pub work: Work,
    pub prose: Prose,
    pub links: Links,
    pub names: Names,
    pub open: VecDeque<Open>,
    /// Commands that were started in the background: newest last.
    pub background: VecDeque<String>,
    /// Secrets that were taken out of what is kept here.
    pub redacted: u64,
    /// Those that were seen, so that they are known where nothing around them says what they are.
    #[serde(skip)]
    secrets: Secrets,
}

impl Ledger {
    /// Every record comes in here, and nothing is taken from it before its secrets are gone: a name
    /// or a path that is looked at without what stands around it does not show that it is one.
    pub fn add(&mut self, at: At, record: &Record<'_>) {
        self.line = self.line.max(at.line);
        match record {
            Record::Said { by, text } => {
                self.step(at);
                let text = self.clean(text::head(text, SHOWN), Origin::Any);
                self.said(at, *by, &text);
            }
            Record::Spoke { text } => {
                self.step(at);
                self.interrupted = false;
                let text = self.clean(text, Origin::Any);
                self.names.take(&text, Touch::Acted, self.steps, 0);
                self.links.take(&text);
                self.prose.spoke(&text, self.steps, at);
            }
            Record::Thought => self.step(at),
            Record::Called { id, tool, input } => {
                self.step(at);
                self.interrupted = false;
                let input = self.clean_input(tool, input.get());
                self.called(at, id, tool, &input);
            }
            Record::Returned { id, text, outcome } => {
                self.step(at);
                let place = self.open.iter().rposition(|open| open.id == *id);
                let open = place.and_then(|place| self.open.remove(place));
                let origin = open
                    .as_ref()
                    .map_or(Origin::Any, |open| open.about.origin());
                let text = self.clean(text::head(text, SHOWN), origin);
                self.returned(at, open, &text, *outcome);
            }
            Record::Used { tokens } => self.tokens = Some(*tokens),
            Record::Compacted { summary } => {
                let summary = summary.as_deref();
                let summary = summary.map(|text| self.clean(text, Origin::Any));
                self.compacted(at, summary.as_deref());
            }
            Record::Interrupted => {
                self.step(at);
                self.interrupted = true;
                self.interrupted_at = at.time;
            }
            Record::Place { cwd, branch } => {
                if let Some(cwd) = cwd {
                    let cwd = self.clean(text::head(cwd, 1_000), Origin::Any);
                    self.cwd = Some(cwd.into_owned());
                }
                if let Some(branch) = branch {
                    let branch = self.clean(text::head(branch, 200), Origin::Any);
                    self.branch = Some(branch.into_owned());
                }
            }
            Record::Aside | Record::Other => {}
        }
    }

    /// A line of conversation is one step, however many records it holds.
    fn step(&mut self, at: At) {
        if at.line != self.step_line || self.steps == 0 {
            self.steps = self.steps.saturating_add(1);
            self.step_line = at.line;
        }
        if at.time.is_some() {
            self.time = at.time;
            self.since = self.since.or(at.time);
        }
    }

    fn said(&mut self, at: At, by: Speaker, text: &str) {
        self.names.take(text, Touch::Acted, self.steps, 0);
        match by {
            Speaker::Person | Speaker::Queued => {
                self.links.take(text);
                self.interrupted = false;
                let asked = self.prose.last_question();
                self.people.say(text, at, self.compactions, asked);
                self.prose.answered();
            }
            Speaker::Program => {
                // A command with words of its own: what a person wants is in them.
                let args = text
                    .split_once("<command-args>")
                    .and_then(|(_, rest)| rest.split_once("</command-args>"));
                let name = text
                    .split_once("<command-name>")
                    .and_then(|(_, rest)| rest.split_once("</command-name>"));
                if let (Some((args, _)), Some((name, _))) = (args, name)
                    && !args.trim().is_empty()
                {
                    let typed = format!("{} {}", name.trim(), args.trim());
                    self.people.say(&typed, at, self.compactions, None);
                }
            }
        }
    }

    fn called(&mut self, at: At, id: &str, tool: &str, input: &str) {
        let about = tools::about(tool, input);
        let step = self.steps;
        let file = match &about {
            About::File(Use::Change | Use::Write, path) => self.files.id(path, step),
            About::File(Use::Read, path) => {
                self.files.id(path, step);
                0
            }
            About::Files(files) => {
                let ids = files.iter().map(|(_, path)| self.files.id(path, step));
                ids.collect::<Vec<_>>().first().copied().unwrap_or(0)
            }
            About::Command { .. }
            | About::Agent(_)
            | About::NewStep(_)
            | About::Proposal
            | About::Question
            | About::Other => 0,
        };
        let (names, links) = (&mut self.names, &mut self.links);
        let command = matches!(about, About::Command { .. });
        json::strings(input, |text| {
            names.take(&text, Touch::Acted, step, file);
            if command {
                links.take(&text);
            }
        });
        match &about {
            About::Proposal => {
                if let Some(plan) = json::text_of(input, "plan") {
                    self.plan.propose(&plan);
                }
            }
            About::Other => {
                let lower = tool.to_ascii_lowercase();
                if lower == "taskupdate" {
                    self.plan.update(input);
                } else if lower.contains("todo") || lower.contains("plan") {
                    self.plan.replace(input);
                }
            }
            About::File(..)
            | About::Files(_)
            | About::Command { .. }
            | About::Agent(_)
            | About::NewStep(_)
            | About::Question => {}
        }
        self.open.push_back(Open {
            id: text::head(id, 200).to_owned(),
            tool: text::head(tool, 100).to_owned(),
            about,
            step,
            line: at.line,
        });
        if self.open.len() > OPEN {
            self.open.pop_front();
        }
    }

    fn returned(&mut self, at: At, open: Option<Open>, said: &str, outcome: Outcome) {
        let step = self.steps;
        let mut file = 0;
        if let Some(open) = &open {
            if let About::File(Use::Read, path) = &open.about {
                file = self.files.id(path, step);
            }
            self.ended(at, open, said, outcome);
        }
        self.names.take(said, Touch::Seen, step, file);
        // What a person says who refuses a call stands in its result.
        if outcome == Outcome::Refused
            && let Some((_, words)) = said.split_once(WORDS_OF_REFUSAL)
        {
            self.people.say(words, at, self.compactions, None);
        }
    }

    fn ended(&mut self, at: At, open: &Open, said: &str, outcome: Outcome) {
        let step = self.steps;
        if outcome == Outcome::Refused {
            let by = match said.contains(WORDS_OF_REFUSAL) {
                true => StoppedBy::Person,
                false => StoppedBy::Unknown,
            };
            let what = format!("{} {}", open.tool, open.about.subject());
            self.prose.stop(&what, by, step, at);
        }
        let mut file = |how: Use, path: &str| {
            self.files.used(path, how, outcome, said, step);
            let family = format!("{} {path}", open.tool);
            match outcome {
                Outcome::Failed => self.work.trouble(family.clone(), &family, said, step, at),
                Outcome::Done | Outcome::Unknown => self.work.mended(&family),
                Outcome::Refused => {}
            }
        };
        match &open.about {
            About::File(how, path) => file(*how, path),
            About::Files(files) => files.iter().for_each(|(how, path)| file(*how, path)),
            About::Command { text, background } => {
                self.work.ran(text, outcome, said, step, at);
                self.links.take(text::tail(said, 8 * 1024));
                if *background && outcome == Outcome::Done {
                    self.background.push_back(text::head(text, 200).to_owned());
                    if self.background.len() > 20 {
                        self.background.pop_front();
                    }
                }
            }
            About::NewStep(subject) if outcome != Outcome::Failed => {
                self.plan.create(subject, text::head(said, 200));
            }
            About::Proposal => {
                if let Some(proposal) = &mut self.plan.proposal {
                    proposal.agreed = outcome == Outcome::Done;
                }
            }
            About::Agent(_) | About::NewStep(_) | About::Question | About::Other => {}
        }
    }

    /// The context before is gone. What people said stays, and what the program said of it counts
    /// as the first thing of the new one.
    fn compacted(&mut self, at: At, summary: Option<&str>) {
        self.compactions = self.compactions.saturating_add(1);
        self.names.clear();
        self.files = Files::default();
        self.work = Work::default();
        self.prose = Prose::default();
        self.links = Links::default();
        self.open.clear();
        self.steps = 0;
        self.since = at.time;
        self.tokens = None;
        self.summary = summary.map(|text| Summary {
            text: text::head(text, SUMMARY).to_owned(),
            line: at.line,
            time: at.time,
        });
        self.step(at);
        if let Some(summary) = summary {
            self.names.take(summary, Touch::Acted, self.steps, 0);
        }
    }

    /// What people said, in all contexts; never what `sm` said by itself.
    pub fn words_of_people(&self) -> impl DoubleEndedIterator<Item = &Directive> + Clone {
        let said = self.people.said.iter();
        said.filter(|d| !words::is_of_sm(&d.text))
    }

    /// What people said in this context.
    pub fn directives(&self) -> impl DoubleEndedIterator<Item = &Directive> {
        let now = self.compactions;
        self.words_of_people().filter(move |d| d.context == now)
    }
}
