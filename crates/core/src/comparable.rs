//! Whether two texts are the same one, by what is left of a text on its way through a composer.
//!
//! Agents and terminals rewrite what they are given: they strip invisible characters, normalise,
//! change white space, draw nothing or U+FFFD for what they do not know, and disagree about widths.
//! So texts are never compared byte for byte. What is compared is the ink: NFKC, without white
//! space, control characters and Unicode's default-ignorable ones (variation selectors, zero-width
//! characters, bidi controls, tags, soft hyphens, fillers).
//!
//! Every comparison of a composer, a prompt or a transcript with a text of ours is made here. It
//! must never tell a person's own words for ours: whatever else is skipped, no letter, digit or
//! ASCII character is.

use crate::pasted;
use crate::words::sanitize;
use std::collections::BTreeMap;
use std::iter::Peekable;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Unicode's Default_Ignorable_Code_Point, and the interlinear annotation marks.
const IGNORABLE: [(char, char); 18] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

const REPLACEMENT: char = '\u{fffd}';

/// Whether nothing is to be seen of a character by itself, so that an agent may leave it out.
pub fn is_ignorable(c: char) -> bool {
    IGNORABLE
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&c))
}

/// Whether there is anything to be read in a text.
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || is_ignorable(c))
}

/// The text without invisible characters before its first visible one: an agent that strips these
/// takes what follows for the beginning.
pub fn without_invisible_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| is_ignorable(c) || (c.is_control() && !c.is_whitespace()))
}

/// What is compared of a text.
fn ink(text: &str) -> String {
    let leaves_ink = |c: &char| !c.is_whitespace() && !c.is_control() && !is_ignorable(*c);
    // once more after NFKC: some signs become a blank and a mark
    text.chars()
        .filter(leaves_ink)
        .nfkc()
        .filter(leaves_ink)
        .collect()
}

/// What is compared of a prompt: what looks like the tags around a paste is taken off wherever one is
/// read, so it counts nowhere.
fn prompt_ink(text: &str) -> String {
    ink(&pasted::unwrapped(text))
}

/// Whether an agent that was given `b` may say `a`: the same but for what leaves no ink.
pub fn same(a: &str, b: &str) -> bool {
    a == b || {
        let a = prompt_ink(a);
        !a.is_empty() && a == prompt_ink(b)
    }
}

/// Whether `whole` has `part` in it, compared as [`same`] does.
pub fn holds(whole: &str, part: &str) -> bool {
    let part = prompt_ink(part);
    !part.is_empty() && prompt_ink(whole).contains(&part)
}

/// Whether `whole` has in it what an agent makes of `part` that strips what it does not know: nothing
/// but signs that are neither letters nor digits nor ASCII is left out.
pub fn holds_stripped(whole: &str, part: &str) -> bool {
    let kept = |text: &str| -> String {
        let ink = prompt_ink(text);
        ink.chars().filter(|c| !may_get_lost(*c)).collect()
    };
    let part = kept(part);
    !part.is_empty() && kept(whole).contains(&part)
}

/// Whether the rows of a composer can be what a terminal shows of `given`: marks may be lost, what
/// the terminal does not know is left out or U+FFFD, blanks are where widths are disputed.
pub fn is_shown(rows: &[String], given: &str) -> bool {
    let base = |text: &str| -> String {
        let ink = ink(text);
        ink.nfkd().filter(|c| !is_combining_mark(*c)).collect()
    };
    let shown = base(&rows.concat());
    !shown.is_empty() && covers(shown.chars(), base(given).chars())
}

/// Walks through both: what is given and not in the text has to be a sign that may get lost.
fn covers(text: impl Iterator<Item = char>, given: impl Iterator<Item = char>) -> bool {
    let mut given = given.peekable();
    for c in text {
        if c == REPLACEMENT {
            given.next_if(|g| may_get_lost(*g)); // or for a character that leaves no ink
            continue;
        }
        skip_to(&mut given, c);
        if given.next_if_eq(&c).is_none() {
            return false;
        }
    }
    given.all(may_get_lost)
}

fn skip_to(given: &mut Peekable<impl Iterator<Item = char>>, c: char) {
    while given.next_if(|g| *g != c && may_get_lost(*g)).is_some() {}
}

/// Private, unassigned and other signs that not every program knows.
fn may_get_lost(c: char) -> bool {
    !c.is_ascii() && !c.is_alphanumeric()
}

/// Whether every terminal and agent draws the text alike, character by character. What is not
/// plain is better given in a way that does not depend on how it is drawn.
pub fn is_plain(text: &str) -> bool {
    is_nfc(text) && text.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        // punctuation of Latin-1 and of texts in most languages
        '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{bf}' => true,
        '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203b}' | '\u{20a0}'..='\u{20bf}' => true,
        '\u{3001}'..='\u{3011}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff1f}' => true,
        // Hangul is written in syllables or in letters that join; Indic and Thai letters join too
        '\u{900}'..='\u{11ff}' | '\u{1700}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' => false,
        '\u{600}'..='\u{605}' => false,
        c => c < '\u{10000}' && c.is_alphanumeric() && !is_combining_mark(c) && !is_ignorable(c),
    }
}

/// So many characters of joining scripts are recognised however their widths are disputed: they
/// stay in one row of any usable terminal.
const FAMILIAR_ROW: usize = 40;

/// Whether a composer can be trusted to show the text so that [`is_shown`] recognises it: plain
/// text, marks on it, what cannot be seen, signs and emoji that programs have known for long, and a
/// few words of a joining script. Letters that the terminal does not know vanish without a trace,
/// and where program and terminal dispute widths the one draws over what the other has shown.
pub fn is_familiar(text: &str) -> bool {
    let familiar = |c: char| {
        is_plain_char(c)
            || c.is_control()
            || c.is_whitespace()
            || is_ignorable(c)
            || matches!(c,
                '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20f0}' // marks
                | '\u{d7}' | '\u{f7}' | '\u{2100}'..='\u{214f}'
                | '\u{2190}'..='\u{27bf}' | '\u{2b05}'..='\u{2b55}'
                | '\u{1f1e6}'..='\u{1f1ff}' // flags
                | '\u{1f300}'..='\u{1f6c5}' | '\u{1f900}'..='\u{1f9ff}')
    };
    let joins = |c: char| {
        matches!(c, '\u{591}'..='\u{6ff}' | '\u{900}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}')
            && (c.is_alphanumeric() || is_combining_mark(c))
    };
    let short = text.chars().count() <= FAMILIAR_ROW && !text.contains('\n');
    text.chars().all(|c| familiar(c) || (short && joins(c)))
}

/// Whether some of a text is to be seen in every terminal: letters, digits, ASCII, or signs that
/// are old enough.
pub fn is_drawn_anywhere(text: &str) -> bool {
    ink(text).chars().any(|c| match c {
        '\u{2190}'..='\u{27bf}' | '\u{1f300}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1f9ff}' => true,
        c => !may_get_lost(c) && !is_combining_mark(c),
    })
}

/// What an agent made of a text that it has, for the receipt; `None`: nothing but white space at
/// the ends.
pub fn alteration(given: &str, taken: &str) -> Option<String> {
    let given = &*pasted::unwrapped(given);
    let given_clean = sanitize(given);
    if taken.contains(given_clean.trim()) || sanitize(taken).contains(given_clean.trim()) {
        return None;
    }
    let mut missing: BTreeMap<char, usize> = BTreeMap::new();
    let counted = |c: &char| !c.is_whitespace() && !c.is_control();
    for c in given.nfkc().filter(counted) {
        *missing.entry(c).or_default() += 1;
    }
    for c in taken.nfkc().filter(counted) {
        if let Some(count) = missing.get_mut(&c) {
            *count = count.saturating_sub(1);
        }
    }
    missing.retain(|_, count| *count > 0);
    let total: usize = missing.values().sum();
    if total == 0 {
        let blank = |text: &str| -> String { text.split_whitespace().collect() };
        let tabs = given.contains('\t') && !taken.contains('\t');
        return Some(match blank(&given_clean) == blank(&sanitize(taken)) {
            true if tabs => "the agent changed its white space: tabs became blanks".into(),
            true => "the agent changed its white space".into(),
            false => "the agent normalised its characters (Unicode NFC)".into(),
        });
    }
    const NAMED: usize = 5;
    let mut names: Vec<String> = missing
        .keys()
        .take(NAMED)
        .map(|c| format!("U+{:04X}", u32::from(*c)))
        .collect();
    if missing.len() > NAMED {
        names.push("…".into());
    }
    let what = match (total, missing.keys().all(|c| is_ignorable(*c))) {
        (1, true) => "1 invisible character".to_string(),
        (n, true) => format!("{n} invisible characters"),
        (1, false) => "1 character".to_string(),
        (n, false) => format!("{n} characters"),
    };
    Some(format!(
        "the agent removed {what} of it ({})",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_the_same_but_for_what_leaves_no_ink() {
        for (a, b) in [
            ("hello\n", "  hello"),
            ("ab\u{fe0f}cd", "abcd"),
            ("ab\u{e0041}cd \u{34f}end", "abcd end"),
            ("ab\u{2028}cd", "ab\ncd"),
            ("e\u{301} u\u{308}", "é ü"),
            ("\u{1112}\u{1161}\u{11ab}", "한"),
            ("a\tb", "a    b"),
            ("\u{212b}", "Å"),
        ] {
            assert!(same(a, b), "{a:?} {b:?}");
            assert!(same(b, a), "{a:?} {b:?}");
        }
        for (a, b) in [("hello", "hello you"), ("a", ""), ("\u{200b}", "\u{feff}")] {
            assert!(!same(a, b), "{a:?} {b:?}");
        }
        assert!(holds("please hello there", "hello "));
        assert!(!holds("anything", " \u{200b}"));
    }

    #[test]
    fn what_an_agent_strips_is_ours_and_what_a_person_says_is_not() {
        assert!(holds_stripped("go on", "go \u{e000}on \u{378}"));
        assert!(!holds_stripped("go", "go on"));
        assert!(!holds_stripped("", "\u{e000}"));
        let note = |text: &str| format!("<task-notification>{text}</task-notification>");
        assert!(holds_stripped(&note("go on"), "go \u{e000}on \u{378}"));
        assert!(!holds_stripped(&note("go o"), "go \u{e000}on \u{378}"));
        assert!(!holds_stripped("anything", "\u{e000}\u{378}"));
    }

    /// What looks like the tags around a paste may stand in a message, and is taken off wherever a prompt
    /// is read.
    #[test]
    fn a_message_about_the_tags_of_pastes_is_the_same_without_them() {
        let given = "why is it <pasted_content id=\"9f3a\">\nx\n</pasted_content id=\"9f3a\"> now?";
        let heard = crate::pasted::unwrapped(given);
        assert_ne!(heard, given);
        assert!(same(&heard, given) && same(given, given));
        assert!(holds(&format!("[sm: message 1 of 1]\n{heard}"), given));
        assert_eq!(alteration(given, &heard), None);
    }

    #[test]
    fn what_terminals_show() {
        for (rows, given) in [
            (&["⚠\u{fe0f}  careful"][..], "⚠\u{fe0f} careful"),
            (&["⚠ careful"], "⚠\u{fe0f} careful"),
            (&["ab\u{fffd}cd end"], "ab\u{202e}cd end"),
            (&["abcd  end"], "ab\u{378}cd end"),
            (&["ab\u{600}cdend"], "ab\u{600}cd end"),
            (&["1\u{20e3}  first"], "1\u{fe0f}\u{20e3} first"),
            (&["a zalgo"], "a\u{301}\u{302}\u{303} zalgo"),
            (&["one", "two"], "one\u{2028}two"),
        ] {
            let rows: Vec<String> = rows.iter().map(|r| (*r).to_string()).collect();
            assert!(is_shown(&rows, given), "{rows:?} {given:?}");
        }
        for (row, given) in [
            ("⚠\u{fe0f} careful now", "⚠\u{fe0f} careful"),
            ("⚠\u{fe0f} care", "⚠\u{fe0f} careful"),
            ("x ab\u{fffd}cd", "ab\u{202e}cd"),
            ("\u{fffd}", "hello"),
            ("", "\u{200b}"),
        ] {
            assert!(!is_shown(&[row.to_string()], given), "{row:?} {given:?}");
        }
    }

    #[test]
    fn a_receipt_names_what_was_removed() {
        for (given, taken, expected) in [
            ("hello ", "hello", None),
            ("\x1b[1mhi", "[1mhi", None),
            ("hello", "<note> hello </note>", None),
            (
                "ab\u{200b}cd",
                "abcd",
                Some("the agent removed 1 invisible character of it (U+200B)"),
            ),
            (
                "a\u{e000}b\u{378}\u{378}",
                "ab",
                Some("the agent removed 3 characters of it (U+0378, U+E000)"),
            ),
            (
                "a\tb",
                "a    b",
                Some("the agent changed its white space: tabs became blanks"),
            ),
            (
                "a\u{2028}b",
                "a\nb",
                Some("the agent changed its white space"),
            ),
            (
                "e\u{301}",
                "é",
                Some("the agent normalised its characters (Unicode NFC)"),
            ),
        ] {
            assert_eq!(alteration(given, taken).as_deref(), expected, "{given:?}");
        }
    }

    #[test]
    fn plain_texts() {
        for text in [
            "hello, there\n\tyou",
            "naïve é ü ß – “x” …",
            "日本語、テキスト",
            "Привет",
        ] {
            assert!(is_plain(text), "{text:?}");
        }
        for text in [
            "⚠\u{fe0f}",
            "a\u{200b}",
            "e\u{301}",
            "\u{1112}\u{1161}",
            "ไทย",
            "\u{2028}",
            "\u{212b}",
            "\u{e000}",
            "\u{378}",
        ] {
            assert!(!is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn familiar_texts() {
        for text in [
            "⚠\u{fe0f} careful\n➡\u{fe0f} there",
            "👩\u{200d}👩\u{200d}👧 at home 🇩🇪",
            "e\u{301}te\u{301} 1\u{fe0f}\u{20e3}",
            "กำลังดี",
            "नमस्ते",
            "한글 日本語",
        ] {
            assert!(is_familiar(text), "{text:?}");
        }
        let long = "กำลังดี ".repeat(6);
        for text in ["\u{e000}", "\u{378}", "\u{16e40}", "𭺥", "\u{1f859}", &long] {
            assert!(!is_familiar(text), "{text:?}");
        }
    }

    proptest! {
        /// Whatever is stripped, normalised or blown up with blanks is still ours.
        #[test]
        fn a_text_without_its_invisible_characters_is_the_same(text in "(?s).{0,60}") {
            let stripped: String = text.chars().filter(|c| !is_ignorable(*c)).nfc().collect();
            prop_assert!(same(&stripped, &text) || is_blank(&text));
            let kept = ink(&text).chars().any(|c| !may_get_lost(c));
            prop_assert!(holds_stripped(&stripped, &text) || !kept);
            let blown: String = text.chars().flat_map(|c| [c, ' ']).collect();
            prop_assert!(is_shown(&[blown], &text) || base_is_empty(&text));
        }

        /// Nobody's letters, digits or ASCII are skipped.
        #[test]
        fn a_letter_more_or_less_is_another_text(text in "[a-z0-9⚠\u{200b}\u{fe0f} ]{1,20}", more in "[a-z0-9]") {
            let longer = format!("{text}{more}");
            prop_assert!(!same(&longer, &text));
            prop_assert!(!holds_stripped(&text, &longer));
            prop_assert!(!is_shown(std::slice::from_ref(&longer), &text) && !is_shown(&[text], &longer));
        }
    }

    fn base_is_empty(text: &str) -> bool {
        ink(text).chars().all(is_combining_mark)
    }
}
