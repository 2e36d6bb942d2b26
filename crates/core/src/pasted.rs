//! What an agent puts around the text of a paste before its model reads it, taken off again.
//!
//! Claude Code from 2.1.328 on (what it shows as a placeholder only):
//! `⏎⏎<pasted_content id="9f3a">⏎TEXT⏎</pasted_content id="9f3a">⏎`, and one more line end before what
//! was typed behind it.

use std::borrow::Cow;

const OPEN: &str = "<pasted_content id=\"";
const CLOSE: &str = "\n</pasted_content id=\"";
const END: &str = "\">";
/// Tags that are never closed are words; after so many nothing more is looked for.
const UNCLOSED: u32 = 8;

/// The text as it was typed and pasted. What only looks like such tags stays as it is.
pub fn unwrapped<'a>(text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
    let text = text.into();
    match without_tags(&text) {
        Some(bare) => Cow::Owned(bare),
        None => text,
    }
}

fn without_tags(text: &str) -> Option<String> {
    let mut unclosed = 0;
    let mut bare = None;
    let mut rest = text;
    while let Some((before, inside, after)) = first_paste(rest, &mut unclosed) {
        let bare = bare.get_or_insert_with(String::new);
        bare.push_str(without_line_ends(before, str::strip_suffix));
        bare.push_str(inside);
        rest = without_line_ends(after, str::strip_prefix);
    }
    bare.map(|bare| bare + rest)
}

/// What is before the first paste, what was pasted, and what comes after it.
fn first_paste<'a>(text: &'a str, unclosed: &mut u32) -> Option<(&'a str, &'a str, &'a str)> {
    let mut from = 0;
    while *unclosed < UNCLOSED {
        let at = from + text.get(from..)?.find(OPEN)?;
        let (before, tag) = text.split_at(at);
        from = at + OPEN.len();
        if let Some((inside, after)) = closed(tag.get(OPEN.len()..)?) {
            return Some((before, inside, after));
        }
        *unclosed += 1;
    }
    None
}

/// `9f3a">⏎TEXT⏎</pasted_content id="9f3a">REST`: the text and the rest.
fn closed(tag: &str) -> Option<(&str, &str)> {
    let (id, tag) = tag.split_at(tag.bytes().take_while(u8::is_ascii_alphanumeric).count());
    let inside = tag.strip_prefix(END)?.strip_prefix('\n')?;
    let close = format!("{CLOSE}{id}{END}");
    // an empty text has one line end only
    match inside.strip_prefix(close.trim_start()) {
        Some(after) => Some(("", after)),
        None => inside.split_once(&close),
    }
    .filter(|_| !id.is_empty())
}

fn without_line_ends<'a>(text: &'a str, strip: fn(&'a str, char) -> Option<&'a str>) -> &'a str {
    let one = strip(text, '\n').unwrap_or(text);
    strip(one, '\n').unwrap_or(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 2.1.328 gave them to its hooks, its record and its model.
    #[test]
    fn a_prompt_is_what_was_typed_and_pasted() {
        let close = "\n</pasted_content id=\"c4c1\">";
        for (text, expected) in [
            (
                format!("\n\n<pasted_content id=\"c4c1\">\na\nb\nc\nd\ne{close}\n"),
                "a\nb\nc\nd\ne",
            ),
            (
                format!("\n\n<pasted_content id=\"c4c1\">\na\nb{close}\n\n and after"),
                "a\nb and after",
            ),
            (
                format!(
                    "\n\n<pasted_content id=\"c4c1\">\na\nb{close}\n\n\n<pasted_content id=\"c4c1\">\nc\nd{close}\n"
                ),
                "a\nbc\nd",
            ),
            (
                format!("Read /x.\n\n\n<pasted_content id=\"c4c1\">\n\nFull log\nb{close}\n"),
                "Read /x.\n\nFull log\nb",
            ),
            (
                format!("<pasted_content id=\"c4c1\">\nqueued\nb{close}"),
                "queued\nb",
            ),
            (
                format!("<pasted_content id=\"c4c1\">\nends\n\n{close}"),
                "ends\n\n",
            ),
            (
                format!("<pasted_content id=\"c4c1\">\n<pasted_content id=\"0\">\nx{close}"),
                "<pasted_content id=\"0\">\nx",
            ),
            (
                "<pasted_content id=\"c4c1\">\n</pasted_content id=\"c4c1\">\n".to_owned(),
                "",
            ),
        ] {
            assert_eq!(unwrapped(&*text), expected, "{text:?}");
        }
        for same in [
            "",
            "words",
            "<pasted_content id=\"c4c1\">\nnever closed",
            "<pasted_content id=\"c4c1\">\nx\n</pasted_content id=\"other\">",
            "<pasted_content id=\"\">\nx\n</pasted_content id=\"\">",
            "<pasted_content id=\"é\">\nx\n</pasted_content id=\"é\">",
        ] {
            assert_eq!(unwrapped(same), same);
        }
    }

    #[test]
    fn tags_that_are_never_closed_cost_no_time() {
        let open = |n: usize| format!("<pasted_content id=\"{n}\">\n");
        let hostile: String = (0..100_000).map(open).collect();
        assert_eq!(unwrapped(&*hostile), hostile);
    }
}
