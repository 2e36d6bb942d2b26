//! Quoting of what goes into tmux: command-line words, format templates, shell words.
//!
//! A control-mode line ends at a newline and an empty line ends the connection, so no newline and
//! no NUL may ever leave this file unescaped.

use std::fmt::Write;

/// One word of a tmux command line, whatever it contains (NUL excepted: it is dropped, no argument
/// of a program can hold one).
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    // '%' is not among them: at the start of a word it can be a directive, as in `%if`.
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut quoted = String::with_capacity(word.len() + 8);
    quoted.push('"');
    for c in word.chars() {
        match c {
            '\0' => {}
            // '~' starts a home directory even inside double quotes.
            '"' | '\\' | '$' | '~' => {
                quoted.push('\\');
                quoted.push(c);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\x1b' => quoted.push_str("\\e"),
            c if c.is_ascii_control() && c != '\t' => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\{:03o}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Literal text for a place where tmux expands formats: `#` must not start one.
///
/// A run of `#` followed by `[` is kept by tmux as it is; anywhere else `##` stands for `#`.
pub fn format_literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('#') {
        escaped.push_str(&rest[..start]);
        let after = rest[start..].trim_start_matches('#');
        let run = rest.len() - start - after.len();
        let times = if after.starts_with('[') { run } else { 2 * run };
        escaped.extend(std::iter::repeat_n('#', times));
        rest = after;
    }
    escaped.push_str(rest);
    escaped
}

/// Literal text for a place where tmux expands formats and then times (`pipe-pane`).
pub fn time_format_literal(text: &str) -> String {
    format_literal(text).replace('%', "%%")
}

/// One word for `sh`.
pub fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A shell line that becomes the program of `argv`.
pub fn shell_exec(argv: &[String]) -> String {
    let mut line = String::from("exec");
    for word in argv {
        line.push(' ');
        line.push_str(&shell_word(word));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for (word, expected) in [
            ("", r#""""#),
            ("plain-1", "plain-1"),
            ("%3", r#""%3""#),
            ("$2", r#""\$2""#),
            ("~", r#""\~""#),
            ("a;b", r#""a;b""#),
            ("a\nb", r#""a\nb""#),
            (r#"say "hi" \o/"#, r#""say \"hi\" \\o/""#),
            ("nul\0", r#""nul""#),
            ("\x1b[0m\x01", r#""\e[0m\001""#),
            ("é 漢", r#""é 漢""#),
        ] {
            assert_eq!(quote(word), expected, "{word:?}");
        }
    }

    #[test]
    fn formats() {
        for (text, expected) in [
            ("plain", "plain"),
            ("#{pane_id}", "##{pane_id}"),
            ("#(rm)", "##(rm)"),
            ("a##b#", "a####b##"),
            ("#[fg=red]", "#[fg=red]"),
            ("##[x", "##[x"),
        ] {
            assert_eq!(format_literal(text), expected, "{text:?}");
        }
        assert_eq!(time_format_literal("100%#S"), "100%%##S");
    }

    #[test]
    fn shell() {
        assert_eq!(
            shell_exec(&["a".into(), "it's".into()]),
            r"exec 'a' 'it'\''s'"
        );
    }
}
