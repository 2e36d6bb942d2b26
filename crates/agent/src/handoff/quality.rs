//! Whether a document has the sections that were asked for.
//!
//! Models name things in their own way: a heading counts if it has one of the section's words.

use sm_ledger::gate::{GateFacts, Level, check};
use sm_ledger::redact::redact;

#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    pub title: &'static str,
    /// What stands under the heading in the request.
    pub asks: &'static str,
    /// Words by which its heading is known, in lower case.
    words: &'static [&'static str],
}

pub static SECTIONS: [Section; 6] = [
    Section {
        title: "Objective",
        asks: "What the person wants in the end, and how it will be known that it is reached.",
        words: &["objective", "goal", "purpose"],
    },
    Section {
        title: "Constraints and preferences",
        asks: "What the person demanded, forbade or prefers, in their words where they matter.",
        words: &["constraint", "preference", "requirement"],
    },
    Section {
        title: "Progress",
        asks: "Finished, under way and not started, each as a list.",
        words: &["progress", "status"],
    },
    Section {
        title: "Decisions",
        asks: "What was decided and why; what was tried or rejected and why.",
        words: &["decision", "decided"],
    },
    Section {
        title: "Technical state",
        asks: "Paths, symbols, commands that work, test results, failures with their messages, the state of the repository (branch, uncommitted changes).",
        words: &["technical", "state", "context", "environment"],
    },
    Section {
        title: "Next actions",
        asks: "What to do next, in order, the first one ready to be done.",
        words: &["next", "todo", "to do", "remaining"],
    },
];

/// The sections that a document does not have.
pub fn missing(document: &str) -> Vec<&'static Section> {
    let headings = headings(document);
    SECTIONS
        .iter()
        .filter(|section| {
            !headings
                .iter()
                .any(|heading| section.words.iter().any(|word| heading.contains(word)))
        })
        .collect()
}

/// Why a document cannot stand in for the context it would replace, as the gate of handoffs says it.
/// Nothing: it can. Its secrets are taken out before anybody gets it, so they are no reason.
pub fn unfit(document: &str) -> Vec<String> {
    let report = check(&redact(document).text, &GateFacts::default());
    report
        .at_least(Level::Error)
        .map(|finding| finding.what.clone())
        .collect()
}

/// How far a document is from what was asked for: less is better.
pub fn flaws(document: &str) -> (usize, usize) {
    (unfit(document).len(), missing(document).len())
}

/// Headings outside of code, in lower case: `# …`, or a line in bold.
fn headings(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in document.lines() {
        let line = line.trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                continue;
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                continue;
            }
            (Some(_), _) => continue,
            (None, None) => {}
        }
        let bold = line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
        if line.starts_with('#') || bold {
            found.push(line.to_lowercase());
        }
    }
    found
}

/// A document that a model put into one code fence is taken out of it.
pub fn unfenced(document: &str) -> &str {
    let document = document.trim();
    let Some(inner) = document.strip_prefix("```") else {
        return document;
    };
    let Some((first, rest)) = inner.split_once('\n') else {
        return document;
    };
    let whole = matches!(first.trim(), "" | "md" | "markdown");
    let Some(inside) = rest.strip_suffix("```").filter(|_| whole) else {
        return document;
    };
    // A bare fence inside, before one that names a language, closes the first.
    let mut inner = inside
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("```"));
    if inside.matches("```").count() % 2 == 0 && inner.next() != Some("```") {
        inside.trim()
    } else {
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "## Objective\nx\n## Constraints and preferences\nx\n## Progress\nx\n## Decisions\nx\n## Technical state\nx\n## Next actions\n1. x";

    #[test]
    fn sections_are_found_by_their_words() {
        let titles =
            |document: &str| -> Vec<&str> { missing(document).iter().map(|s| s.title).collect() };
        assert_eq!(titles(WHOLE), [""; 0]);
        assert_eq!(titles(&WHOLE.to_uppercase()), [""; 0]);
        assert_eq!(
            titles(&WHOLE.replace("## Decisions", "**Key decisions:**")),
            [""; 0]
        );
        assert_eq!(
            titles(&WHOLE.replace("## Objective", "# The Goal")),
            [""; 0]
        );
        assert_eq!(
            titles(&WHOLE.replace("## Decisions", "Decisions")),
            ["Decisions"]
        );
        assert_eq!(
            titles(&WHOLE.replace("## Progress", "```\n## Progress\n```")),
            ["Progress"]
        );
        assert_eq!(titles("I would rather go on.").len(), 6);
        assert_eq!(titles("").len(), 6);
        assert_eq!(titles("```\n## Objective").len(), 6);
    }

    #[test]
    fn a_fence_around_the_whole_is_taken_off() {
        for (text, expected) in [
            ("```markdown\n# A\n```", "# A"),
            ("```\n# A\n```\n", "# A"),
            ("# A\n```\ncode\n```", "# A\n```\ncode\n```"),
            ("```sh\nls\n```", "```sh\nls\n```"),
            ("```md\n# A\n```sh\nls\n```\n```", "# A\n```sh\nls\n```"),
            (
                "```md\n# A\n```\ntext\n```sh\nls\n```",
                "```md\n# A\n```\ntext\n```sh\nls\n```",
            ),
            ("```", "```"),
        ] {
            assert_eq!(unfenced(text), expected, "{text}");
        }
    }
}
