//! Cutting and squeezing texts, where characters end.

/// At most `bytes` bytes of the beginning.
pub fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `bytes` bytes of the end.
pub fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// At most `chars` characters of the beginning.
pub fn first_chars(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

pub fn chars(text: &str) -> usize {
    text.chars().count()
}

/// At most `max` characters, with a mark where it was cut.
pub fn short(text: &str, max: usize) -> String {
    let cut = first_chars(text, max);
    if cut.len() == text.len() {
        return text.to_owned();
    }
    let mut out = first_chars(text, max.saturating_sub(1))
        .trim_end()
        .to_owned();
    out.push('…');
    out
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// On one line: every run of white space becomes one space.
pub fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for c in text.chars() {
        if is_space(c) {
            space = true;
        } else {
            if space && !out.is_empty() {
                out.push(' ');
            }
            space = false;
            out.push(c);
        }
    }
    out
}

/// The sentences of a text, roughly: its lines, cut behind full stops and question marks.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| {
            line.split_inclusive(['.', '?', '!'])
                .scan(0, move |at, part| {
                    let from = *at;
                    *at += part.len();
                    Some((line, from, *at))
                })
        })
        .scan(0usize, |begin, (line, from, to)| {
            if from == 0 {
                *begin = 0;
            }
            // A stop ends a sentence only where white space or the end follows it.
            let ends = to == line.len() || line[to..].starts_with(' ');
            if ends {
                let sentence = &line[*begin..to];
                *begin = to;
                Some(Some(sentence))
            } else {
                Some(None)
            }
        })
        .flatten()
        .map(|sentence| {
            sentence
                .trim()
                .trim_start_matches(['-', '*', '#', '>', ' '])
        })
        .filter(|sentence| !sentence.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_between_characters_and_marked() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(short("abcd", 4), "abcd");
        assert_eq!(short("ab cde", 4), "ab…");
        assert_eq!(first_chars("äöü", 2), "äö");
        assert_eq!(squeeze("  a\n\n b\tc "), "a b c");
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        let text = "- Use v1.2 of it. Or not?\n\nsrc/a.rs is fine";
        let found: Vec<_> = sentences(text).collect();
        assert_eq!(found, ["Use v1.2 of it.", "Or not?", "src/a.rs is fine"]);
    }
}
