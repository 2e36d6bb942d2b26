//! What a person would have read.

#![expect(clippy::expect_used, reason = "tests")]

use sm_term::{Line, Readable, Size, tail};

fn read(size: Size, input: &str) -> Vec<String> {
    let mut readable = Readable::new(size);
    let mut lines = texts(readable.feed(input.as_bytes()));
    lines.extend(texts(readable.finish()));
    lines
}

fn texts(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
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
        ("redrawn box", "x\r\na\r\nb\x1b[1A\r\x1b[JA\r\nB", "x|A|B"),
        (
            "redrawn from the top",
            "a\r\nb\r\nc\x1b[H\x1b[Ja\r\nb\r\nd",
            "a|b|c|d",
        ),
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
            "a|new",
        ),
        ("test picture", "\x1b#8x", "x"),
        ("cut sequence at the end", "a\x1b[3", "a"),
        (
            "marks",
            "e\u{301}a\u{308} 👩\u{200d}💻",
            "e\u{301}a\u{308} 👩\u{200d}💻",
        ),
        ("line drawing", "\x1b(0lqk\x1b(B", "┌─┐"),
        ("tabs", "a\tb", "a       b"),
        ("inserted", "ac\x1b[1D\x1b[@b", "abc"),
        ("deleted", "abbc\x1b[2G\x1b[P", "abc"),
        ("a line put in between", "a\r\nc\r\x1b[Lb", "a|b|c"),
        ("repeated", "-\x1b[4b", "-----"),
        (
            "a region scrolls, as Codex puts lines above its box",
            "1\r\n2\r\nbox\x1b[1;2r\x1b[2;1H\r\n3\x1b[r",
            "1|2|3|box",
        ),
        (
            "less, one line further each time",
            "$ less\r\n\x1b[?1049h\x1b[H1\r\n2\r\n3\r\n:\r\x1b[K4\r\n:\r\x1b[K5\r\n:\x1b[?1049l$",
            "1|2|3|4|5|:|$ less|$",
        ),
        (
            "and back again",
            "\x1b[?1049h1\r\n2\r\n3\r\n4\r\n5\x1b[H\x1bM1\x1b[4;1H\r\n5\x1b[?1049l",
            "1|2|3|4|5",
        ),
        (
            "pictures that move up",
            "\x1b[?1049h\x1b[?2026h\x1b[H1\r\n2\r\n3\r\nbox\x1b[?2026l\x1b[?2026h\x1b[H2\r\n3\r\n4\x1b[?2026l\
             \x1b[?2026h\x1b[H3\r\n4\r\n5\x1b[?2026l",
            "1|2|3|4|5|box",
        ),
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
        let mut lines = texts(readable.feed(&bytes[..split]));
        lines.extend(texts(readable.feed(&bytes[split..])));
        lines.extend(texts(readable.finish()));
        assert_eq!(lines, whole, "cut at {split}");
    }
}

/// Goes on after a restart at every byte: the same text, and every byte is looked at once.
fn saved_and_loaded(size: Size, bytes: &[u8], cuts: impl Iterator<Item = usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut state = Readable::new(size).save();
    let mut from = 0;
    for to in cuts.chain([bytes.len()]) {
        let mut readable = Readable::load(&state).expect("a saved state");
        lines.extend(texts(readable.feed(&bytes[from..to])));
        state = readable.save();
        from = to;
    }
    let readable = Readable::load(&state).expect("a saved state");
    lines.extend(texts(readable.finish()));
    lines
}

#[test]
fn another_process_goes_on_at_any_byte() {
    let input = "日本 one\r\ntwo \x1b[31mre\x1b[0md e\u{301}👩\u{200d}💻\r\nabcdefghijklmnop\r\n\x1b]0;title\x07\
                 \x1b[?1049halt 1\r\n2\r\n3\r\n4\r\n5\x1b[?25l\x1b[Hx\x1b[?25h\x1b[?1049l\x1b(0qqq\x1b(B\
                 x\r\ny\r\nz\r\n\x1b[2J\x1b[3J\x1b[H日本 one\r\ntwo\x1b[2;3r\x1b7\x1b[?6h\n\x1b8end 😀";
    let whole = read(small(), input);
    let bytes = input.as_bytes();
    for cut in 0..=bytes.len() {
        let cuts = std::iter::once(cut);
        assert_eq!(saved_and_loaded(small(), bytes, cuts), whole, "at {cut}");
    }
    assert_eq!(saved_and_loaded(small(), bytes, 1..bytes.len()), whole);
    // What is no saved state is none.
    let state = Readable::new(small()).save();
    for length in 0..state.len() {
        assert!(Readable::load(&state[..length]).is_none(), "{length}");
    }
    assert!(Readable::load(b"\x63garbage").is_none());
}

#[test]
fn a_state_stays_small_however_long_the_log() {
    let mut readable = Readable::new(Size::new(100, 40));
    let line = format!("{}\r\n", "0123456789".repeat(9)).repeat(1000);
    let mut largest = 0;
    for _ in 0..100 {
        readable.feed(line.as_bytes());
        largest = largest.max(readable.save().len());
    }
    assert!(largest < 256 << 10, "{largest}");
}

#[test]
fn lines_tell_where_they_were_written() {
    let mut readable = Readable::new(Size::new(20, 4));
    readable.seek(1000);
    readable.feed(b"one\r\n\x1b[31mtwo\r\n");
    readable.seek(5000);
    let lines = [readable.feed(b"three\x1b[1A\r2"), readable.finish()].concat();
    let told: Vec<(&str, u64)> = lines
        .iter()
        .map(|line| (line.text.as_str(), line.at))
        .collect();
    assert_eq!(told, [("one", 1002), ("2wo", 5010), ("three", 5004)]);
}

#[test]
fn a_new_terminal_begins_below_the_old_one() {
    let mut readable = Readable::new(small());
    let mut lines = texts(readable.feed(b"old\r\n\x1b[?1049hpicture\x1b["));
    lines.extend(texts(readable.restart(Size::new(20, 5))));
    lines.extend(texts(readable.feed(b"31mnew")));
    lines.extend(texts(readable.finish()));
    assert_eq!(lines, ["old", "picture", "31mnew"]);
}

#[test]
fn clearing_alone_costs_nothing() {
    // Each clear once took a walk through everything that was said.
    let mut input = numbered(9_000, "x").join("\r\n");
    input += &"\x1b[2J\x1b[3J\x1b[H".repeat(20_000);
    input += &"\x1b[2J\x1b[3J\x1b[Hx\r\n".repeat(5_000);
    assert_eq!(read(Size::new(80, 24), &input).len(), 9_002);
}

#[test]
fn invalid_bytes_are_marked_and_the_rest_survives() {
    let mut readable = Readable::new(small());
    let mut lines = texts(readable.feed(b"ok \xff\xfe\r\nnext \xe2\x82"));
    lines.extend(texts(readable.finish()));
    assert_eq!(lines, ["ok \u{fffd}\u{fffd}", "next \u{fffd}"]);
}

#[test]
fn finished_lines_come_as_soon_as_nothing_can_change_them() {
    // A screen that is made taller gets lines back, so some above it are kept as well.
    const BACK: usize = 300;
    let mut readable = Readable::new(Size::new(10, 2));
    assert_eq!(texts(readable.feed(b"one\r\ntwo")), [""; 0]);
    assert_eq!(texts(readable.rest()), ["one", "two"]);
    assert_eq!(
        texts(readable.feed("\r\n".repeat(BACK).as_bytes())),
        [""; 0]
    );
    assert_eq!(texts(readable.feed(b"\r\nx")), ["one"]);
    assert_eq!(texts(readable.feed(b"\r\ny\r\nz")), ["two", ""]);
    assert_eq!(readable.rest().len(), BACK + 2);
    assert_eq!(texts(readable.finish())[BACK - 1..], ["x", "y", "z"]);
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
        let mut lines = texts(readable.feed(numbered(first, "working 0").join("\r\n").as_bytes()));
        for n in 1..30 {
            let status = format!("working {n}");
            let all = numbered(first + n, &status);
            lines.extend(texts(readable.feed(redraw(&all).as_bytes())));
        }
        lines.extend(texts(readable.finish()));
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
        lines.extend(texts(readable.feed(&[b'x'; 10_000])));
    }
    lines.extend(texts(readable.finish()));
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
    let mut lines = texts(readable.feed(b"abcdefghijklmnop\r\n"));
    lines.extend(texts(readable.resize(Size::new(4, 2))));
    lines.extend(texts(readable.feed(b"next line\r\n")));
    lines.extend(texts(readable.resize(Size::new(40, 10))));
    lines.extend(texts(readable.finish()));
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
