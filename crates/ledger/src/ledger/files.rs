//! Files that the agent read and wrote.

use crate::record::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const MOST: usize = 4_000;
const LONGEST: usize = 1_000;

/// What the agent wants of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Use {
    Read,
    Change,
    /// Written whole: it may have been there before.
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Touched {
    /// Names refer to it by this.
    pub id: u32,
    pub read: u32,
    pub changed: u32,
    /// It was not there before the agent wrote it.
    pub created: bool,
    pub step: u32,
    /// The last attempt did not succeed.
    pub failed: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Files {
    pub all: BTreeMap<String, Touched>,
    next: u32,
}

impl Files {
    /// The number of a file, which is known from now on.
    pub fn id(&mut self, path: &str, step: u32) -> u32 {
        if path.is_empty() || path.len() > LONGEST {
            return 0;
        }
        if let Some(file) = self.all.get(path) {
            return file.id;
        }
        if self.all.len() >= MOST {
            self.thin();
        }
        self.next = self.next.wrapping_add(1).max(1);
        let file = Touched {
            id: self.next,
            step,
            ..Touched::default()
        };
        self.all.insert(path.to_owned(), file);
        self.next
    }

    pub fn used(&mut self, path: &str, how: Use, outcome: Outcome, said: &str, step: u32) {
        let Some(file) = self.all.get_mut(path) else {
            return;
        };
        file.step = step;
        file.failed = matches!(outcome, Outcome::Failed | Outcome::Refused);
        if file.failed {
            return;
        }
        match how {
            Use::Read => file.read = file.read.saturating_add(1),
            Use::Change => file.changed = file.changed.saturating_add(1),
            Use::Write => {
                let new = said.contains("created") || said.contains("Added");
                file.created |= new && file.changed == 0 && file.read == 0;
                file.changed = file.changed.saturating_add(1);
            }
        }
    }

    pub(super) fn each_path(&mut self, change: &mut impl FnMut(&mut String)) {
        let all = std::mem::take(&mut self.all);
        let changed = all.into_iter().map(|(mut path, touched)| {
            change(&mut path);
            (path, touched)
        });
        self.all = changed.collect();
    }

    /// The half that was used longest ago and never written goes.
    fn thin(&mut self) {
        let mut steps: Vec<u32> = self.all.values().map(|file| file.step).collect();
        let middle = steps.len() / 2;
        let limit = *steps.select_nth_unstable(middle).1;
        self.all.retain(|_, file| {
            file.step > limit || (file.changed > 0 && file.step.saturating_add(2_000) > limit)
        });
        while self.all.len() > MOST * 3 / 4 {
            self.all.pop_first();
        }
    }
}
