//! Words and tables for people. Pure: values come in, text goes out.
//!
//! Whatever comes from a session, a file or a program passes through `one_line` or `many_lines`
//! before it reaches a terminal: nobody's data moves our cursor.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How output looks here.
#[derive(Debug, Clone)]
pub struct Look {
    pub color: Color,
    pub signs: Signs,
    /// Columns of the terminal; unlimited when nobody looks.
    pub width: Option<usize>,
    /// Looked up when the first time of day is shown: that reads the system's whole list of zones.
    pub zone: OnceLock<TimeZone>,
    pub now: Timestamp,
    /// Shown as `~`.
    pub home: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    On,
    Off,
}

/// What gauges and charts are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    Unicode,
    Ascii,
}

/// Later ones are graver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    Plain,
    Bold,
    Dim,
    Good,
    Busy,
    Warn,
    Bad,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Good => Some("32"),
            Self::Busy => Some("36"),
            Self::Warn => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

impl Look {
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        match (self.color, tone.code()) {
            (Color::On, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// One line of what is told of a thing; nothing to tell, no line.
    pub fn row(&self, label: &str, value: &str) -> String {
        match value {
            "" => String::new(),
            _ => format!("{} {value}\n", self.label(label)),
        }
    }

    /// What stands before the values of a thing, one below the other.
    pub fn label(&self, label: &str) -> String {
        self.paint(Tone::Dim, &format!("{label:<13}"))
    }

    /// "3 min ago".
    pub fn ago(&self, at: &str) -> String {
        match self.seconds_since(at) {
            Some(seconds) if seconds < 5 => "just now".to_owned(),
            Some(seconds) => format!("{} ago", duration(seconds)),
            None => one_line(at),
        }
    }

    /// "3 min".
    pub fn since(&self, at: &str) -> String {
        self.seconds_since(at).map_or_else(String::new, duration)
    }

    fn seconds_since(&self, at: &str) -> Option<i64> {
        let at: Timestamp = at.parse().ok()?;
        Some(self.now.as_second().saturating_sub(at.as_second()).max(0))
    }

    /// The local time of day, with the date if that is not today.
    pub fn clock(&self, at: &str) -> String {
        let Ok(at) = at.parse::<Timestamp>() else {
            return one_line(at);
        };
        let zone = self.zone.get_or_init(TimeZone::system);
        let at = at.to_zoned(zone.clone());
        let today = self.now.to_zoned(zone.clone()).date();
        if at.date() == today {
            at.strftime("%H:%M:%S").to_string()
        } else {
            at.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
    }

    /// A path with the home directory as `~`.
    pub fn path(&self, path: &str) -> String {
        let short = match self.home.as_deref().filter(|home| home.len() > 1) {
            Some(home) => match path.strip_prefix(home) {
                Some("") => "~".to_owned(),
                Some(rest) if rest.starts_with('/') => format!("~{rest}"),
                _ => path.to_owned(),
            },
            None => path.to_owned(),
        };
        one_line(&short)
    }
}

/// "12 s", "3 min", "2 h 5 min", "4 d".
pub fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if seconds < 60 => format!("{seconds} s"),
        () if minutes < 60 => format!("{minutes} min"),
        () if hours < 10 && minutes % 60 > 0 => format!("{hours} h {} min", minutes % 60),
        () if hours < 48 => format!("{hours} h"),
        () => format!("{days} d"),
    }
}

/// "1.5 MiB".
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// "1 session", "2 sessions".
pub fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// Data as one line: line ends and tabs become spaces, other control characters go.
pub fn one_line(data: &str) -> String {
    clean(data, |c| match c {
        '\n' | '\t' => Some(' '),
        _ => None,
    })
}

/// Data as text: lines and tabs stay, other control characters go.
pub fn many_lines(data: &str) -> String {
    clean(data, |c| match c {
        '\n' | '\t' => Some(c),
        _ => None,
    })
}

fn clean(data: &str, keep: impl Fn(char) -> Option<char>) -> String {
    data.replace("\r\n", "\n")
        .chars()
        .filter_map(|c| match c {
            '\r' => keep('\n'),
            c if c.is_control() => keep(c),
            c if reorders(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Characters that make text read differently from what it says.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// JSON that is safe to show: the same value, with the control characters that JSON allows in
/// strings escaped too.
pub fn safe_json(json: &str) -> String {
    if !json
        .chars()
        .any(|c| matches!(c, '\u{7f}'..='\u{9f}') || reorders(c))
    {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 32);
    for c in json.chars() {
        if matches!(c, '\u{7f}'..='\u{9f}') || reorders(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

pub fn width(text: &str) -> usize {
    text.width()
}

/// The beginning, with `…` if something is missing.
pub fn cut_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = take_columns(text.chars(), columns.saturating_sub(1));
    out.push('…');
    out
}

/// The end, with `…` if something is missing: what matters of a path.
pub fn cut_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let end = take_columns(text.chars().rev(), columns.saturating_sub(1));
    format!("…{}", end.chars().rev().collect::<String>())
}

fn take_columns(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// One cell: what it says and how.
#[derive(Debug, Clone)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Self {
        Self::toned(text, Tone::Plain)
    }

    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

/// The least the last column keeps.
const LEAST_LAST: usize = 12;
const GAP: usize = 2;

/// Rows under headings, aligned; the last column is shortened from its start to fit.
pub fn table(look: &Look, headings: &[&str], rows: &[Vec<Cell>]) -> String {
    table_giving(look, headings, rows, 0)
}

/// The same, where the column `gives` (a name) gives way before the others do.
pub fn table_giving(look: &Look, headings: &[&str], rows: &[Vec<Cell>], gives: usize) -> String {
    let columns = headings.len();
    let mut widths: Vec<usize> = headings.iter().map(|heading| width(heading)).collect();
    for row in rows {
        for (at, cell) in row.iter().enumerate().take(columns) {
            widths[at] = widths[at].max(width(&cell.text));
        }
    }
    if let (Some(limit), Some(last)) = (look.width, columns.checked_sub(1)) {
        let mut before: usize = widths[..last].iter().map(|width| width + GAP).sum();
        if before + LEAST_LAST > limit && widths[gives] > LEAST_LAST && last > gives {
            let excess = (before + LEAST_LAST - limit).min(widths[gives] - LEAST_LAST);
            widths[gives] -= excess;
            before -= excess;
        }
        widths[last] = widths[last].min(limit.saturating_sub(before).max(LEAST_LAST));
    }
    let mut out = String::new();
    let headings: Vec<Cell> = headings
        .iter()
        .map(|heading| Cell::toned(*heading, Tone::Dim))
        .collect();
    for row in std::iter::once(&headings).chain(rows) {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate().take(columns) {
            let is_last = at + 1 == columns;
            let text = if is_last {
                cut_start(&cell.text, widths[at])
            } else {
                cut_end(&cell.text, widths[at])
            };
            line.push_str(&look.paint(cell.tone, &text));
            if !is_last {
                line.push_str(&" ".repeat(widths[at] - width(&text) + GAP));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Noon of a day in UTC, no colour, 80 columns.
    pub fn look() -> Look {
        Look {
            color: Color::Off,
            signs: Signs::Unicode,
            width: Some(80),
            zone: OnceLock::from(TimeZone::UTC),
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
            home: Some("/home/ann".to_owned()),
        }
    }

    #[test]
    fn times_read_as_people_say_them() {
        for (at, ago, clock) in [
            ("2026-03-01T11:59:58Z", "just now", "11:59:58"),
            ("2026-03-01T11:59:30.5Z", "30 s ago", "11:59:30"),
            ("2026-03-01T11:57:00Z", "3 min ago", "11:57:00"),
            ("2026-03-01T09:55:00Z", "2 h 5 min ago", "09:55:00"),
            ("2026-02-28T11:00:00Z", "25 h ago", "2026-02-28 11:00:00"),
            ("2026-02-20T12:00:00Z", "9 d ago", "2026-02-20 12:00:00"),
            // A clock that is ahead of ours.
            ("2026-03-01T12:00:09Z", "just now", "12:00:09"),
            ("garbage\x1b[31m", "garbage[31m", "garbage[31m"),
        ] {
            assert_eq!(look().ago(at), ago, "{at}");
            assert_eq!(look().clock(at), clock, "{at}");
        }
    }

    #[test]
    fn data_cannot_move_the_cursor() {
        for (data, line, text) in [
            ("plain", "plain", "plain"),
            ("a\x1b[2Jb\x07", "a[2Jb", "a[2Jb"),
            ("a\nb\tc", "a b c", "a\nb\tc"),
            ("a\r\nb\rc", "a b c", "a\nb\nc"),
            ("c1 \u{9b}31m \u{7f}", "c1 31m ", "c1 31m "),
            ("txt\u{202e}exe", "txtexe", "txtexe"),
        ] {
            assert_eq!(one_line(data), line, "{data:?}");
            assert_eq!(many_lines(data), text, "{data:?}");
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = "a\u{7f}b\u{9b}c\u{202e}d ü";
        let json = serde_json::to_string(value).unwrap();
        let safe = safe_json(&json);
        assert_eq!(safe, "\"a\\u007fb\\u009bc\\u202ed ü\"");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), value);
    }

    #[test]
    fn sizes_paths_and_cuts() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        let look = look();
        for (path, shown) in [
            ("/home/ann", "~"),
            ("/home/ann/src", "~/src"),
            ("/home/anna/src", "/home/anna/src"),
            ("/", "/"),
        ] {
            assert_eq!(look.path(path), shown);
        }
        assert_eq!(cut_end("abcdef", 4), "abc…");
        assert_eq!(cut_start("/a/b/cdef", 5), "…cdef");
        assert_eq!(cut_end("日本語", 4), "日…");
        assert_eq!(cut_end("abc", 3), "abc");
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let rows = vec![
            vec![
                Cell::new("api"),
                Cell::new("idle"),
                Cell::new("~/src/a/very/long/way/down/to/the/api"),
            ],
            vec![Cell::new("日本"), Cell::new("working"), Cell::new("~")],
        ];
        let narrow = Look {
            width: Some(40),
            ..look()
        };
        insta::assert_snapshot!(table(&narrow, &["NAME", "STATE", "DIR"], &rows), @r"
        NAME  STATE    DIR
        api   idle     …long/way/down/to/the/api
        日本  working  ~
        ");
        let unlimited = Look {
            width: None,
            ..look()
        };
        insta::assert_snapshot!(table(&unlimited, &["NAME", "STATE", "DIR"], &rows), @r"
        NAME  STATE    DIR
        api   idle     ~/src/a/very/long/way/down/to/the/api
        日本  working  ~
        ");
    }

    #[test]
    fn colour_is_all_or_nothing() {
        let painted = Look {
            color: Color::On,
            ..look()
        };
        assert_eq!(painted.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(painted.paint(Tone::Plain, "x"), "x");
        assert_eq!(look().paint(Tone::Bad, "x"), "x");
    }
}
