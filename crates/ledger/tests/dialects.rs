//! Invented transcripts of each agent, read into the same records.

use proptest::prelude::*;
use sm_ledger::dialect::{Dialect, Reader, Stats, detect};
use sm_ledger::record::{At, Record};

const CLAUDE: &str = include_str!("fixtures/claude.jsonl");
const CODEX: &str = include_str!("fixtures/codex.jsonl");
const PI: &str = include_str!("fixtures/pi.jsonl");

const ALL: [(Dialect, &str); 3] = [
    (Dialect::Claude, CLAUDE),
    (Dialect::Codex, CODEX),
    (Dialect::Pi, PI),
];

/// One line for each record, in the words of a reader.
fn told(at: At, record: &Record<'_>) -> String {
    let what = match record {
        Record::Said { by, text } => format!("{by:?} said {text:?}"),
        Record::Spoke { text } => format!("spoke {text:?}"),
        Record::Thought => "thought".into(),
        Record::Called { id, tool, input } => format!("called {tool} {id} {input}"),
        Record::Returned { id, text, outcome } => format!("returned {id} {outcome:?} {text:?}"),
        Record::Used { tokens } => format!("used {tokens}"),
        Record::Compacted { summary } => format!("compacted {summary:?}"),
        Record::Interrupted => "interrupted".into(),
        Record::Place { cwd, branch } => format!("at {cwd:?} {branch:?}"),
        Record::Aside => "aside".into(),
        Record::Other => "other".into(),
    };
    format!("{} {what}", at.line)
}

fn read(dialect: Dialect, pieces: &[&[u8]]) -> (Vec<String>, Stats) {
    let mut reader = Reader::new(dialect);
    let mut out = Vec::new();
    for piece in pieces {
        reader.feed(piece, &mut |at, record| out.push(told(at, &record)));
    }
    (out, reader.stats())
}

fn check(dialect: Dialect, transcript: &str, expected: &[&str], broken: u64) {
    assert_eq!(detect(transcript.as_bytes()), Some(dialect));
    let (records, stats) = read(dialect, &[transcript.as_bytes()]);
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    assert_eq!(records, expected);
    assert_eq!(stats.lines, transcript.lines().count() as u64);
    assert_eq!(stats.broken, broken);
}

/// As Claude Code 2.1.328 records them: the words are the person's, also where they joined a running turn.
#[test]
fn what_a_person_pasted_is_told_without_the_tags_around_it() {
    let pasted = "\n\n<pasted_content id=\"c4c1\">\na\nb\n</pasted_content id=\"c4c1\">\n";
    let lines = [
        serde_json::json!({"type": "user", "message": {"role": "user", "content": format!("Do:\n{pasted}")}}),
        serde_json::json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": pasted.trim()}}),
    ];
    let transcript: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (records, _) = read(Dialect::Claude, &[transcript.as_bytes()]);
    let said = records.iter().filter(|record| record.contains("said"));
    let said: Vec<&String> = said.collect();
    assert_eq!(
        said,
        [r#"1 Person said "Do:\na\nb""#, r#"2 Queued said "a\nb""#]
    );
}

#[test]
fn claude() {
    check(
        Dialect::Claude,
        CLAUDE,
        &[
            "1 other",
            "2 other",
            r#"3 at Some("/home/me/shop") Some("main")"#,
            r#"3 Program said "<local-command-caveat>Caveat: The messages below</local-command-caveat>""#,
            r#"4 Program said "<command-name>/clear</command-name>\n<command-args></command-args>""#,
            r#"5 Person said "\nAdd a discount to the cart, never touch billing.""#,
            "6 thought",
            "6 used 330",
            r#"7 at None Some("cart-discount")"#,
            r#"7 spoke "I read the “cart” first.""#,
            r#"7 called Read toolu_1 {"file_path":"/home/me/shop/src/cart.rs"}"#,
            "7 used 330",
            "8 aside",
            "9 other",
            r#"10 returned toolu_1 Done "fn total() {}""#,
            r#"11 returned toolu_2 Failed "Exit code 1""#,
            r#"11 returned toolu_3 Refused "The user doesn't want to proceed with this tool use.""#,
            "12 interrupted",
            r#"13 Queued said "and also tax""#,
            r#"14 Program said "No response requested.""#,
            "16 other",
            r#"17 compacted Some("This session is being continued. Summary: a discount.")"#,
            "18 other",
        ],
        1,
    );
}

#[test]
fn codex() {
    check(
        Dialect::Codex,
        CODEX,
        &[
            r#"1 at Some("/home/me/shop") Some("main")"#,
            "2 other",
            r#"3 Program said "<skills_instructions>""#,
            r#"4 Program said "<environment_context>\n  <cwd>/home/me/shop</cwd>""#,
            r#"5 Person said "Make the build green.""#,
            "6 thought",
            r#"7 called exec_command call_1 {"cmd": "cargo test"}"#,
            r#"8 returned call_1 Failed "Chunk ID: b0\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\ntest a ... FAILED\n""#,
            r#"9 called apply_patch call_2 "*** Begin Patch\n*** Update File: src/a.rs\n*** End Patch""#,
            r#"10 returned call_2 Done "Success. Updated""#,
            r#"11 spoke "It builds.""#,
            "12 used 50500",
            "13 interrupted",
            r#"14 compacted Some("The summary.")"#,
            r#"14 Person said "Make the build green.""#,
        ],
        0,
    );
}

#[test]
fn pi() {
    check(
        Dialect::Pi,
        PI,
        &[
            "1 other",
            r#"2 at Some("/home/me/shop") None"#,
            r#"3 compacted Some("<handoff-context>\n## Goal\nship it\n</handoff-context>")"#,
            "4 other",
            r#"5 Person said "build the frobnicator""#,
            r#"6 spoke "Running it.""#,
            r#"6 called bash t1 {"command":"make"}"#,
            "6 used 1215",
            r#"7 returned t1 Failed "make: error""#,
            "8 thought",
            "8 interrupted",
            r#"9 compacted Some("It does not build.")"#,
        ],
        0,
    );
}

#[test]
fn a_line_is_told_when_it_is_whole() {
    let line = r#"{"type":"user","message":{"content":"hello"},"sessionId":"s"}"#;
    let mut reader = Reader::new(Dialect::Claude);
    let mut count = 0;
    reader.feed(line.as_bytes(), &mut |_, _| count += 1);
    assert_eq!((count, reader.stats().lines), (0, 0));
    reader.feed(b"\n", &mut |at, record| {
        count += 1;
        assert_eq!(told(at, &record), r#"1 Person said "hello""#);
    });
    assert_eq!((count, reader.stats().lines), (1, 1));
}

#[test]
fn a_line_too_long_is_counted_and_the_numbers_stay_right() {
    let mut reader = Reader::new(Dialect::Claude);
    let mut out = Vec::new();
    let mut feed = |bytes: &[u8]| {
        reader.feed(bytes, &mut |at, record| out.push(told(at, &record)));
    };
    feed(b"{\"type\":\"mode\"}\n{\"a\":\"");
    for _ in 0..33 {
        feed(&vec![b'x'; 1 << 20]);
    }
    feed(b"\"}\n{\"type\":\"mode\"}\n");
    assert_eq!(out, ["1 other", "3 other"]);
    assert_eq!(reader.stats().too_long, 1);
}

#[test]
fn times_are_read() {
    let mut times = Vec::new();
    let mut reader = Reader::new(Dialect::Claude);
    reader.feed(
        b"{\"type\":\"user\",\"message\":{\"content\":\"x\"},\"timestamp\":\"2026-11-15T06:31:08.132Z\"}\n{\"type\":\"user\",\"message\":{\"content\":\"x\"},\"timestamp\":17}\n",
        &mut |at, _| times.push(at.time.map(|t| t.0)),
    );
    assert_eq!(times, [Some(1_794_724_268_132), None]);
}

#[test]
fn nobody_knows_a_text_file() {
    assert_eq!(detect(b""), None);
    assert_eq!(detect(b"# Notes\n\nnothing\n"), None);
    assert_eq!(detect(b"{\"hello\":1}\n"), None);
    // the first line may be longer than what was read of it
    let cut = &CODEX.as_bytes()[..120];
    assert_eq!(detect(cut), Some(Dialect::Codex));
}

/// Real lines, cut, repeated and damaged.
fn damaged() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let part = prop_oneof![
        3 => (any::<prop::sample::Index>(), 0usize..3).prop_map(|(at, which)| {
            let lines: Vec<&str> = ALL[which].1.lines().collect();
            format!("{}\n", at.get(&lines)).into_bytes()
        }),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"\n".to_vec()),
    ];
    let parts = proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat());
    (
        0usize..3,
        parts,
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    )
        .prop_map(|(which, mut bytes, flips)| {
            if !bytes.is_empty() {
                for (at, byte) in flips {
                    *at.get_mut(&mut bytes) = byte;
                }
            }
            (which, bytes)
        })
}

proptest! {
    #[test]
    fn however_it_arrives_it_tells_the_same((which, bytes) in damaged(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let dialect = ALL[which].0;
        let whole = read(dialect, &[&bytes]);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(&whole, &read(dialect, &pieces));
        let newlines = bytes.iter().filter(|b| **b == b'\n').count() as u64;
        prop_assert_eq!(whole.1.lines, newlines);
        let _ = detect(&bytes);
    }
}

#[test]
fn the_fixtures_are_whole() {
    for (dialect, text) in ALL {
        let bad = text
            .lines()
            .filter(|l| serde_json::from_str::<serde_json::Value>(l).is_err());
        assert_eq!(
            bad.count(),
            usize::from(dialect == Dialect::Claude),
            "{dialect:?}"
        );
        let first = text.lines().next().unwrap();
        assert!(first.starts_with('{'));
    }
}

#[test]
fn another_reader_goes_on_where_one_was() {
    for (dialect, text) in ALL {
        let (whole, stats) = read(dialect, &[text.as_bytes()]);
        let from = text[..text.len() / 2].rfind('\n').map_or(0, |at| at + 1);
        let (mut first, half) = read(dialect, &[&text.as_bytes()[..from]]);
        let mut reader = Reader::going_on(dialect, half);
        reader.feed(&text.as_bytes()[from..], &mut |at, record| {
            first.push(told(at, &record));
        });
        // where the work happens is told again, everything else once
        first.retain(|line| !line.contains(" at "));
        let whole: Vec<&String> = whole.iter().filter(|l| !l.contains(" at ")).collect();
        assert_eq!(first.iter().collect::<Vec<_>>(), whole);
        assert_eq!(reader.stats(), stats);
    }
}
