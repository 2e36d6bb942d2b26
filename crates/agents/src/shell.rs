//! Quoting for the POSIX shell: hook commands are run by `sh -c`.

/// `text` as one word of a shell command.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A hook's command: the shell becomes the program, so that the program's parent is the agent
/// itself, and ends are seen: a shell in between would outlive it.
pub fn hook<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    format!("exec {}", join(words))
}

/// A command line out of words.
fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// The words of a command that is a single plain call; `None` if a shell would do anything beyond
/// splitting and unquoting.
pub fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let inside = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => inside.push(c),
                    }
                }
            }
            '"' => {
                let inside = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => inside.push(c),
                            '\n' => {}
                            c => inside.extend(['\\', c]),
                        },
                        c => inside.push(c),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                c => word.get_or_insert_default().push(c),
            },
            c if "|&;<>()$`\n\r#*?[]~!".contains(c) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        for (word, quoted) in [
            ("/usr/bin/sm-hook", "/usr/bin/sm-hook"),
            ("/home/a b/sm-hook", "'/home/a b/sm-hook'"),
            ("it's", r"'it'\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("", "''"),
        ] {
            assert_eq!(quote(word), quoted);
        }
        assert_eq!(join(["/a b", "claude", "Stop"]), "'/a b' claude Stop");
    }

    #[test]
    fn a_plain_call_is_split_as_a_shell_does() {
        let all = |words: &[&str]| Some(words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        for (command, expected) in [
            ("a  b\tc ", all(&["a", "b", "c"])),
            (r"'/a b'\''s x", None),
            (r"'it'\''s' x", all(&["it's", "x"])),
            (r#"a"b $"c"#, None),
            (r#"a"b \$ \x"c"#, all(&[r"ab $ \xc"])),
            ("'$(x) ; y'", all(&["$(x) ; y"])),
            ("'' a", all(&["", "a"])),
            (r"a\ b", all(&["a b"])),
            ("a {b}", all(&["a", "{b}"])),
            ("a; b", None),
            ("a $b", None),
            ("a\nb", None),
            ("a 'b", None),
            ("a\\", None),
            ("", all(&[])),
        ] {
            assert_eq!(words(command), expected, "{command}");
        }
    }
}
