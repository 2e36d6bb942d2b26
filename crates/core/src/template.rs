//! What a good handoff document holds, as a template to fill in, and how to tell that nobody did.
//!
//! Never judges how well a document is written: only whether it is the template still.

const TEMPLATE: &str = "\
# Handoff

## Goal and constraints
<the task and every constraint in the words they were given in, quoted, not summarised>

## State of the work
<what is done and how that is known, what is half done, what is not begun>

## Decisions and why
<each decision, its reason, and what was ruled out>

## Files
<the path of each file that matters, what it is for, what was changed in it>

## Commands
<how to build, test and run, from which directory, and what they printed last>

## What failed
<what was tried and did not work, with the exact error, so that nobody tries it again>

## Open ends
<questions nobody has answered, people or sessions waited for, things that still run>

## Next actions
<the next steps in order; the first so exact that it can be done at once>
";

/// The template. Its placeholders are lines in `<angle brackets>`.
pub fn handoff_template() -> &'static str {
    TEMPLATE
}

/// Whether this is the template still: half of its placeholders or more are as they were, or
/// nothing but its own lines is in it. White space at the ends of lines does not count.
pub fn is_unfilled_template(text: &str) -> bool {
    let left = placeholders()
        .filter(|placeholder| text.lines().any(|line| line.trim() == *placeholder))
        .count();
    if left > 0 && left * 2 >= placeholders().count() {
        return true;
    }
    let mut lines = text
        .lines()
        .map(|line| line.trim().trim_start_matches('\u{feff}'))
        .filter(|line| !line.is_empty())
        .peekable();
    lines.peek().is_some() && lines.all(|line| TEMPLATE.lines().any(|own| own == line))
}

/// Headings whose placeholder still stands in a text, in the template's order.
pub fn unfilled_headings(text: &str) -> Vec<&'static str> {
    let mut heading = "";
    let mut found = Vec::new();
    for own in TEMPLATE.lines() {
        if let Some(name) = own.strip_prefix("## ") {
            heading = name;
        } else if own.starts_with('<') && text.lines().any(|line| line.trim() == own) {
            found.push(heading);
        }
    }
    found
}

fn placeholders() -> impl Iterator<Item = &'static str> {
    TEMPLATE.lines().filter(|line| line.starts_with('<'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(but: usize) -> String {
        let all = placeholders().count();
        TEMPLATE
            .lines()
            .scan(0, |seen, line| {
                if line.starts_with('<') {
                    *seen += 1;
                    if *seen + but <= all {
                        return Some("real words".to_owned());
                    }
                }
                Some(line.to_owned())
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn the_template_has_a_placeholder_under_every_heading() {
        let headings = TEMPLATE.lines().filter(|l| l.starts_with("## ")).count();
        assert_eq!(headings, 8);
        assert_eq!(placeholders().count(), headings);
        assert!(placeholders().all(|p| p.ends_with('>') && p.trim() == p));
    }

    #[test]
    fn what_is_the_template_still_and_what_is_not() {
        let crlf = TEMPLATE.replace('\n', "  \r\n");
        let marked = format!("\u{feff}{TEMPLATE}");
        let headings: String = TEMPLATE
            .lines()
            .filter(|l| l.starts_with('#'))
            .map(|l| format!("{l}\n\n"))
            .collect();
        for (text, unfilled, what) in [
            (TEMPLATE.to_owned(), true, "as printed"),
            (crlf, true, "with other line ends"),
            (marked, true, "with a byte order mark"),
            (headings, true, "only its headings"),
            (filled(8), true, "nothing filled"),
            (filled(4), true, "half filled"),
            (filled(3), false, "three left"),
            (filled(0), false, "all filled"),
            (format!("# Mine\n{TEMPLATE}"), true, "a title added"),
            (String::new(), false, "empty: refused for that"),
            (
                "Go on with step 3.\n".to_owned(),
                false,
                "a text of one's own",
            ),
            ("Vec<u8>\n<T>\n<T>\n".to_owned(), false, "other brackets"),
        ] {
            assert_eq!(is_unfilled_template(&text), unfilled, "{what}");
        }
    }

    #[test]
    fn what_is_left_to_fill_in() {
        assert_eq!(unfilled_headings(TEMPLATE).len(), 8);
        assert_eq!(unfilled_headings(&filled(2)), ["Open ends", "Next actions"]);
        assert_eq!(
            unfilled_headings(&filled(1).replace('\n', " \r\n")),
            ["Next actions"]
        );
        assert!(unfilled_headings(&filled(0)).is_empty());
        assert!(unfilled_headings("<T>\n").is_empty());
    }
}
