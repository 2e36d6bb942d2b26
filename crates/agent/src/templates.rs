//! Prompt templates: Markdown files that `/name arguments` becomes the text of, as `pi` has them.
//!
//! They are read when they are needed, and only up to a bound; what cannot be read is not offered.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::slash::COMMANDS;

/// A longer file is no prompt.
const LONGEST: u64 = 64 << 10;
const MOST: usize = 200;
/// A first line in place of a description is shown up to here.
const DESCRIPTION: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    /// What can follow the name.
    pub hint: String,
    pub about: String,
    body: String,
}

/// Where templates are, the ones that count first: the project's, the person's, those of `pi`.
pub fn folders(cwd: &Path, config: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut all = vec![
        cwd.join(".sm/prompts"),
        cwd.join(".pi/prompts"),
        config.with_file_name("prompts"),
    ];
    all.extend(home.map(|home| home.join(".pi/agent/prompts")));
    all
}

/// All of them by their names. A command of ours is never hidden by one.
pub fn load(folders: &[PathBuf]) -> Vec<Template> {
    let mut found: BTreeMap<String, Template> = BTreeMap::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten().take(MOST) {
            let path = entry.path();
            let Some(name) = name_of(&path) else { continue };
            if found.len() >= MOST || found.contains_key(&name) {
                continue;
            }
            if let Some(text) = read(&path) {
                found.insert(name.clone(), Template::parse(name, &text));
            }
        }
    }
    found.into_values().collect()
}

/// The text that `/name arguments` stands for; `None`: it names no template.
pub fn expand(text: &str, templates: &[Template]) -> Option<String> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let template = templates.iter().find(|template| template.name == name)?;
    let arguments = split(arguments);
    Some(substitute(&template.body, &arguments))
}

impl Template {
    fn parse(name: String, text: &str) -> Self {
        let (head, body) = front_matter(text);
        let value = |key: &str| {
            let line = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == key).then(|| value.trim())
            });
            line.unwrap_or_default()
                .trim_matches(['"', '\''])
                .to_owned()
        };
        let mut about = value("description");
        if about.is_empty() {
            let first = body.lines().map(str::trim).find(|line| !line.is_empty());
            about = first
                .unwrap_or_default()
                .chars()
                .take(DESCRIPTION)
                .collect();
        }
        Self {
            name,
            hint: value("argument-hint"),
            about,
            body: body.trim().to_owned(),
        }
    }
}

fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".md")?;
    let plain = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    let ours = COMMANDS.iter().any(|command| command.name == name);
    (plain && !ours).then(|| name.to_owned())
}

/// Only what is a file: a pipe in its place would block.
fn read(path: &Path) -> Option<String> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What stands between two lines of `---` at the beginning, and the rest.
fn front_matter(text: &str) -> (&str, &str) {
    let parts = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---"));
    match parts {
        Some((head, body)) => (head, body.split_once('\n').map_or("", |(_, body)| body)),
        None => ("", text),
    }
}

/// Words, and what stands in quotes as one.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// `$1`, `$@`, `$ARGUMENTS`, `${@:N}` and `${@:N:L}`. What is put in is not looked at again.
fn substitute(body: &str, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        match placeholder(after, arguments) {
            Some((value, length)) => {
                out.push_str(&value);
                rest = after.get(length..).unwrap_or_default();
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// What a `$` stands for, and how many bytes follow it.
fn placeholder(after: &str, arguments: &[String]) -> Option<(String, usize)> {
    let all = || arguments.join(" ");
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let number: usize = after.get(..digits)?.parse().unwrap_or(usize::MAX);
        let value = number.checked_sub(1).and_then(|at| arguments.get(at));
        return Some((value.cloned().unwrap_or_default(), digits));
    }
    if after.starts_with('@') {
        return Some((all(), 1));
    }
    if after.starts_with("ARGUMENTS") {
        return Some((all(), "ARGUMENTS".len()));
    }
    let inner = after.strip_prefix("{@:")?;
    let (inner, _) = inner.split_once('}')?;
    let (from, length) = match inner.split_once(':') {
        Some((from, length)) => (from.parse().ok()?, length.parse().ok()?),
        None => (inner.parse().ok()?, usize::MAX),
    };
    let from: usize = from;
    let slice: Vec<&str> = arguments
        .iter()
        .skip(from.saturating_sub(1))
        .take(length)
        .map(String::as_str)
        .collect();
    Some((slice.join(" "), inner.len() + "{@:}".len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_where_pi_puts_them() {
        for (body, typed, expected) in [
            ("Fix $1.", "/t parser", "Fix parser."),
            ("$1|$2|$3", "/t a \"b c\"", "a|b c|"),
            (
                "all: $@ / $ARGUMENTS",
                "/t a 'b c' d",
                "all: a b c d / a b c d",
            ),
            ("${@:2}", "/t a b c", "b c"),
            ("${@:2:1} ${@:0}", "/t a b c", "b a b c"),
            // what is put in is not looked at again
            ("$1 and $@", "/t $@ $1", "$@ and $@ $1"),
            ("costs $ 5, ${x}, $", "/t a", "costs $ 5, ${x}, $"),
            ("plain", "/t", "plain"),
        ] {
            let template = Template::parse("t".into(), body);
            assert_eq!(
                expand(typed, &[template]).as_deref(),
                Some(expected),
                "{body}"
            );
        }
        let template = Template::parse("t".into(), "x");
        for text in ["/tt", "t", "say /t", "/"] {
            assert_eq!(
                expand(text, std::slice::from_ref(&template)),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn files_become_commands_and_the_project_goes_first() {
        let root = tempfile::tempdir().unwrap();
        let config = root.path().join("config/agent.toml");
        let cwd = root.path().join("repo");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "repo/.sm/prompts/review.md",
            "---\ndescription: Review it\nargument-hint: \"<PR>\"\n---\n\nReview $1.\n",
        );
        write("config/prompts/review.md", "another");
        write("config/prompts/ship.md", "\nShip it now\nplease");
        write("config/prompts/quit.md", "a command of ours stays ours");
        write("config/prompts/notes.txt", "no template");
        write("home/.pi/agent/prompts/old.md", "from pi");
        std::fs::create_dir_all(root.path().join("config/prompts/folder.md")).unwrap();
        let home = root.path().join("home");
        let found = load(&folders(&cwd, &config, Some(&home)));
        let told: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|t| (t.name.as_str(), t.hint.as_str(), t.about.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("old", "", "from pi"),
                ("review", "<PR>", "Review it"),
                ("ship", "", "Ship it now"),
            ]
        );
        assert_eq!(expand("/review #7", &found).as_deref(), Some("Review #7."));
        assert_eq!(
            expand("/ship", &found).as_deref(),
            Some("Ship it now\nplease")
        );
    }
}
