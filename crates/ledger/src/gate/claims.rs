//! Work that a document says is finished, against what is known of the context.
//!
//! Only claims that name something: a file, or the tests. Must never doubt what it cannot know.

use super::sections::{Line, Outline, Part};
use super::{Findings, GateFacts, Level, MOST_OF_A_KIND, TestFact, files};

/// Said of a file that was worked on.
const CHANGED: &str = "\
changed|modified|edited|updated|rewrote|rewritten|refactored|implemented in|implemented|\
fixed in|added to|patched|extended|wrote|created|geändert|angepasst|modifié|modificado|\
modificato|gewijzigd";

/// The line speaks of what is to come, or of what is not so.
const NOT_YET: &str = "\
[ ]|todo|will |should|need|must|next|not |n't|to be |plan|later|yet|would|could|unless|if |\
once |until|before|when |make sure|after |want|expect|ensure|earlier|previous|by someone|\
upstream|?";

const PASS: &str = "\
tests pass|tests are passing|tests passing|tests green|tests are green|test suite passes|\
test suite is green|tests all pass|tests now pass|tests still pass|all tests ok|tests: pass|\
tests: ok|tests: green|tests ok|suite passes|tests succeed|tests run green|all green|\
cargo test passes|pytest passes|npm test passes|go test passes|make test passes|\
tests sind grün|tests laufen durch|tests bestehen|les tests passent|los tests pasan|\
las pruebas pasan|os testes passam|i test passano";

const FAIL: &str = "\
fail|broken|red|error|not pass|don't pass|regress|flaky|panick|rot|fehl|échou|fall|falh|\
kaputt";

pub(super) fn check(
    document: &str,
    outline: &Outline<'_>,
    facts: &GateFacts<'_>,
    found: &mut Findings,
) {
    changed_files(outline, facts, found);
    tests(document, outline, facts, found);
}

fn done(line: &Line<'_>, lower: &str) -> bool {
    !line.code
        && line.part != Some(Part::Next)
        && !NOT_YET.split('|').any(|word| lower.contains(word))
}

fn changed_files(outline: &Outline<'_>, facts: &GateFacts<'_>, found: &mut Findings) {
    let Some(changed) = facts.changed else { return };
    let mut seen: Vec<&str> = Vec::new();
    for line in &outline.lines {
        let lower = line.text.to_lowercase();
        if !done(line, &lower) || !CHANGED.split('|').any(|word| lower.contains(word)) {
            continue;
        }
        for path in files::paths(line.text) {
            let known = changed.iter().any(|file| same_file(file, path));
            if known || seen.contains(&path) || seen.len() == MOST_OF_A_KIND {
                continue;
            }
            seen.push(path);
            found.add(
                Some(line.number),
                Level::Warning,
                6,
                format!(
                    "it says that {path} was changed, and no change of it is known in this context"
                ),
                "look at the file, and say when it was changed",
            );
        }
    }
}

/// One is the end of the other.
pub(super) fn same_file(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_start_matches("./"), b.trim_start_matches("./"));
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

fn tests(document: &str, outline: &Outline<'_>, facts: &GateFacts<'_>, found: &mut Findings) {
    let claim = outline.lines.iter().find(|line| {
        let lower = line.text.to_lowercase();
        done(line, &lower)
            && PASS.split('|').any(|word| lower.contains(word))
            && !FAIL.split('|').any(|word| has_word(&lower, word))
    });
    match (facts.tests, claim) {
        (TestFact::Failed { command }, Some(line)) => found.add(
            Some(line.number),
            Level::Error,
            25,
            format!(
                "it says that tests pass, but the last run failed: {}",
                short(command)
            ),
            "run them again, or say which fail",
        ),
        (TestFact::Failed { command }, None) => {
            let lower = document.to_lowercase();
            if !FAIL.split('|').any(|word| has_word(&lower, word)) {
                found.add(
                    None,
                    Level::Warning,
                    8,
                    format!(
                        "the last test run failed, and the document does not say so: {}",
                        short(command)
                    ),
                    "say what fails and what was tried",
                );
            }
        }
        (TestFact::NotRun, Some(line)) => found.add(
            Some(line.number),
            Level::Warning,
            6,
            "it says that tests pass, and no test run is known in this context",
            "run them, or say when they last passed",
        ),
        (TestFact::Unknown | TestFact::Passed, _) | (TestFact::NotRun, None) => {}
    }
}

/// A word of the text begins like this.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        text.get(..at).is_some_and(|before| {
            before
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric())
        })
    })
}

fn short(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(80).collect();
    if cut.len() < command.trim_end().len() {
        format!("{cut}…")
    } else {
        cut
    }
}
