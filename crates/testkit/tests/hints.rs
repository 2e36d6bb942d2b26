//! Hints name sessions so that they mean one: what has ended is called by its id, as others may have
//! its name.

use std::path::{Path, PathBuf};

const COMMAND: &str = "sm restore ";
/// Ways to write down what only one session is called: an id, or what the daemon was asked for.
const CERTAIN: [&str; 6] = [
    "{id}",
    "{again}",
    "{session.id}",
    "${session.id}",
    "{0}",
    "{1}",
];
/// So far behind a placeholder without a name stands what it is filled with.
const NEAR: usize = 260;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_source = ["rs", "ts", "tsx"]
            .iter()
            .any(|ext| path.extension().is_some_and(|e| e == *ext));
        if path.is_dir() {
            if !["tests", "target", "node_modules", "dist", "test"].contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if is_source {
            found.push(path);
        }
    }
}

/// What a text says to restore, if it is not certain to mean one session.
fn uncertain(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for (at, _) in code.match_indices(COMMAND) {
        let behind = &code[at + COMMAND.len()..];
        let Some(end) = behind.find('}').filter(|_| behind.starts_with(['{', '$'])) else {
            continue;
        };
        let (placeholder, rest) = behind.split_at(end + 1);
        let near: String = rest.chars().take(NEAR).collect();
        let certain = match placeholder {
            "{}" | "{0}" | "{1}" => [".id", "called("].iter().any(|word| near.contains(word)),
            placeholder => CERTAIN.contains(&placeholder),
        };
        if !certain {
            found.push(format!("{COMMAND}{placeholder}"));
        }
    }
    found
}

#[test]
fn no_hint_restores_a_session_by_its_name() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("web/src"), &mut files);
    let mut hints = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        hints += text.matches(COMMAND).count();
        let found = uncertain(&text);
        assert!(
            found.is_empty(),
            "{}: {found:?}; name it by its id",
            file.display()
        );
    }
    assert!(hints > 15, "only {hints} hints were looked at");
}

#[test]
fn the_check_can_fail() {
    for (text, count) in [
        (r#"format!("sm restore {name}")"#, 1),
        (r#"format!("sm restore {}", session.name)"#, 1),
        ("<pre>sm restore {session.name}</pre>", 1),
        ("copy(`sm restore ${session.name}`)", 1),
        (r#"format!("sm restore {id}")"#, 0),
        (r#"format!("sm restore {}", session.id)"#, 0),
        ("copy(`sm restore ${session.id}`)", 0),
        ("`sm restore` brings it back", 0),
    ] {
        assert_eq!(uncertain(text).len(), count, "{text}");
    }
}
