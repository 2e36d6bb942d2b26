//! The agent's own list of what is to be done, as its tools recorded it.

use crate::json;
use crate::redact::redact;
use crate::text;
use serde::{Deserialize, Serialize};

const MOST: usize = 200;
const LONGEST: usize = 400;
/// Bytes kept of a plan written as a text.
const PLAN: usize = 12_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    Open,
    UnderWay,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub id: String,
    pub text: String,
    pub progress: Progress,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// A plan the agent wrote down for the person to agree to, and whether the person did.
    pub proposal: Option<Proposal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub text: String,
    pub agreed: bool,
}

fn progress(status: &str) -> Option<Progress> {
    match status {
        "pending" | "open" | "todo" | "not_started" => Some(Progress::Open),
        "in_progress" | "active" | "doing" => Some(Progress::UnderWay),
        "completed" | "done" | "complete" => Some(Progress::Done),
        _ => None,
    }
}

fn kept(subject: &str) -> String {
    let squeezed = text::squeeze(subject);
    redact(text::head(&squeezed, LONGEST)).text.into_owned()
}

impl Plan {
    /// A tool that replaces the whole list. Whether `input` held one.
    pub fn replace(&mut self, input: &str) -> bool {
        let list = ["todos", "plan", "tasks", "items"]
            .iter()
            .find_map(|name| json::get(input, name));
        let Some(list) = list.filter(|list| list.starts_with('[')) else {
            return false;
        };
        let mut steps = Vec::new();
        json::elements(list, |item| {
            let what = ["content", "step", "subject", "title", "text"]
                .iter()
                .find_map(|name| json::text_of(item, name));
            let status = json::text_of(item, "status").and_then(|s| progress(&s));
            if let (Some(what), true) = (what, steps.len() < MOST) {
                steps.push(Step {
                    id: json::text_of(item, "id").unwrap_or_default().into_owned(),
                    text: kept(&what),
                    progress: status.unwrap_or(Progress::Open),
                });
            }
        });
        self.steps = steps;
        true
    }

    /// A step was added; the tool's answer names its number.
    pub fn create(&mut self, subject: &str, answer: &str) {
        let id: String = answer
            .split_once('#')
            .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect())
            .unwrap_or_default();
        if self.steps.len() < MOST {
            self.steps.push(Step {
                id,
                text: kept(subject),
                progress: Progress::Open,
            });
        }
    }

    /// A step changed.
    pub fn update(&mut self, input: &str) {
        let id = json::text_of(input, "taskId").unwrap_or_default();
        let status = json::text_of(input, "status").unwrap_or_default();
        if status == "deleted" {
            self.steps.retain(|step| step.id != id);
            return;
        }
        let step = self.steps.iter_mut().find(|step| step.id == id);
        let Some(step) = step.filter(|_| !id.is_empty()) else {
            return;
        };
        if let Some(progress) = progress(&status) {
            step.progress = progress;
        }
        if let Some(subject) = json::text_of(input, "subject") {
            step.text = kept(&subject);
        }
    }

    pub fn propose(&mut self, text: &str) {
        self.proposal = Some(Proposal {
            text: text::head(text, PLAN).to_owned(),
            agreed: false,
        });
    }

    pub fn of(&self, progress: Progress) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |s| s.progress == progress)
    }
}
