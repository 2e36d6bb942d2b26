//! What the model is asked for. One trailing message of the person's side, so that everything
//! before it is what the provider has in its cache.

use super::quality::{SECTIONS, Section};

/// The focus of a handoff that nobody asked for.
pub const AUTOMATIC_FOCUS: &str = "This handoff happens by itself because the context is nearly full, possibly in the middle of a step. State exactly which step is under way and what is left of it, so that it can be continued at once.";

const BEFORE: &str = "\
Write a handoff document now. A successor takes over this work in a new session. It sees none of this conversation: the document is all it has, together with the files on disk. Do not call tools and do not continue the work.

Use exactly these headings, in this order:
";

const AFTER: &str = "
Be concrete and complete: full paths, exact names, exact commands, exact error messages, numbers. Write instructions, not a story. Name what is not known or not checked as such. Leave out greetings and everything that the successor can read in the files faster than here. Never write down passwords, keys or tokens; say where they are kept instead.

Answer with the document only: Markdown that begins with the first heading, with no text before or after it and no code fence around it.";

/// The request. `focus` becomes one more paragraph; `cut` says that the beginning of the
/// conversation is missing.
pub fn prompt(focus: Option<&str>, cut: bool) -> String {
    let mut text = BEFORE.to_owned();
    for section in &SECTIONS {
        text.push_str(&format!("\n## {}\n{}\n", section.title, section.asks));
    }
    text.push_str(AFTER);
    if cut {
        text.push_str("\n\nThe oldest part of this conversation was left out because it does not fit any more. Say under Progress what you therefore cannot know.");
    }
    if let Some(focus) = focus.map(str::trim).filter(|focus| !focus.is_empty()) {
        text.push_str(&format!("\n\nAdditional focus: {focus}"));
    }
    text
}

/// The one further request when sections are missing, or what stands in them is not enough.
pub fn repair(missing: &[&Section], unfit: &[String]) -> String {
    if missing.is_empty() {
        return format!(
            "The document cannot be handed over as it is: {}. Write the whole document again. Answer with the document only.",
            unfit.join("; ")
        );
    }
    let titles: Vec<String> = missing
        .iter()
        .map(|s| format!("`## {}`", s.title))
        .collect();
    format!(
        "The document lacks {}. Write the whole document again, with every heading that was asked for; write \"none\" under a heading that has nothing. Answer with the document only.",
        titles.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_focus_is_one_paragraph_more_and_absent_otherwise() {
        let plain = prompt(None, false);
        assert_eq!(prompt(Some("  "), false), plain);
        assert!(!plain.contains("focus"));
        let focused = prompt(Some(" the parser "), false);
        assert_eq!(
            focused.strip_prefix(&plain),
            Some("\n\nAdditional focus: the parser")
        );
        assert_eq!(
            focused.split("\n\n").count(),
            plain.split("\n\n").count() + 1
        );
    }

    #[test]
    fn everything_that_the_document_must_hold_is_asked_for() {
        let text = prompt(None, false);
        for section in &SECTIONS {
            assert!(text.contains(&format!("\n## {}\n", section.title)));
        }
        for word in [
            "no",
            "paths",
            "commands",
            "rejected",
            "preferences",
            "order",
            "not started",
            "test",
            "repository",
            "document only",
        ] {
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn a_cut_is_told() {
        assert!(prompt(None, true).contains("left out"));
        assert!(!prompt(None, false).contains("left out"));
    }
}
