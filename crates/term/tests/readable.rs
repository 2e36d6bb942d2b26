//! What a person would have read.

use sm_term::{Readable, Size, tail};

fn read(size: Size, input: &str) -> Vec<String> {
    let mut readable = Readable::new(size);
    let mut lines = readable.feed(input.as_bytes());
    lines.extend(readable.finish());
    lines
}

fn small() -> Size {
    Size::new(10, 4)
}

#[test]
fn readable_text() {
    for (what, input, expected) in [
        ("nothing", "", ""),
        ("plain lines", "one\r\ntwo\r\n", "one|two"),
        (
            "more than the screen",
            "1\r\n2\r\n3\r\n4\r\n5\r\n6",
            "1|2|3|4|5|6",
        ),
        ("blank lines inside", "1\r\n\r\n\r\n\r\n\r\n2", "1|||||2"),
        ("colours", "\x1b[1;32mok\x1b[0m done", "ok done"),
        ("title", "\x1b]0;a title\x07text", "text"),
        (
            "wrapped",
            "abcdefghijKLMNOPQRSTuv\r\nnext",
            "abcdefghijKLMNOPQRSTuv|next",
        ),
        (
            "wrapped and scrolled",
            "abcdefghijKLMNO\r\n\n\n\n\nx",
            "abcdefghijKLMNO|||||x",
        ),
        ("spaces kept inside", "a   b   c   d", "a   b   c   d"),
        ("wide", "日本語日本語日本語", "日本語日本語日本語"),
        ("progress", "10%\r50%\r100%\r\nok", "100%|ok"),
        ("backspace", "helpp\x08 \x08\r\n", "help"),
        ("redrawn box", "a\r\nb\x1b[1A\r\x1b[JA\r\nB", "A|B"),
        (
            "spinner lines",
            "x\r\n| w\x1b[2K\r/ w\x1b[2K\rdone",
            "x|done",
        ),
        (
            "a person's clear",
            "one\r\n\x1b[H\x1b[2J\x1b[3Jtwo",
            "one|two",
        ),
        ("clear without history", "one\x1b[2J\x1b[Htwo", "one|two"),
        (
            "alternate, left",
            "a\r\n\x1b[?1049h\x1b[Hvim\r\nx\x1b[?1049lb",
            "vim|x|a|b",
        ),
        (
            "alternate, cleared, left",
            "a\x1b[?1049h\x1b[Hvim\x1b[2J\x1b[?1049lb",
            "vim|ab",
        ),
        (
            "alternate, still there",
            "a\r\n\x1b[?1049h\x1b[Hcodex\r\nidle",
            "a|codex|idle",
        ),
        ("reset", "a\r\nb\x1bcnew", "a|b|new"),
        (
            "reset in alternate",
            "a\x1b[?1047h\x1b[Hin\x1bcnew",
            "in|a|new",
        ),
        ("test picture", "\x1b#8x", "x"),
        ("cut sequence at the end", "a\x1b[3", "a"),
    ] {
        assert_eq!(read(small(), input).join("|"), expected, "{what}");
    }
}

#[test]
fn any_cut_gives_the_same_lines() {
    let input = "日本 one\r\ntwo \x1b[31mred\x1b[0m\r\nabcdefghijklmnop\r\n\x1b[?1049halt\x1b[?1049l\
                 x\r\ny\r\nz\r\n\x1b[2J\x1b[3J\x1b[Hend 😀";
    let whole = read(small(), input);
    assert!(whole.contains(&"end 😀".to_owned()), "{whole:?}");
    let bytes = input.as_bytes();
    for split in 0..=bytes.len() {
        let mut readable = Readable::new(small());
        let mut lines = readable.feed(&bytes[..split]);
        lines.extend(readable.feed(&bytes[split..]));
        lines.extend(readable.finish());
        assert_eq!(lines, whole, "cut at {split}");
    }
}

#[test]
fn invalid_bytes_are_marked_and_the_rest_survives() {
    let mut readable = Readable::new(small());
    let mut lines = readable.feed(b"ok \xff\xfe\r\nnext \xe2\x82");
    lines.extend(readable.finish());
    assert_eq!(lines, ["ok \u{fffd}\u{fffd}", "next \u{fffd}"]);
}

#[test]
fn finished_lines_come_as_soon_as_nothing_can_change_them() {
    let mut readable = Readable::new(Size::new(10, 2));
    assert_eq!(readable.feed(b"one\r\ntwo"), [""; 0]);
    assert_eq!(readable.screen(), ["one", "two"]);
    assert_eq!(readable.feed(b"\r\nthree"), ["one"]);
    assert_eq!(readable.feed(b"\r\nfour\r\nfive"), ["two", "three"]);
    assert_eq!(readable.finish(), ["four", "five"]);
}

/// Prints as a program that clears everything and begins again does.
fn redraw(lines: &[String]) -> String {
    format!("\x1b[2J\x1b[3J\x1b[H{}", lines.join("\r\n"))
}

fn numbered(to: usize, status: &str) -> Vec<String> {
    let mut lines: Vec<String> = (1..=to).map(|n| format!("line {n}")).collect();
    lines.push(status.to_owned());
    lines
}

#[test]
fn drawing_everything_again_says_nothing_twice() {
    // Each time a little more, the status line at the end changing.
    for first in [2, 3, 5, 40] {
        let mut readable = Readable::new(Size::new(20, 6));
        let mut lines = readable.feed(numbered(first, "working 0").join("\r\n").as_bytes());
        for n in 1..30 {
            let status = format!("working {n}");
            let all = numbered(first + n, &status);
            lines.extend(readable.feed(redraw(&all).as_bytes()));
        }
        lines.extend(readable.finish());
        lines.retain(|line| !line.starts_with("working"));
        let mut expected = numbered(first + 29, "");
        expected.pop();
        assert_eq!(lines, expected, "beginning with {first}");
    }
}

#[test]
fn the_same_picture_again_and_again_is_said_once() {
    for count in [3, 4, 5, 20] {
        let all = numbered(count, "ready");
        let mut input = all.join("\r\n");
        for _ in 0..10 {
            input += &redraw(&all);
        }
        assert_eq!(read(Size::new(20, 6), &input), all, "{count}");
    }
}

#[test]
fn other_text_after_a_clear_is_all_kept() {
    let mut input = numbered(9, "end").join("\r\n");
    input += &redraw(&["something".to_owned(), "else".to_owned()]);
    let mut expected = numbered(9, "end");
    expected.extend(["something".to_owned(), "else".to_owned()]);
    assert_eq!(read(Size::new(20, 6), &input), expected);
}

#[test]
fn a_line_without_end_is_cut_not_kept() {
    let mut readable = Readable::new(Size::new(100, 10));
    let mut lines = Vec::new();
    for _ in 0..100 {
        lines.extend(readable.feed(&[b'x'; 10_000]));
    }
    lines.extend(readable.finish());
    assert_eq!(lines.iter().map(String::len).sum::<usize>(), 1_000_000);
    assert!(lines.len() >= 15, "{}", lines.len());
    assert!(lines.iter().all(|line| line.len() <= 66 << 10));
}

#[test]
fn a_few_bytes_do_not_become_a_megabyte() {
    let lines = read(Size::default(), &"x\x1b[65535b".repeat(10));
    assert!(lines.concat().len() <= 10 * 1001);
}

#[test]
fn resizing_keeps_lines_whole() {
    let mut readable = Readable::new(small());
    let mut lines = readable.feed(b"abcdefghijklmnop\r\n");
    lines.extend(readable.resize(Size::new(4, 2)));
    lines.extend(readable.feed(b"next line\r\n"));
    lines.extend(readable.resize(Size::new(40, 10)));
    lines.extend(readable.finish());
    assert_eq!(lines, ["abcdefghijklmnop", "next line"]);
}

#[test]
fn sizes_are_kept_reasonable() {
    assert_eq!(Size::new(0, 0), Size::new(1, 1));
    assert_eq!(Size::new(u16::MAX, u16::MAX), Size::new(1000, 1000));
    assert_eq!(read(Size::new(0, 0), "ab\r\nc").concat(), "abc");
}

#[test]
fn the_tail_of_a_log() {
    let log: String = (1..=1000).map(|n| format!("line {n}\r\n")).collect();
    for (lines, expected) in [
        (0, ""),
        (1, "line 1000"),
        (3, "line 998\nline 999\nline 1000"),
    ] {
        assert_eq!(tail(log.as_bytes(), Size::default(), lines), expected);
    }
    let all = tail(log.as_bytes(), Size::default(), usize::MAX);
    assert_eq!(all.lines().count(), 1000);
    // Cut in the middle of a character.
    let text = "é".repeat(10);
    assert_eq!(
        tail(&text.as_bytes()[1..], Size::default(), 5),
        "é".repeat(9)
    );
    assert_eq!(tail(b"", Size::default(), 5), "");
}
