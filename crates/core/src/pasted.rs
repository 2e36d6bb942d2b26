//! What an agent puts around the text of a paste before its model reads it, taken off again.
//!
//! Claude Code from 2.1.328 on (what it shows as a placeholder only):
//! `⏎⏎<pasted_content id="9f3a">⏎TEXT⏎</pasted_content id="9f3a">⏎`, and one more line end before what
//! was typed behind it.

use std::borrow::Cow;

const OPEN: &str = "<pasted_content id=\"";
const CLOSE: &str = "\n</pasted_content id=\"";
const END: &str = "\">";

/// The text as it was typed and pasted. What only looks like such tags stays as it is.
pub fn unwrapped(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside, after)) = first_paste(rest) {
        out.push_str(without_line_ends(before, str::strip_suffix));
        out.push_str(inside);
        rest = without_line_ends(after, str::strip_prefix);
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What is before the first paste, what was pasted, and what comes after it.
fn first_paste(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(OPEN)?;
        let (before, tag) = text.split_at(at);
        from = at + OPEN.len();
        let Some((id, inside)) = tag[OPEN.len()..].split_once("\">\n") else {
            continue;
        };
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_alphanumeric()) {
            continue;
        }
        let close = format!("{CLOSE}{id}{END}");
        // an empty text has one line end only
        if let Some(after) = inside.strip_prefix(close.trim_start()) {
            return Some((before, "", after));
        }
        if let Some((inside, after)) = inside.split_once(&close) {
            return Some((before, inside, after));
        }
    }
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
            assert_eq!(unwrapped(&text), expected, "{text:?}");
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
}
