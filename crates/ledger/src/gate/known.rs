//! What a ledger knows that a document can be held against.

use super::TestFact;
use super::claims::same_file;
use crate::ledger::Ledger;

/// Taken from a ledger once, for one document.
#[derive(Debug, Clone, Default)]
pub struct Known {
    files: Vec<String>,
    changed: Vec<String>,
    tests: Option<Result<(), String>>,
    /// Nothing of the context is missing.
    whole: bool,
}

impl Known {
    pub fn of(ledger: &Ledger) -> Self {
        let changed = ledger
            .files
            .all
            .iter()
            .filter(|(_, f)| f.changed > 0 || f.created);
        Self {
            files: ledger.files.all.keys().cloned().collect(),
            changed: changed.map(|(path, _)| path.clone()).collect(),
            tests: ledger.work.tests.as_ref().map(|tests| match tests.passed {
                true => Ok(()),
                false => Err(tests.command.clone()),
            }),
            whole: ledger.compactions == 0 && ledger.steps > 0,
        }
    }

    /// The session has dealt with it.
    pub fn has_file(&self, path: &str) -> bool {
        self.files.iter().any(|file| same_file(file, path))
    }

    /// Nothing changed is nothing to compare with: commands change files too.
    pub fn changed(&self) -> Option<&[String]> {
        (!self.changed.is_empty()).then_some(self.changed.as_slice())
    }

    pub fn tests(&self) -> TestFact<'_> {
        match &self.tests {
            Some(Ok(())) => TestFact::Passed,
            Some(Err(command)) => TestFact::Failed { command },
            None if self.whole => TestFact::NotRun,
            None => TestFact::Unknown,
        }
    }
}
