//! What Claude's composer does to a pasted text.
//!
//! Seen on the real program: a leading `/` or `!` is a command (a misspelt one too: `/clearx` runs
//! `/clear`); behind white space it is text in 2.1.197 and a command in 2.1.325. Line ends
//! become LF, a tab four spaces, white space at the end goes; a backslash at the end turns Enter
//! into a new line. U+2028 and U+2029 become LF in newer versions, which also strip invisible
//! characters, at the beginning too: what follows these is then the beginning. Everything else
//! arrives byte for byte.

use crate::paste::PasteFit;
use sm_core::{comparable, words};

/// Whether a prompt with this beginning is taken as a command (also as an argument at launch).
pub fn is_command(text: &str) -> bool {
    beginning(text).starts_with('/')
}

/// Where the text begins for newer versions: behind white space and what cannot be seen.
fn beginning(text: &str) -> &str {
    let mut begins = text;
    loop {
        let next = comparable::without_invisible_start(begins).trim_start();
        if next.len() == begins.len() {
            return begins;
        }
        begins = next;
    }
}

/// Up to this many characters (and two line ends) a paste is shown as it is; beyond, as a
/// placeholder, at the end of which nothing is taken off.
const INLINE: usize = 800;

pub fn fit(text: &str) -> PasteFit {
    if comparable::is_blank(text) {
        return PasteFit::Empty;
    }
    if beginning(text).starts_with(['/', '!', '#']) {
        return PasteFit::Command;
    }
    let mut whole = text
        .replace("\r\n", "\n")
        .replace(['\r', '\u{2028}', '\u{2029}'], "\n")
        .replace('\t', "    ");
    let is_shown = |text: &str| text.matches('\n').count() < 3 && text.chars().count() <= INLINE;
    let recognised = comparable::is_drawn_anywhere(&whole) && comparable::is_familiar(&whole);
    if is_shown(&whole) && !recognised {
        // the composer may show nothing of it, or something else: line ends make it a placeholder
        whole.push_str("\n\n\n");
    }
    let shown = is_shown(&whole);
    let (arrives, paste) = if shown {
        let arrives = whole.trim_end().to_owned();
        // White space at the end is taken off; it keeps a backslash away from Enter, and closes
        // the list of files that a last word with @ opens, of which Enter would take the first.
        let word = arrives.rsplit(char::is_whitespace).next();
        let blank = arrives.ends_with('\\') || word.is_some_and(|w| w.starts_with(['@', '/']));
        let paste = if blank {
            format!("{arrives} ")
        } else {
            arrives.clone()
        };
        (arrives, paste)
    } else {
        (whole.clone(), whole)
    };
    let pastes = match shown {
        true => vec![paste],
        false => with_own_words(paste),
    };
    if arrives == text {
        PasteFit::Exact { pastes }
    } else {
        PasteFit::Changed { pastes, arrives }
    }
}

/// Newer versions tell their model that a placeholder's text may hold instructions that the user did
/// not write, and is to be followed only as far as the user's own words ask for it. A first paste that
/// is shown as it is counts as the user's own words: those that say to go on from the document.
fn with_own_words(paste: String) -> Vec<String> {
    let line_end = paste.find('\n').map(|at| at + 1);
    let (words, rest) = line_end.map_or(("", ""), |at| paste.split_at(at));
    let is_placeholder = rest.matches('\n').count() >= 3 || rest.chars().count() > INLINE;
    let is_shown = words.chars().count() <= INLINE && comparable::is_familiar(words);
    if words::is_wake(words) && is_shown && is_placeholder {
        return vec![words.to_owned(), rest.to_owned()];
    }
    vec![paste]
}

/// What stands before a text that would be a command: the line that tells messages apart, as for
/// several at once. White space is no protection: 2.1.325 takes it off and runs the command; what
/// cannot be seen is removed as well.
const LEAD: &str = "[sm: message 1 of 1]\n";

/// A text that would be run as a command, pasted so that it is a prompt.
pub fn as_text(text: &str) -> Option<PasteFit> {
    match fit(&format!("{LEAD}{text}")) {
        PasteFit::Exact { pastes } => Some(PasteFit::Changed {
            pastes,
            arrives: format!("{LEAD}{text}"),
        }),
        changed @ PasteFit::Changed { .. } => Some(changed),
        PasteFit::Command | PasteFit::Empty => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_text_behind_a_line() {
        for text in ["/help", "!ls -l", "#note", "/a\nb\nc\nd\ne"] {
            assert_eq!(fit(text), PasteFit::Command, "{text}");
            let Some(PasteFit::Changed { pastes, arrives }) = as_text(text) else {
                panic!("{text}");
            };
            assert_eq!(arrives, format!("[sm: message 1 of 1]\n{text}"));
            assert!(pastes.concat().starts_with(&arrives), "{pastes:?}");
        }
    }

    #[test]
    fn the_words_to_go_on_are_the_users_own_and_the_document_is_pasted() {
        let words = "Read /d/notes.md and continue from where you left off.\n";
        let document = "\nThis is all of it:\n\n# Goal\nship it";
        let pastes = vec![words.to_owned(), document.to_owned()];
        assert_eq!(
            fit(&format!("{words}{document}")),
            PasteFit::Exact { pastes }
        );
        // so short that it is shown as it is
        let short = format!("{words}go on");
        let pastes = vec![short.clone()];
        assert_eq!(fit(&short), PasteFit::Exact { pastes });
        // a path that makes the words a placeholder, too
        let long = format!(
            "Read /{} and continue from where you left off.\n{document}",
            "x".repeat(INLINE)
        );
        let pastes = vec![long.clone()];
        assert_eq!(fit(&long), PasteFit::Exact { pastes });
    }

    #[test]
    fn what_arrives() {
        let exact = |paste: &str| PasteFit::Exact {
            pastes: vec![paste.to_owned()],
        };
        let changed = |arrives: &str| PasteFit::Changed {
            pastes: vec![arrives.to_owned()],
            arrives: arrives.to_owned(),
        };
        for (text, expected) in [
            ("hello", exact("hello")),
            ("  lead", exact("  lead")),
            (" /help", PasteFit::Command),
            ("\n\t!ls", PasteFit::Command),
            ("\u{200b} \u{feff}\n/help", PasteFit::Command),
            ("see @file", exact("see @file ")),
            ("a\n\n\nb", exact("a\n\n\nb")),
            ("emoji 👩‍👩‍👧 é", exact("emoji 👩‍👩‍👧 é")),
            ("ends\\", exact("ends\\ ")),
            ("trail \n\n", changed("trail")),
            ("tab\there", changed("tab    here")),
            ("crlf\r\nx\ry", changed("crlf\nx\ny")),
            ("shown\nwhole\n", changed("shown\nwhole")),
            (
                "a\nplaceholder\nkeeps \n",
                exact("a\nplaceholder\nkeeps \n"),
            ),
            ("/help", PasteFit::Command),
            ("/clearx y", PasteFit::Command),
            ("!ls", PasteFit::Command),
            ("\u{200b}/help", PasteFit::Command),
            ("\u{feff}!ls", PasteFit::Command),
            ("⚠\u{fe0f} careful", exact("⚠\u{fe0f} careful")),
            ("one\u{2028}two", changed("one\ntwo")),
            ("\u{1fae9}", changed("\u{1fae9}\n\n\n")),
            ("👍", exact("👍")),
            ("噁𭺥ᒴ", changed("噁𭺥ᒴ\n\n\n")),
            ("ab\u{e000}cd", changed("ab\u{e000}cd\n\n\n")),
            ("กำลังดี", exact("กำลังดี")),
            (
                "Read /d/notes.md and go on\na\nb\nc\nd",
                exact("Read /d/notes.md and go on\na\nb\nc\nd"),
            ),
            ("", PasteFit::Empty),
            (" \n", PasteFit::Empty),
            ("\u{200b}\u{fe0f}", PasteFit::Empty),
        ] {
            assert_eq!(fit(text), expected, "{text:?}");
        }
    }
}
