//! Whatever the bytes are.

use proptest::collection::vec;
use proptest::prelude::*;
use sm_term::{Line, Readable, Size, sanitize_for_display, strip, tail};

/// Pieces of what terminals understand, so that random input reaches deep into it.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed = |s: &'static str| Just(s.as_bytes().to_vec());
    prop_oneof![
        4 => vec(any::<u8>(), 0..8),
        4 => "[ -~]{0,12}".prop_map(String::into_bytes),
        2 => "\\PC{0,4}".prop_map(String::into_bytes),
        4 => ("[?!>]?", vec("[0-9]{0,5}", 0..4), "[ -/]?", "[@-~]").prop_map(
            |(private, params, between, last)| {
                format!("\x1b[{private}{}{between}{last}", params.join(";")).into_bytes()
            }
        ),
        1 => ("[ -/]{0,2}", "[0-~]").prop_map(|(b, l)| format!("\x1b{b}{l}").into_bytes()),
        1 => "[ -~]{0,20}".prop_map(|s| format!("\x1b]{s}\x07").into_bytes()),
        1 => vec(0u8..0x20, 1..4),
        1 => prop_oneof![
            fixed("\x1b[?1049h"), fixed("\x1b[?1049l"), fixed("\x1b[?1047h"), fixed("\x1b[?1047l"),
            fixed("\x1b[2J"), fixed("\x1b[3J"), fixed("\x1b[2J\x1b[3J\x1b[H"), fixed("\x1bc"),
            fixed("\x1b#8"), fixed("\x1b(0"), fixed("\x1b[2;3r"), fixed("\x1b[?6h"), fixed("日本語"),
            fixed("\r\n"), fixed("\r\n\r\n\r\n"),
        ],
    ]
}

fn output() -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_output_at_any_size_cut_anywhere(
        bytes in output(),
        cut in any::<prop::sample::Index>(),
        size in (1u16..40, 1u16..12),
        resized in proptest::option::of((0u16..40, 0u16..12)),
    ) {
        let size = Size::new(size.0, size.1);
        let at = cut.index(bytes.len() + 1);
        let mut readable = Readable::new(size);
        let mut lines = readable.feed(&bytes[..at]);
        if let Some((cols, rows)) = resized {
            lines.extend(readable.resize(Size::new(cols, rows)));
        }
        lines.extend(readable.feed(&bytes[at..]));
        let screen = readable.rest();
        lines.extend(readable.finish());
        for Line { text: line, .. } in lines.iter().chain(&screen) {
            prop_assert!(!line.contains(['\x1b', '\n', '\r']), "{line:?}");
        }
        // Without a change of size the cut makes no difference.
        if resized.is_none() {
            let whole = tail(&bytes, size, usize::MAX);
            if bytes.first().is_none_or(|b| b & 0xc0 != 0x80) {
                let lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
                prop_assert_eq!(whole, lines.join("\n"));
            }
        }
    }

    #[test]
    fn another_process_goes_on(bytes in output(), cuts in vec(any::<prop::sample::Index>(), 1..6)) {
        let size = Size::new(12, 5);
        let mut whole = Readable::new(size);
        let mut expected = whole.feed(&bytes);
        expected.extend(whole.finish());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut lines = Vec::new();
        let (mut from, mut state) = (0, Readable::new(size).save());
        for to in cuts {
            let readable = Readable::load(&state);
            prop_assert!(readable.is_some());
            if let Some(mut readable) = readable {
                lines.extend(readable.feed(&bytes[from..to]));
                state = readable.save();
            }
            from = to;
        }
        lines.extend(Readable::load(&state).map(Readable::finish).unwrap_or_default());
        prop_assert_eq!(lines, expected);
    }

    #[test]
    fn stripped_text_has_no_control_characters(bytes in output()) {
        let text = String::from_utf8_lossy(&bytes);
        let stripped = strip(&text);
        prop_assert!(stripped.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        prop_assert_eq!(strip(&stripped), stripped);
    }

    #[test]
    fn sanitized_text_is_one_harmless_line(text in "\\PC{0,40}|[\\x00-\\x7f]{0,40}|.{0,40}") {
        let clean = sanitize_for_display(&text);
        prop_assert!(clean.chars().all(|c| !c.is_control()));
        prop_assert_eq!(sanitize_for_display(&clean), clean);
    }

    #[test]
    fn ordinary_text_is_not_touched(text in "[ -~äöü日本]{0,60}") {
        prop_assert_eq!(strip(&text), text.clone());
        prop_assert_eq!(sanitize_for_display(&text), text);
    }
}
