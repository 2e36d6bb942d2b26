//! Whatever stood on the screen for at least a second is written down, however it was drawn over.
//!
//! The time is simulated: output comes with the moment it came at, and a look is made where the
//! log's writer leaves a mark, before the first output that comes a second after the last mark.

#![expect(clippy::expect_used, reason = "tests")]

use proptest::collection::vec;
use proptest::prelude::*;
use sm_term::{Line, Readable, Size};
use std::collections::HashMap;

/// As the log's writer marks the time.
const BETWEEN_MARKS: i64 = 1_000;

/// A number may be a clock that changes every second: it is written down if it stood for so long.
const NUMBER: i64 = 3_500;

fn size() -> Size {
    Size::new(24, 6)
}

/// What a program does to its terminal.
#[derive(Debug, Clone)]
enum Act {
    Output(String),
    Resize(u16, u16),
    /// The state goes into a file, and another process goes on.
    Saved,
}

/// What came when, in milliseconds since the act before.
type Script = Vec<(i64, Act)>;

/// A word with a number in it: two of them differ as a clock does.
fn number(n: usize) -> String {
    format!("w{:03}q", n % 1_000)
}

fn is_number(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// A word that no other text holds and that is no number.
fn word(n: usize) -> String {
    let letter = |at: usize| char::from(b'a' + u8::try_from(n / at % 26).unwrap_or(0));
    format!("w{}{}{}q", letter(676), letter(26), letter(1))
}

/// Plays a script. The words that stood for a second (numbers for longer), and everything that was
/// written down.
fn play(script: &Script) -> (Vec<String>, Vec<String>) {
    let mut readable = Readable::new(size());
    let mut lines: Vec<Line> = Vec::new();
    let mut since: HashMap<String, i64> = HashMap::new();
    let mut stood: Vec<String> = Vec::new();
    let (mut now, mut marked) = (0, None);
    for (pause, act) in script {
        now += pause;
        for (word, from) in &since {
            let long = match is_number(word) {
                true => NUMBER,
                false => 1_000,
            };
            if now - from >= long && !stood.contains(word) {
                stood.push(word.clone());
            }
        }
        match act {
            Act::Output(text) => {
                if marked.is_none_or(|last| now - last >= BETWEEN_MARKS) {
                    marked = Some(now);
                    lines.extend(readable.look(now));
                }
                lines.extend(readable.feed(text.as_bytes()));
            }
            Act::Resize(cols, rows) => {
                lines.extend(readable.resize(Size::new(*cols, *rows)));
            }
            Act::Saved => readable = Readable::load(&readable.save()).expect("a state"),
        }
        let shown: Vec<String> = readable.screen().into_iter().map(|l| l.text).collect();
        let shown = shown.join("\n");
        // Pieces of words that were written into each other are none.
        let is_whole =
            |word: &&str| word.len() == 5 && word.starts_with('w') && word.ends_with('q');
        let words = || shown.split_whitespace().filter(is_whole).map(str::to_owned);
        since.retain(|word, _| words().any(|shown| shown == *word));
        for word in words() {
            since.entry(word).or_insert(now);
        }
    }
    lines.extend(readable.finish());
    let written = lines.into_iter().map(|line| line.text).collect();
    (stood, written)
}

#[track_caller]
fn check(script: &Script) -> Vec<String> {
    let (stood, written) = play(script);
    for word in stood {
        let is_there = written.iter().any(|line| line.contains(&word));
        assert!(is_there, "{word} is lost of {script:?}: {written:#?}");
    }
    written
}

fn output(pause: i64, text: impl Into<String>) -> (i64, Act) {
    (pause, Act::Output(text.into()))
}

/// As Claude Code draws a screen anew when a context is left.
fn wiped() -> String {
    format!("\x1b[H{}\x1b[H", "\x1b[2K\x1b[1B".repeat(6))
}

#[test]
fn a_screen_that_is_wiped_row_by_row_is_written_down_first() {
    let script = vec![
        output(0, "header\r\n\r\nThe port is walrus.\r\n> "),
        output(2_000, wiped() + "header\r\n\r\n> "),
        output(1_500, "\rnext\r\n> "),
        output(3_000, "more\r\n> "),
    ];
    let written = check(&script);
    assert_eq!(
        written,
        ["The port is walrus.", "header", "", "next", "> more", ">"]
    );
}

/// As Codex leaves a context: the next one begins between the erased picture and the new one.
#[test]
fn a_picture_that_is_erased_as_a_context_begins_is_written_down_once() {
    let mut readable = Readable::new(size());
    let mut lines = readable.feed(b"\x1b[?1049h\x1b[Hwhich port is it?\r\nwalrus\r\n> \x1b[?25h");
    for now in [0, 1_000] {
        lines.extend(readable.look(now));
    }
    lines.extend(readable.feed(b"\x1b[2J"));
    readable.begin_context();
    lines.extend(readable.feed(b"\x1b[Hheader\r\nof another context\r\n\x1b[?25h"));
    for now in [2_000, 3_000] {
        lines.extend(readable.look(now));
    }
    lines.extend(readable.finish());
    let written: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    let once = [
        "which port is it?",
        "walrus",
        ">",
        "header",
        "of another context",
    ];
    assert_eq!(written, once);
}

#[test]
fn what_counts_spins_and_grows_is_written_down_as_it_ended() {
    let mut script = vec![output(0, "header\r\n")];
    for n in 0..20 {
        let glyph = ["✻", "✶", "·"][n % 3];
        script.push(output(300, format!("\r\x1b[2K{glyph} Churning… ({n}s)")));
    }
    script.push(output(300, "\r\x1b[2Kdone"));
    for text in ["\r\nThe", " answer", " is yes"] {
        script.push(output(1_200, text));
    }
    let written = check(&script);
    let text = written.join("|");
    assert!(text.ends_with("header|done|The answer is yes"), "{text}");
    assert!(written.len() <= 4, "at most the last of it: {text}");
}

#[test]
fn a_number_that_stood_for_long_is_no_spinner() {
    for pause in [20_000, 5_000, 2_500] {
        let script = vec![
            output(0, "port 4711"),
            output(pause, "\r\x1b[2Kport 4712"),
            output(2_000, "\r\n"),
        ];
        assert_eq!(check(&script), ["port 4711", "port 4712"], "{pause}");
    }
}

#[test]
fn a_number_that_stood_beside_another_one_is_not_that_one() {
    let script = vec![
        output(0, "port 4711\r\nport 4712\r\n"),
        output(1_200, "\x1b[1;1H\x1b[2K"),
        output(1_200, "\x1b[3;1Hdone"),
    ];
    let written = check(&script);
    assert!(written.contains(&"port 4711".to_owned()), "{written:?}");
}

#[test]
fn a_clock_that_changes_every_second_does_not_fill_the_archive() {
    // How often a spinner beside it turns, and how late the clock is drawn.
    for (turn, late) in [(1_000, 0), (100, 0), (80, 0), (100, 100), (250, 170)] {
        let mut script = vec![output(0, "header\r\n\r\n")];
        let (mut at, mut second) = (0, 0);
        while second < 120 {
            at += turn;
            let mut text = "\x1b[3;1H\x1b[2K".to_owned() + ["✻", "✶", "·"][at as usize / 7 % 3];
            if at >= second * 1_000 + late * (second % 2) {
                text += &format!("\x1b[2;1H\x1b[2Kworked for {second}s");
                second += 1;
            }
            script.push(output(turn, text));
        }
        script.push(output(turn, "\x1b[2;1H\x1b[2Kdone\x1b[3;1H\x1b[2K\r\n"));
        let written = check(&script);
        assert!(written.len() <= 6, "{turn} {late}: {written:?}");
    }
}

#[test]
fn each_context_has_its_own_text() {
    let mut readable = Readable::new(size());
    let mut lines = Vec::new();
    for now in [0, 10_000] {
        readable.begin_context();
        lines.extend(readable.look(now));
        lines.extend(readable.feed(b"the word is walrus"));
        lines.extend(readable.look(now + 2_000));
        lines.extend(readable.feed(wiped().as_bytes()));
        lines.extend(readable.look(now + 4_000));
    }
    lines.extend(readable.finish());
    let count = lines.iter().filter(|l| l.text.contains("walrus")).count();
    assert_eq!(count, 2, "{lines:?}");
}

#[test]
fn what_is_drawn_again_meanwhile_is_said_once() {
    let picture = "one line here\r\ntwo line here\r\nthree of them";
    let mut script = vec![output(0, picture)];
    // The marks fall into the middle of a redraw.
    for _ in 0..5 {
        script.push(output(
            999,
            "\x1b[H\x1b[2K\x1b[1B\x1b[2K\x1b[1B\x1b[2K\x1b[H",
        ));
        script.push(output(1, picture));
    }
    assert_eq!(
        check(&script),
        ["one line here", "two line here", "three of them"]
    );
}

/// Its line lost its first row while another screen was before it.
#[test]
fn what_stood_behind_the_alternate_screen_is_written_down_if_it_is_drawn_over() {
    let script = vec![
        output(0, "\r\x1b[Jwaaaq waabq waacq"),
        output(0, "\x1b[2L"),
        output(0, "waacq waadq\r\n"),
        (0, Act::Resize(14, 3)),
        output(1_000, "\x1b[?1049h\x1b[H"),
        output(0, "\x1b[2;7Hwaaeq waafq waagq waahq"),
        output(1_000, "waaeq\r\n"),
        output(0, "\x1b[?1049l"),
        output(0, "\x1b[1;1H\x1b[2Kwaaeq"),
    ];
    let written = check(&script);
    assert!(
        written.iter().any(|line| line.contains("waadq")),
        "{written:?}"
    );
}

/// Ways to write over what is there.
fn act() -> impl Strategy<Value = Act> {
    let words = (0usize..17_576, 1usize..5).prop_map(|(first, count)| {
        let words: Vec<String> = (first..first + count).map(word).collect();
        words.join(" ")
    });
    let line = words.clone().prop_map(|words| format!("{words}\r\n"));
    let placed =
        (1u16..7, words.clone()).prop_map(|(row, words)| format!("\x1b[{row};1H\x1b[2K{words}"));
    let over = (1u16..7, 1u16..20, words.clone())
        .prop_map(|(row, col, words)| format!("\x1b[{row};{col}H{words}"));
    let boxed = (1u16..4, words).prop_map(|(up, words)| format!("\x1b[{up}A\r\x1b[J{words}"));
    let fixed = prop_oneof![
        Just(wiped()),
        Just("\x1b[2J\x1b[H".to_owned()),
        Just("\x1b[H\x1b[2J\x1b[3J".to_owned()),
        Just("\x1b[H\x1b[J".to_owned()),
        Just("\x1b[?1049h\x1b[H".to_owned()),
        Just("\x1b[?1049l".to_owned()),
        Just("\x1bc".to_owned()),
        Just("\x1b[2L".to_owned()),
        Just("\x1b[2M".to_owned()),
        Just("\x1b[1;3r\x1b[3;1H\n\x1b[r".to_owned()),
        Just("\x1b[?2026h".to_owned()),
        Just("\x1b[?2026l".to_owned()),
        Just("\x1bM".to_owned()),
    ];
    prop_oneof![
        6 => prop_oneof![line, placed, over, boxed].prop_map(Act::Output),
        3 => fixed.prop_map(Act::Output),
        1 => (8u16..40, 2u16..9).prop_map(|(cols, rows)| Act::Resize(cols, rows)),
        1 => Just(Act::Saved),
    ]
}

/// Numbers, each once and alone in its row: written into a word it would make that one a clock, too.
/// Without other acts: a change of the size comes without a time.
fn numbers() -> impl Strategy<Value = Script> {
    vec((pause(), 1u16..7, any::<bool>()), 0..40).prop_map(|acts| {
        let write = |(n, (pause, row, ends)): (usize, (i64, u16, bool))| {
            let number = number(n);
            let text = match ends {
                true => format!("\r\x1b[2K{number}\r\n"),
                false => format!("\x1b[{row};1H\x1b[2K{number}"),
            };
            output(pause, text)
        };
        acts.into_iter().enumerate().map(write).collect()
    })
}

fn pause() -> impl Strategy<Value = i64> {
    prop_oneof![0i64..50, 100i64..999, 1_000i64..1_100, 1_000i64..20_000]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_stood_for_a_second_is_written_down(script in vec((pause(), act()), 0..40)) {
        let (stood, written) = play(&script);
        for word in stood {
            prop_assert!(
                written.iter().any(|line| line.contains(&word)),
                "{} is lost: {:#?}", word, written
            );
        }
    }

    #[test]
    fn a_number_that_stood_longer_than_a_clocks_is_written_down(script in numbers()) {
        let (stood, written) = play(&script);
        for word in stood {
            prop_assert!(
                written.iter().any(|line| line.contains(&word)),
                "{} is lost: {:#?}", word, written
            );
        }
    }
}
