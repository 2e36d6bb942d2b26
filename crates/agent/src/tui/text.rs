//! Text of others made fit for a terminal: what it may contain, how wide it is.
//!
//! Models and tools may say anything; nothing of it may reach the person's terminal as a sequence,
//! turn the direction of the text around or hide itself.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Tabs go to the next of these columns: eight would push code off a narrow screen.
const TAB: usize = 4;

/// Lines of foreign text: no escape sequences, no control characters, tabs as spaces. What a
/// progress bar has overwritten is left out.
pub(crate) fn clean_lines(text: &str) -> Vec<String> {
    text.split('\n').map(clean_line).collect()
}

fn clean_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let seen = line.rsplit('\r').next().unwrap_or(line);
    clean(seen)
}

/// One line of foreign text; line breaks in it become spaces.
pub(crate) fn clean(text: &str) -> String {
    // The common case costs one look.
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.to_owned();
    }
    let mut parts = text.split('\t');
    let mut out = sm_term::sanitize_for_display(parts.next().unwrap_or_default());
    for part in parts {
        let at = width(&out);
        out.extend(std::iter::repeat_n(' ', TAB - at % TAB));
        out.push_str(&sm_term::sanitize_for_display(part));
    }
    out
}

/// The same for a text of several lines.
pub(crate) fn clean_text(text: &str) -> String {
    clean_lines(text).join("\n")
}

/// How many columns a text takes that was cleaned before.
pub(crate) fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => clusters(text).map(|(_, width)| width).sum(),
    }
}

/// What a person sees as one character each, and how wide it is.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (cluster, left) = rest.split_at(next_cluster(rest)?);
        rest = left;
        Some((cluster, cluster_width(cluster)))
    })
}

fn cluster_width(cluster: &str) -> usize {
    let mut chars = cluster.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => c.width().unwrap_or(0),
        (Some(_), Some(_)) => cluster.width().min(2),
        (None, _) => 0,
    }
}

/// Where the cluster that begins the text ends; `None` for an empty text.
pub(crate) fn next_cluster(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let (_, first) = chars.next()?;
    let mut before = first;
    let mut flags = usize::from(is_flag(first));
    for (at, c) in chars {
        let joined = before == '\u{200d}' && !c.is_ascii();
        let second_flag = flags == 1 && is_flag(c);
        if !(joined || second_flag || extends(c)) || first.is_control() {
            return Some(at);
        }
        flags += usize::from(is_flag(c));
        before = c;
    }
    Some(text.len())
}

/// Where the last cluster of the text begins.
pub(crate) fn previous_cluster(text: &str) -> Option<usize> {
    // Flags pair up from the beginning of their run, so it is walked from the line's start.
    let line = text
        .get(..text.len().checked_sub(1)?)
        .map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
    let mut start = line;
    loop {
        let rest = text.get(start..)?;
        let end = start + next_cluster(rest)?;
        if end >= text.len() {
            return Some(start);
        }
        start = end;
    }
}

fn is_flag(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}

fn extends(c: char) -> bool {
    !c.is_ascii()
        && (c == '\u{200d}' || c.width() == Some(0) || ('\u{1f3fb}'..='\u{1f3ff}').contains(&c))
}

/// The beginning of a text that fits into so many columns.
pub(crate) fn fit(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for (cluster, width) in clusters(text) {
        used += width;
        if used > columns {
            break;
        }
        end += cluster.len();
    }
    text.get(..end).unwrap_or(text)
}

/// The text, or its beginning and the sign that it is cut.
pub(crate) fn shorten(text: &str, columns: usize, sign: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    match columns.checked_sub(width(sign)) {
        Some(room) => format!("{}{sign}", fit(text, room)),
        None => fit(sign, columns).to_owned(),
    }
}

/// The text, or the sign that it is cut and its end.
pub(crate) fn shorten_front(text: &str, columns: usize, sign: &str) -> String {
    let mut left = width(text);
    if left <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(sign));
    let mut start = 0;
    for (cluster, width) in clusters(text) {
        if left <= room {
            break;
        }
        left -= width;
        start += cluster.len();
    }
    format!("{sign}{}", text.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_of_others_is_a_sequence() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\x1b[2J\x1b[Hgone", "gone"),
            ("\x1b]0;owned\x07name", "name"),
            ("\x1b]52;c;ZXZpbA==\x07x", "x"),
            ("a\tb", "a   b"),
            ("abcd\tb", "abcd    b"),
            ("日\tb", "日  b"),
            ("10%\r50%\r100%", "100%"),
            ("abc\u{202e}txt.exe", "abctxt.exe"),
            ("bell\x07\0\x7f\u{9b}31m", "bell"),
        ] {
            assert_eq!(clean_lines(text).join("\n"), expected, "{text:?}");
        }
        assert_eq!(clean_lines("one\r\ntwo\n"), ["one", "two", ""]);
    }

    #[test]
    fn widths_and_clusters() {
        for (text, columns, count) in [
            ("abc", 3, 3),
            ("日本", 4, 2),
            ("e\u{301}a", 2, 2),
            ("👩\u{200d}💻x", 3, 2),
            ("👍\u{1f3fd}", 2, 1),
            ("🇩🇪🇫🇷", 4, 2),
            ("❤\u{fe0f}", 2, 1),
            ("", 0, 0),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
            assert_eq!(clusters(text).count(), count, "{text:?}");
        }
    }

    #[test]
    fn cutting() {
        assert_eq!(shorten("日本語", 5, "…"), "日本…");
        assert_eq!(shorten("日本語", 6, "…"), "日本語");
        assert_eq!(shorten("abc", 0, "..."), "");
        assert_eq!(shorten_front("/home/me/project", 9, "…"), "…/project");
        assert_eq!(shorten_front("abc", 3, "…"), "abc");
    }

    proptest! {
        #[test]
        fn whatever_comes_is_safe_and_fits(text in "(\\PC|[\\x00-\\x1f\\x7f-\\x9f]|\u{1b}\\[|🇩|👩|\u{200d}){0,60}", columns in 0_usize..20) {
            let lines = clean_lines(&text);
            for line in &lines {
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                prop_assert!(width(fit(line, columns)) <= columns);
                prop_assert!(width(&shorten(line, columns, "…")) <= columns);
                let all: String = clusters(line).map(|(cluster, _)| cluster).collect();
                prop_assert_eq!(&all, line);
                let last = clusters(line).last().map_or(0, |(cluster, _)| cluster.len());
                prop_assert_eq!(previous_cluster(line), (!line.is_empty()).then(|| line.len() - last));
            }
        }
    }
}
