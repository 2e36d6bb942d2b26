//! What a text that has been begun could become: commands after `/`, files after `@`.

use crate::slash::COMMANDS;

/// So many are offered at once.
const MOST: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub kind: Kind,
    /// Which bytes of the text an item takes the place of.
    pub from: usize,
    pub to: usize,
    pub items: Vec<Item>,
    pub selected: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    File,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub text: String,
    pub about: String,
}

/// Whether files are asked for here, and since which byte.
pub(crate) fn file_word(before: &str) -> Option<(usize, &str)> {
    let start = before.rfind(|c: char| c.is_whitespace()).map_or(0, |at| {
        at + before
            .get(at..)
            .and_then(|s| s.chars().next())
            .map_or(1, char::len_utf8)
    });
    let word = before.get(start..)?.strip_prefix('@')?;
    Some((start, word))
}

/// What could be meant by the text before the cursor.
pub(crate) fn complete(
    text: &str,
    cursor: usize,
    files: &[String],
    templates: &[(String, String)],
) -> Option<Completion> {
    let before = text.get(..cursor)?;
    if before.starts_with('/') && !before.contains(char::is_whitespace) && cursor == text.len() {
        let ours = COMMANDS.iter().map(|command| (command.name, command.about));
        let own = templates
            .iter()
            .map(|(name, about)| (name.as_str(), about.as_str()));
        let typed = before.get(1..).unwrap_or_default();
        let items: Vec<Item> = ours
            .chain(own)
            .filter(|(name, _)| name.starts_with(typed))
            .map(|(name, about)| Item {
                text: format!("/{name}"),
                about: about.to_owned(),
            })
            .collect();
        return some(Kind::Command, 0, cursor, items);
    }
    let (from, word) = file_word(before)?;
    let items = matching(files, word)
        .into_iter()
        .map(|file| Item {
            text: format!("@{file}"),
            about: String::new(),
        })
        .collect();
    some(Kind::File, from, cursor, items)
}

fn some(kind: Kind, from: usize, to: usize, items: Vec<Item>) -> Option<Completion> {
    (!items.is_empty()).then_some(Completion {
        kind,
        from,
        to,
        items,
        selected: 0,
    })
}

/// The files that fit best: those whose name begins so, then those that contain it, then those
/// that have its letters in this order.
fn matching<'a>(files: &'a [String], word: &str) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let mut found: Vec<(u8, usize, &str)> = files
        .iter()
        .filter_map(|file| {
            Some((
                rank(&file.to_lowercase(), &word)?,
                file.len(),
                file.as_str(),
            ))
        })
        .collect();
    found.sort_unstable();
    found
        .into_iter()
        .take(MOST)
        .map(|(_, _, file)| file)
        .collect()
}

fn rank(file: &str, word: &str) -> Option<u8> {
    let name = file
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(file);
    if file.starts_with(word) {
        return Some(0);
    }
    if name.starts_with(word) {
        return Some(1);
    }
    if file.contains(word) {
        return Some(2);
    }
    let mut letters = file.chars();
    word.chars().all(|c| letters.any(|l| l == c)).then_some(3)
}

/// What may follow a command, where nothing follows yet.
pub(crate) fn ghost(text: &str) -> Option<&'static str> {
    let name = text.strip_suffix(' ')?.strip_prefix('/')?;
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    Some(command.hint).filter(|hint| !hint.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str) -> Vec<String> {
        let files: Vec<String> = [
            "src/main.rs",
            "src/lib.rs",
            "docs/main.md",
            "README.md",
            "src/",
        ]
        .map(String::from)
        .to_vec();
        let own = [("review".to_owned(), "<PR> Review it".to_owned())];
        let found = complete(text, text.len(), &files, &own);
        found.map_or(Vec::new(), |found| {
            found.items.into_iter().map(|i| i.text).collect()
        })
    }

    #[test]
    fn what_is_offered() {
        assert_eq!(offered("/hand"), ["/handoff"]);
        assert_eq!(offered("/handoff "), Vec::<String>::new());
        assert_eq!(offered("say /hand"), Vec::<String>::new());
        assert_eq!(offered("/").len(), COMMANDS.len() + 1);
        assert_eq!(offered("/rev"), ["/review"]);
        assert_eq!(offered("look at @main"), ["@src/main.rs", "@docs/main.md"]);
        assert_eq!(offered("@src/"), ["@src/", "@src/lib.rs", "@src/main.rs"]);
        assert_eq!(offered("@rdm"), ["@README.md"]);
        assert_eq!(offered("me@main"), Vec::<String>::new());
        assert_eq!(offered("日本\u{3000}@rdm"), ["@README.md"]);
    }

    #[test]
    fn ghosts() {
        for (text, expected) in [
            ("/handoff ", Some("[focus instructions]")),
            ("/handoff", None),
            ("/handoff x", None),
            ("/new ", None),
            ("", None),
        ] {
            assert_eq!(ghost(text), expected, "{text:?}");
        }
    }
}
