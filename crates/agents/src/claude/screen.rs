//! What Claude's screen shows. Only a guard before keys, never a proof.
//!
//! The composer stands between two rules as wide as the screen; its row starts with `❯` and a
//! no-break space (dialogs use the same sign with an ordinary space). It is shown while Claude
//! works too.

use crate::sgr::{Row, rows, text};
use crate::wrapped::{shows, unwrapped};
use sm_core::signal::{Activity, Composer, PersonNeed};

/// What a screen without a composer says, and what it means; the first that is found counts.
const DIALOGS: [(&str, Need); 14] = [
    ("trust this folder", Need::FirstRun("folder trust")),
    ("Do you trust the files", Need::FirstRun("folder trust")),
    ("use this API key?", Need::FirstRun("API key")),
    ("Syntax theme:", Need::FirstRun("first-run setup")),
    ("Choose the text style", Need::FirstRun("first-run setup")),
    ("Select login method", Need::FirstRun("login")),
    ("Paste code here", Need::FirstRun("login")),
    (
        "Bypass Permissions mode",
        Need::FirstRun("permission mode warning"),
    ),
    ("Stop and wait for limit to reset", Need::Limit),
    ("Do you want to ", Need::Permission),
    ("Would you like to proceed?", Need::Question),
    ("Enter to select", Need::Question),
    ("Esc to cancel", Need::Question),
    ("Type to search", Need::Question),
];

enum Need {
    FirstRun(&'static str),
    Permission,
    Question,
    Limit,
}

/// A dialog stands at the bottom; what the conversation above says is not part of it.
const DIALOG_ROWS: usize = 50;

/// Signs before the line that tells what Claude is doing.
const SPINNER: [char; 7] = ['·', '✢', '*', '✳', '✶', '✻', '✽'];

const INTERRUPTIBLE: &str = "esc to interrupt";
const STASHED: &str = "› stashed";
/// The note of newer versions: right of what stands below the composer, or above it behind other notes.
const NOTE_STASHED: &str = "draft stashed";

/// Reads the screen. `ours`: a text that was pasted and may stand in the composer.
pub fn read_screen(
    lines: &[String],
    cursor_x: u32,
    cursor_y: u32,
    ours: Option<&str>,
) -> (Composer, Activity) {
    let rows = rows(lines);
    let texts = rows.iter().map(|row| text(row)).collect::<Vec<_>>();
    let Some((top, bottom)) = frame(&texts) else {
        return (Composer::Hidden, dialog(&texts));
    };
    // what stands above another rule belongs to an older composer: of an agent that was killed
    let above = texts[..top].iter().rev().take_while(|line| !rule(line));
    let working = above.take(12).any(|line| spinner(line))
        || texts[bottom..]
            .iter()
            .any(|line| line.contains(INTERRUPTIBLE));
    let activity = if working {
        Activity::Busy
    } else {
        Activity::Idle
    };
    let cursor = (cursor_x as usize, cursor_y as usize);
    let inside = &texts[top + 1..bottom];
    let columns = texts[bottom].chars().count();
    let composer = if inside[0].starts_with('!') {
        // a command that was typed for a shell: its sign has become the mode
        let command = ours.and_then(|ours| ours.strip_prefix('!'));
        match command.is_some_and(|command| is_ours(inside, command.trim_start(), columns)) {
            true => Composer::Ours,
            false => Composer::Shell,
        }
    } else if empty(&rows[top + 1..bottom], top + 1, cursor) {
        match stashed(&texts, top, bottom) {
            true => Composer::Stashed,
            false => Composer::Empty,
        }
    } else if blank(&inside[0]) && inside.len() == 1 {
        // Nothing typed, but the cursor is elsewhere: a search, a menu.
        Composer::Hidden
    } else if ours.is_some_and(|ours| is_ours(inside, ours, columns)) {
        Composer::Ours
    } else if stashed(&texts, top, bottom) || listed(&texts[bottom + 1..]) {
        Composer::DraftOverStash
    } else {
        Composer::Draft
    };
    (composer, activity)
}

/// What stands in the composer, with the agent's own signs for what was pasted.
pub fn draft(lines: &[String]) -> Option<String> {
    let texts = rows(lines).iter().map(|row| text(row)).collect::<Vec<_>>();
    let (top, bottom) = frame(&texts)?;
    let inside = texts.get(top + 1..bottom)?;
    let inside = inside
        .iter()
        .map(|row| row.chars().skip(2).collect::<String>())
        .collect::<Vec<_>>();
    let columns = texts.get(bottom)?.chars().count().saturating_sub(2);
    Some(unwrapped(&inside, columns)).filter(|text| !text.is_empty())
}

/// `[Pasted text #N +M lines]`: what was pasted has that many line ends.
pub fn stands_for(sign: &str, pasted: &str) -> bool {
    placeholder(sign).is_some_and(|lines| lines == pasted.matches('\n').count())
}

fn stashed(texts: &[String], top: usize, bottom: usize) -> bool {
    let mut footer = texts[bottom + 1..].iter();
    let above = top.checked_sub(1).and_then(|row| texts.get(row));
    footer.any(|line| line.contains(STASHED) || ends_stashed(line, " "))
        || above.is_some_and(|line| ends_stashed(line, "\u{b7} "))
}

/// The note stands alone, or behind others.
fn ends_stashed(line: &str, parting: &str) -> bool {
    let before = line.trim().strip_suffix(NOTE_STASHED);
    before.is_some_and(|before| before.is_empty() || before.ends_with(parting))
}

/// A list of commands or files stands in the footer's place: whether something is stashed, nobody
/// can tell. The footer is indented, what is listed is not.
fn listed(footer: &[String]) -> bool {
    footer
        .iter()
        .any(|line| line.starts_with(|c: char| !c.is_whitespace()))
}

/// The rows of the two rules around the composer.
fn frame(texts: &[String]) -> Option<(usize, usize)> {
    let bottom = texts.iter().rposition(|line| rule(line))?;
    let open = texts[..bottom].iter().rposition(|line| {
        // The upper rule may carry a label.
        line.starts_with("──") && line.ends_with('─')
    })?;
    let first = texts.get(open + 1).filter(|_| open + 1 < bottom)?;
    let mut start = first.chars();
    let sign = matches!(start.next(), Some('❯' | '!')) && start.next() == Some('\u{a0}');
    sign.then_some((open, bottom))
}

fn rule(line: &str) -> bool {
    line.chars().count() >= 8 && line.chars().all(|c| c == '─')
}

fn blank(row: &str) -> bool {
    row.chars().skip(2).all(char::is_whitespace)
}

/// Proven empty: one row, the cursor at its start, and nothing there but a dim hint, of which the
/// first character lies under the cursor.
fn empty(rows: &[Row], at: usize, cursor: (usize, usize)) -> bool {
    let [row] = rows else { return false };
    if cursor != (2, at) {
        return false;
    }
    let typed = row.iter().skip(2).filter(|cell| !cell.c.is_whitespace());
    let mut visible = typed.clone();
    match visible.next() {
        None => true,
        Some(first) => {
            let dim = visible.clone().count();
            (first.dim || (first.reverse && dim > 0)) && visible.all(|cell| cell.dim)
        }
    }
}

fn is_ours(inside: &[String], ours: &str, columns: usize) -> bool {
    let mut rows = Vec::with_capacity(inside.len());
    for (i, row) in inside.iter().enumerate() {
        // The first row starts with the sign, the others with two blanks (or nothing at all).
        let content: String = row.chars().skip(2).collect();
        if i > 0 && !row.is_empty() && !row.starts_with("  ") {
            return false;
        }
        rows.push(content);
    }
    let ours = ours
        .replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\t', "    ");
    let columns = columns.saturating_sub(2);
    if let [row] = rows.as_slice()
        && let Some(lines) = placeholder(row)
    {
        return lines == ours.matches('\n').count();
    }
    if let Some((sign, before)) = rows.split_last()
        && let Some(shown) = before_sign(sign, &ours)
    {
        return shows(before, shown, columns);
    }
    shows(&rows, &ours, columns)
}

/// The lines that are shown before a sign that stands for all behind them.
fn before_sign<'a>(sign: &str, ours: &'a str) -> Option<&'a str> {
    let behind = placeholder(sign)?;
    let mut ends = ours.rmatch_indices('\n');
    ends.nth(behind).map(|(end, _)| &ours[..end])
}

/// `[Pasted text #N]` or `[Pasted text #N +M lines]` and nothing else: how many more lines.
fn placeholder(row: &str) -> Option<usize> {
    let inner = row
        .trim()
        .strip_prefix("[Pasted text #")?
        .strip_suffix(']')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match inner.split_once(" +") {
        None => digits(inner).then_some(0),
        Some((number, lines)) => {
            let lines = lines
                .strip_suffix(" lines")
                .or(lines.strip_suffix(" line"))?;
            digits(number).then(|| lines.parse().ok())?
        }
    }
}

/// `✻ Churning… (2s · …)`: a sign, words with an ellipsis, what it costs in brackets.
fn spinner(line: &str) -> bool {
    let mut chars = line.chars();
    chars.next().is_some_and(|c| SPINNER.contains(&c))
        && chars.next() == Some(' ')
        && line.contains('…')
}

fn dialog(texts: &[String]) -> Activity {
    for (words, need) in &DIALOGS {
        if texts
            .iter()
            .rev()
            .take(DIALOG_ROWS)
            .any(|line| line.contains(words))
        {
            return Activity::Waiting(match need {
                Need::FirstRun(what) => PersonNeed::FirstRun((*what).to_owned()),
                Need::Permission => PersonNeed::Permission(String::new()),
                Need::Question => PersonNeed::Question,
                Need::Limit => PersonNeed::Limit,
            });
        }
    }
    Activity::Unknown
}
