//! The house itself: which crate may know which, and that the pure ones touch nothing outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// What each crate of ours may depend on among the others. The order is the direction.
const MAY_KNOW: [(&str, &[&str]); 15] = [
    ("core", &[]),
    ("agents", &["core"]),
    ("ledger", &["core"]),
    ("term", &[]),
    ("client", &[]),
    ("settings", &["core", "client"]),
    ("hook", &["client"]),
    ("channel", &["client"]),
    ("store", &["core"]),
    ("runtime", &["core"]),
    ("llm", &[]),
    (
        "agent",
        &[
            "core", "agents", "ledger", "term", "client", "settings", "llm",
        ],
    ),
    (
        "daemon",
        &[
            "core", "agents", "ledger", "term", "store", "runtime", "client", "settings",
        ],
    ),
    (
        "run",
        &[
            "core", "agents", "client", "channel", "ledger", "term", "daemon",
        ],
    ),
    (
        "cli",
        &[
            "core", "agents", "ledger", "term", "client", "channel", "run", "daemon",
        ],
    ),
];

/// Crates that depend on nothing outside the standard library.
const STD_ONLY: [&str; 2] = ["client", "hook"];

/// Crates in which nothing touches a file, a clock, a process, the environment or the network.
const PURE: [(&str, &[&str]); 4] = [
    ("core", &["serde", "thiserror", "unicode-normalization"]),
    (
        "agents",
        &["serde", "serde_json", "thiserror", "sha2", "toml"],
    ),
    ("ledger", &["memchr", "serde", "serde_json"]),
    ("term", &["unicode-width"]),
];

/// Words of the outside world.
const IMPURE: [&str; 14] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "std::io",
    "std::os",
    "SystemTime",
    "Instant::",
    "getrandom",
    "tokio",
    "File::",
    "println!",
    "env!(",
];

/// The names in `[dependencies]` of a crate's manifest.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml"))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let word = line.split(['.', '=', ' ']).next().unwrap_or_default();
            found.push(word.to_string());
        }
    }
    found
}

/// The code of a source file before its tests, without comments.
fn code(path: &Path) -> String {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let before_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
    before_tests
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn dependencies_point_one_way() {
    let may: BTreeMap<_, _> = MAY_KNOW.into_iter().collect();
    for (name, known) in may {
        for dependency in dependencies(name) {
            if let Some(ours) = dependency.strip_prefix("sm-") {
                assert!(known.contains(&ours), "{name} must not depend on {ours}");
            }
        }
    }
}

#[test]
fn the_hook_path_depends_on_nothing_outside_std() {
    for name in STD_ONLY {
        let foreign: Vec<_> = dependencies(name)
            .into_iter()
            .filter(|d| !d.starts_with("sm-"))
            .collect();
        assert!(foreign.is_empty(), "{name} depends on {foreign:?}");
    }
}

#[test]
fn pure_crates_have_no_io() {
    for (name, allowed) in PURE {
        for dependency in dependencies(name) {
            let fine = dependency.starts_with("sm-") || allowed.contains(&dependency.as_str());
            assert!(
                fine,
                "{name} depends on {dependency}, which nobody has called pure"
            );
        }
        let files = sources(&crates().join(name).join("src"));
        assert!(!files.is_empty(), "{name} has sources");
        for file in files {
            let code = code(&file);
            for word in IMPURE {
                assert!(
                    !code.contains(word),
                    "{}: {word} has no place in a pure crate",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn the_check_for_io_can_fail() {
    let daemon = sources(&crates().join("daemon").join("src"));
    let impure = daemon
        .iter()
        .any(|file| IMPURE.iter().any(|word| code(file).contains(word)));
    assert!(
        impure,
        "the daemon does IO; a check that does not see it sees nothing"
    );
}

#[test]
fn files_have_one_subject_and_stay_readable() {
    const MOST: usize = 620;
    for (name, _) in MAY_KNOW {
        for file in sources(&crates().join(name).join("src")) {
            let lines = std::fs::read_to_string(&file)
                .map(|text| text.lines().count())
                .unwrap_or(0);
            assert!(
                lines <= MOST,
                "{} has {lines} lines; split it by subject",
                file.display()
            );
        }
    }
}

/// Everything in the workspace's Rust files, as one text.
fn all_code() -> String {
    fn gather(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                gather(&path, text);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                text.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
            }
        }
    }
    let mut text = String::new();
    gather(&crates(), &mut text);
    text
}

/// Names of tests that a document cites: in backticks, words joined by at least four underscores.
fn cited(document: &str) -> Vec<String> {
    document
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| {
            word.matches('_').count() >= 4
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
        .map(str::to_string)
        .collect()
}

#[test]
fn every_test_that_the_documents_cite_exists() {
    let code = all_code();
    for document in ["docs/conformance.md", "ARCHITECTURE.md"] {
        let path = crates().join("..").join(document);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{document}: {error}"));
        let names = cited(&text);
        assert!(names.len() > 10, "{document} cites tests");
        for name in names {
            assert!(
                code.contains(&format!("fn {name}(")),
                "{document} cites {name}, which is no test"
            );
        }
    }
}
