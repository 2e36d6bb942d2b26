//! Files that a document names: they are there, or the session has dealt with them.
//!
//! Says nothing of names without a folder, of patterns, and of files that are yet to be made.

use super::{FileFact, Findings, GateFacts, Level, MOST_OF_A_KIND};

/// Words in a line that speak of a file which need not be there.
const ABSENT: &str = "\
delet|remov|create|add |write|new |missing|renam|moved|generate|will |would|does not exist|\
doesn't exist|not exist|e.g.|for example|gone|was |output|temporary|branch|remote|origin/|\
gelösch|entfern|erstell|anleg|neue|supprim|créer|crear|elimin|nuevo|criar|novo";

/// Paths in a line, as they stand there.
pub(super) fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '`' | '"'
                    | '\''
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | ','
                    | ';'
                    | '|'
                    | '<'
                    | '>'
                    | '“'
                    | '”'
                    | '‘'
                    | '’'
                    | '='
            )
    })
    .map(|word| {
        let word = word
            .trim_end_matches(['.', ':', '!', '?', '*', '_'])
            .trim_start_matches(['*', '_']);
        // `file.rs:12:3`, `file.rs#L12`
        let word = word.split('#').next().unwrap_or(word);
        match word.split_once(':') {
            Some((path, rest)) if rest.starts_with(|c: char| c.is_ascii_digit() || c == ':') => {
                path
            }
            _ => word,
        }
    })
    .filter(|word| is_path(word))
}

fn is_path(word: &str) -> bool {
    let Some((folder, name)) = word.rsplit_once('/') else {
        return false;
    };
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    !word.contains("//")
        && !word.contains(['*', '{', '}', '$', '…', '%', '@', ':', '\\', '~', '+'])
        && !word.contains("...")
        && !folder.contains("/.../")
        && !stem.is_empty()
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().any(|b| b.is_ascii_alphabetic())
        // `example.com/page.html` is an address
        && !folder.split('/').next().is_some_and(|first| first.contains('.') && !first.starts_with('.'))
}

pub(super) fn check(document: &str, facts: &GateFacts<'_>, found: &mut Findings) {
    let mut seen: Vec<&str> = Vec::new();
    let mut count = 0;
    let mut code = false;
    for (at, line) in document.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        let lower = line.to_lowercase();
        if code || ABSENT.split('|').any(|word| lower.contains(word)) {
            continue;
        }
        for path in paths(line) {
            if seen.contains(&path) || count == MOST_OF_A_KIND {
                continue;
            }
            seen.push(path);
            match (facts.file)(path) {
                FileFact::Known | FileFact::Unknown => {}
                FileFact::Missing => {
                    count += 1;
                    found.add(
                        Some(at + 1),
                        Level::Warning,
                        4,
                        format!("there is no file {path}"),
                        "correct the path, or say that it is yet to be made",
                    );
                }
            }
        }
    }
}
