//! What Codex's screen shows. Only a guard before keys, never a proof.
//!
//! The composer is the last row that starts with `›` (`!` in shell mode), up to the next empty
//! row; the same sign marks earlier prompts (dim) and the choice in a dialog (reverse).

use crate::sgr::{Row, rows, text};
use crate::wrapped::{shows, unwrapped};
use sm_core::signal::{Activity, Composer, PersonNeed};

/// What a dialog says, and what it means; the first that is found counts.
const DIALOGS: [(&str, Need); 11] = [
    ("Hooks need review", Need::FirstRun("hooks to review")),
    (
        "needs review before it can run",
        Need::FirstRun("hooks to review"),
    ),
    (
        "Do you trust the contents of this directory",
        Need::FirstRun("folder trust"),
    ),
    ("trust this directory", Need::FirstRun("folder trust")),
    ("Update available", Need::FirstRun("update")),
    ("Sign in with ChatGPT", Need::FirstRun("login")),
    ("Would you like to ", Need::Permission),
    ("Press enter to confirm or esc to cancel", Need::Permission),
    ("Where should the new conversation run?", Need::Question),
    ("enter select · esc back", Need::Question),
    ("enter confirm · esc", Need::Question),
];

enum Need {
    FirstRun(&'static str),
    Permission,
    Question,
}

const WORKING: &str = "esc to interrupt)";
const STEERED: &str = "esc to interrupt and send";
const SHELL_MODE: &str = "Shell mode";

/// Reads the screen. `ours`: a text that was pasted and may stand in the composer.
pub fn read_screen(
    lines: &[String],
    cursor_x: u32,
    cursor_y: u32,
    ours: Option<&str>,
) -> (Composer, Activity) {
    let rows = rows(lines);
    let texts = rows.iter().map(|row| text(row)).collect::<Vec<_>>();
    let Some(first) = rows.iter().rposition(prompt) else {
        return (Composer::Hidden, dialog(&texts));
    };
    let end = end(&texts, first);
    let cursor = (cursor_x as usize, cursor_y as usize);
    // A dialog takes the composer's place; one left above in the text does not hold the cursor.
    if !(first..end.max(first + 1)).contains(&cursor.1) {
        return (Composer::Hidden, dialog(&texts));
    }
    let working = texts[..first]
        .iter()
        .rev()
        .take(8)
        .any(|l| l.contains(WORKING) || l.contains(STEERED));
    // While an answer streams nothing tells that Codex works: the screen alone proves no idle.
    let activity = if working {
        Activity::Busy
    } else {
        Activity::IdleOrWaiting
    };
    let shell = texts[end..].iter().any(|line| line.contains(SHELL_MODE));
    let composer = if shell || texts[first].starts_with('!') {
        let command = ours.and_then(|ours| ours.strip_prefix('!'));
        let shown = |ours: &str| is_ours(&texts[first..end], ours, lines_width(&texts));
        let typed = command.is_some_and(|command| shown(command.trim_start()));
        match typed || ours.is_some_and(|ours| ours.starts_with('!') && shown(ours)) {
            true => Composer::Ours,
            false => Composer::Shell,
        }
    } else if cursor == (2, first) && hint(&rows[first]) && alone(&texts[first..end]) {
        Composer::Empty
    } else if ours.is_some_and(|ours| is_ours(&texts[first..end], ours, lines_width(&texts))) {
        Composer::Ours
    } else {
        Composer::Draft
    };
    (composer, activity)
}

/// What stands in the composer, with the agent's own signs for what was pasted.
pub fn draft(lines: &[String]) -> Option<String> {
    let rows = rows(lines);
    let texts = rows.iter().map(|row| text(row)).collect::<Vec<_>>();
    let first = rows.iter().rposition(prompt)?;
    let inside = texts.get(first..end(&texts, first))?;
    let inside = inside
        .iter()
        .map(|row| row.chars().skip(2).collect::<String>())
        .collect::<Vec<_>>();
    let columns = lines_width(&texts).saturating_sub(2);
    Some(unwrapped(&inside, columns)).filter(|text| !text.is_empty())
}

/// `[Pasted Content N chars]`: what was pasted has that many characters.
pub fn stands_for(sign: &str, pasted: &str) -> bool {
    placeholder(sign).is_some_and(|count| count == pasted.chars().count())
}

/// Where the composer ends: at the empty row above the footer, or with the last row while there is
/// no footer yet. A draft may hold empty rows itself.
fn end(texts: &[String], first: usize) -> usize {
    let last = texts
        .iter()
        .rposition(|line| !line.is_empty())
        .unwrap_or(first);
    (first + 1..=last)
        .rev()
        .find(|i| texts[*i].is_empty())
        .unwrap_or(last + 1)
}

/// A composer's first row: the sign neither dim (an earlier prompt) nor reverse (a choice).
fn prompt(row: &Row) -> bool {
    let plain = row
        .first()
        .is_some_and(|c| matches!(c.c, '›' | '!') && !c.dim && !c.reverse);
    plain && row.get(1).is_none_or(|cell| cell.c == ' ')
}

/// No other row, or only empty ones below a hint: the footer is drawn in two steps.
fn alone(inside: &[String]) -> bool {
    match inside {
        [] | [_] => true,
        [first, below @ ..] => first.chars().count() > 2 && below.iter().all(String::is_empty),
    }
}

/// Nothing but a dim hint after the sign, or nothing at all.
fn hint(row: &Row) -> bool {
    row.iter().skip(2).all(|cell| cell.dim || cell.c == ' ')
}

/// The widest row is the best guess at the screen's width: the footer reaches its right edge.
fn lines_width(texts: &[String]) -> usize {
    texts
        .iter()
        .map(|line| crate::sgr::width(line))
        .max()
        .unwrap_or(0)
}

fn is_ours(inside: &[String], ours: &str, columns: usize) -> bool {
    let filled = inside.iter().rposition(|row| !row.is_empty());
    let rows = inside[..filled.map_or(0, |last| last + 1)]
        .iter()
        .map(|row| row.chars().skip(2).collect::<String>())
        .collect::<Vec<_>>();
    let ours = ours.replace("\r\n", "\n").replace('\r', "\n");
    if let [row] = rows.as_slice()
        && let Some(count) = placeholder(row)
    {
        // The blank that keeps a slash from being a command stands before the placeholder.
        let blank = usize::from(row.starts_with(' ') && ours.starts_with(' '));
        return count == ours.chars().count() - blank;
    }
    shows(
        &rows,
        &ours.replace('\t', " "), // as wide as it is drawn
        columns.saturating_sub(2),
    )
}

/// `[Pasted Content N chars]` and nothing else.
fn placeholder(row: &str) -> Option<usize> {
    row.trim()
        .strip_prefix("[Pasted Content ")?
        .strip_suffix(" chars]")?
        .parse()
        .ok()
}

fn dialog(texts: &[String]) -> Activity {
    for (words, need) in &DIALOGS {
        if texts.iter().any(|line| line.contains(words)) {
            return Activity::Waiting(match need {
                Need::FirstRun(what) => PersonNeed::FirstRun((*what).to_owned()),
                Need::Permission => PersonNeed::Permission(String::new()),
                Need::Question => PersonNeed::Question,
            });
        }
    }
    Activity::Unknown
}
