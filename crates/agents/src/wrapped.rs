//! Whether the rows of a composer hold exactly a given text; and the text that they hold.
//!
//! An agent wraps a long line at words; the screen does not show the blank it broke at, nor blanks
//! at the end of a row, unless they begin the next. A row may end where the text has a line end, or
//! where it was full.

use crate::sgr::width;
use sm_core::comparable;

/// Whether the rows can be what a terminal makes of a text. One that every terminal draws alike has
/// to be there to the blank; of any other the ink counts.
pub fn shows(rows: &[String], text: &str, columns: usize) -> bool {
    holds(rows, text, columns) || (!comparable::is_plain(text) && comparable::is_shown(rows, text))
}

/// `rows` are the composer's rows without prompt and indentation; `columns` the room of a row.
fn holds(rows: &[String], text: &str, columns: usize) -> bool {
    let mut rest = text.trim_end();
    for (i, row) in rows.iter().enumerate() {
        let Some(after) = rest.strip_prefix(row.as_str()) else {
            return false;
        };
        let trimmed = after.trim_start_matches(' ');
        rest = match trimmed.strip_prefix('\n') {
            Some(next) => next,
            None if i + 1 == rows.len() => trimmed,
            None if after.is_empty() => {
                // below a full row the cursor has one of its own
                let cursor = matches!(&rows[i + 1..], [last] if last.is_empty());
                return cursor && width(row) + SLACK >= columns;
            }
            None => {
                // Broken by the agent: only because the next word had no room.
                let gap = after.len() - trimmed.len();
                let word = trimmed.split([' ', '\n']).next().unwrap_or_default();
                if width(row) + gap + width(word) < columns.saturating_sub(SLACK) {
                    return false;
                }
                let begun = rows.get(i + 1).map_or(0, |next| blanks(next));
                after.get(gap.saturating_sub(begun)..).unwrap_or_default()
            }
        };
    }
    rest.is_empty()
}

/// How many blanks a row begins with.
fn blanks(row: &str) -> usize {
    row.len() - row.trim_start_matches(' ').len()
}

/// The text of these rows, as far as it can be told: a row that had room for the next word ended
/// with the line.
pub fn unwrapped(rows: &[String], columns: usize) -> String {
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        text.push_str(row);
        let Some(next) = rows.get(i + 1) else { break };
        let word = next.split(' ').next().unwrap_or_default();
        let room = width(row) + 1 + width(word) < columns.saturating_sub(SLACK);
        if room || row.is_empty() || word.is_empty() {
            text.push('\n');
        } else if row.contains(' ') {
            text.push(' '); // the blank it was broken at is not shown
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Columns an agent may leave free at the end of a row (the cursor, a wide character).
const SLACK: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_rows() {
        for (rows, columns, text) in [
            (&["hello"][..], 80, "hello"),
            (&["one", "two"], 80, "one\ntwo"),
            (&["one", "", "  two"], 80, "one\n\n  two"),
            (&["aaaa bbbb", "cccc"], 12, "aaaa bbbb cccc"),
            (&["aaaabbbb", "cccc"], 9, "aaaabbbbcccc"),
            (&["日本語", "日本"], 7, "日本語日本"),
            (&["one", ""], 80, "one"),
            (&[], 80, ""),
        ] {
            let rows = rows.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
            assert_eq!(unwrapped(&rows, columns), text, "{rows:?}");
        }
    }

    #[test]
    fn what_is_drawn_otherwise_is_recognised_and_a_draft_is_not() {
        let rows = |row: &str| vec![row.to_owned()];
        assert!(shows(&rows("⚠\u{fe0f}  careful"), "⚠\u{fe0f} careful", 80));
        assert!(!shows(
            &rows("⚠\u{fe0f}  careful me"),
            "⚠\u{fe0f} careful",
            80
        ));
        assert!(
            !shows(&rows("care ful"), "careful", 80),
            "plain: to the blank"
        );
    }

    #[test]
    fn rows_and_texts() {
        for (rows, text, columns, expected) in [
            (&["hello"][..], "hello", 80, true),
            (&["hello"], "hello  \n", 80, true),
            (&["hello"], "hello you", 80, false),
            (&["hello you"], "hello", 80, false),
            (&["one", "two"], "one\ntwo", 80, true),
            (&["one", "two"], "one two", 80, false),
            (&["one", "", "  two"], "one\n\n  two", 80, true),
            (&["aaaa bbbb", "cccc"], "aaaa bbbb cccc", 12, true),
            (&["aaaabbbb", "cccc"], "aaaabbbbcccc", 9, true),
            (&["aaaa bbbb", " cccc"], "aaaa bbbb cccc", 9, true),
            (&["aaaa bbbb", " cccc"], "aaaa bbbb  cccc", 9, true),
            (&["aaaa bbbb", "  cccc"], "aaaa bbbb cccc", 9, false),
            (&["aaaa bbbb", " cccc"], "aaaa bbbbcccc", 9, false),
            (&["aaaabbbb", "ccccdddd", ""], "aaaabbbbccccdddd", 8, true),
            (
                &["aaaabbbb", "ccccdddd", "", ""],
                "aaaabbbbccccdddd",
                8,
                false,
            ),
            (&["aaaa", ""], "aaaa", 80, false),
            (&["日本語", "日本"], "日本語日本", 7, true),
            (&["one"], "", 80, false),
            (&[], "", 80, true),
        ] {
            let rows = rows.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
            assert_eq!(holds(&rows, text, columns), expected, "{rows:?} {text:?}");
        }
    }
}
