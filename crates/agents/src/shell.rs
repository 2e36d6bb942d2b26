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
}
