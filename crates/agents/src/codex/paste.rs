//! What Codex's composer does to a pasted text.
//!
//! Seen on the real program: white space at both ends goes, line ends become LF, tabs stay. A
//! leading `/` is a command, unless the composer starts with a blank, which is then taken off: so
//! any such text arrives byte for byte. A leading `!` is run by a shell, blank or not, unless the
//! text is so long that the composer shows a placeholder for it.
//!
//! Of what terminals draw differently (emoji, joined letters, invisible characters) it may leave
//! pieces of what stood there before. That, and a text of many rows, which scrolls in the composer, could not be
//! told from a draft: blanks at its end, which go, make it long enough for a placeholder that says
//! its length.

use crate::paste::PasteFit;
use sm_core::comparable;

/// Above this many characters a paste becomes a placeholder.
const PLACEHOLDER: usize = 1_000;

/// A text beyond these may need more rows than the composer shows.
const TALL_LINES: usize = 4;
const TALL_CHARS: usize = 300;

/// Whether a prompt with this beginning is run by a shell when given as an argument at launch.
pub fn is_command(text: &str) -> bool {
    text.trim_start().starts_with('!')
}

pub fn fit(text: &str) -> PasteFit {
    let arrives = text
        .replace("\r\n", "\n")
        .replace('\r', "\n")
        .trim()
        .to_owned();
    if comparable::is_blank(&arrives) {
        return PasteFit::Empty;
    }
    let count = arrives.chars().count();
    let long = count > PLACEHOLDER;
    if is_command(comparable::without_invisible_start(&arrives)) && !long {
        return PasteFit::Command;
    }
    let mut pastes = Vec::new();
    let mut last = arrives.clone();
    if arrives.starts_with('/') {
        // Two pastes, so that a long text stays one placeholder behind the blank.
        pastes.push(" ".to_owned());
    }
    let tall = count > TALL_CHARS || arrives.lines().count() > TALL_LINES;
    if !long && (tall || !comparable::is_plain(&arrives)) {
        last.extend(std::iter::repeat_n(' ', PLACEHOLDER + 1 - count));
    } else if !long && popup(&arrives) {
        last.push(' ');
    }
    pastes.push(last);
    if arrives == text {
        PasteFit::Exact { pastes }
    } else {
        PasteFit::Changed { pastes, arrives }
    }
}

/// A last word that opens a list of files or skills, of which Enter would take the first.
fn popup(text: &str) -> bool {
    text.rsplit(char::is_whitespace)
        .next()
        .is_some_and(|word| word.starts_with(['@', '$']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives() {
        let exact = |pastes: &[&str]| PasteFit::Exact {
            pastes: pastes.iter().map(|p| (*p).to_owned()).collect(),
        };
        let changed = |arrives: &str| PasteFit::Changed {
            pastes: vec![arrives.to_owned()],
            arrives: arrives.to_owned(),
        };
        let long = "y".repeat(1300);
        for (text, expected) in [
            ("hello", exact(&["hello"])),
            ("tab\there", exact(&["tab\there"])),
            ("ends\\", exact(&["ends\\"])),
            ("/help", exact(&[" ", "/help"])),
            ("see @file", exact(&["see @file "])),
            ("  both  ", changed("both")),
            ("crlf\r\nx", changed("crlf\nx")),
            ("!ls", PasteFit::Command),
            (" !ls", PasteFit::Command),
            ("\n", PasteFit::Empty),
            ("\u{200b}", PasteFit::Empty),
            ("\u{200b}!ls", PasteFit::Command),
        ] {
            assert_eq!(fit(text), expected, "{text:?}");
        }
        let tall = "a\nb\nc\nd\ne @f";
        let blanks = " ".repeat(1001 - tall.len());
        assert_eq!(fit(tall), exact(&[&format!("{tall}{blanks}")]));
        assert_eq!(
            fit(&format!("/{tall}")),
            exact(&[" ", &format!("/{tall}{}", &blanks[1..])])
        );
        let emoji = "⚠\u{fe0f} careful";
        let blanks = " ".repeat(1001 - emoji.chars().count());
        assert_eq!(fit(emoji), exact(&[&format!("{emoji}{blanks}")]));
        assert_eq!(fit(&format!("/{long}")), exact(&[" ", &format!("/{long}")]));
        assert_eq!(fit(&format!("!{long}")), exact(&[&format!("!{long}")]));
    }
}
