//! What a document is compared with: the files of its project and what is known of the context.
//!
//! Reads, bounded in size and time; what is not to be had in time is not known. Never writes.

use sm_ledger::gate::{FileFact, GateFacts, Known, Report, check};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// Folders below the project's that are looked into for a file that is named from one of them.
const FOLDERS: usize = 400;
const DEEPEST: usize = 3;

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The session's working directory.
    pub cwd: PathBuf,
    /// Where the document lies.
    pub folder: PathBuf,
    /// From the context's ledger, if there is one.
    pub known: Option<Known>,
    pub pins: Vec<String>,
}

/// Judges a document by what can be found out. May wait for a disk.
pub fn judge(text: &str, sources: &Sources) -> Report {
    let known = sources.known.as_ref();
    let roots = roots(sources);
    let below = OnceCell::new();
    let file = |path: &str| {
        if known.is_some_and(|known| known.has_file(path)) {
            return FileFact::Known;
        }
        look(path, &roots, &below)
    };
    let facts = GateFacts {
        file: &file,
        changed: known.and_then(Known::changed),
        tests: known.map(Known::tests).unwrap_or_default(),
        pins: &sources.pins,
    };
    check(text, &facts)
}

fn roots(sources: &Sources) -> Vec<PathBuf> {
    let mut roots = vec![
        sources.cwd.clone(),
        crate::pins::project_folder(&sources.cwd),
        sources.folder.clone(),
        crate::pins::project_folder(&sources.folder),
    ];
    roots.retain(|root| root.is_absolute());
    roots.dedup();
    roots
}

/// A path may be meant from any folder of a project.
fn look(path: &str, roots: &[PathBuf], below: &OnceCell<Option<Vec<PathBuf>>>) -> FileFact {
    let given = Path::new(path);
    if given.is_absolute() {
        return match given.exists() {
            true => FileFact::Known,
            false => FileFact::Missing,
        };
    }
    let there = |folder: &PathBuf| folder.join(given).exists();
    if roots.iter().any(there) {
        return FileFact::Known;
    }
    match below.get_or_init(|| roots.first().and_then(|root| folders(root))) {
        Some(folders) if folders.iter().any(there) => FileFact::Known,
        Some(_) => FileFact::Missing,
        None => FileFact::Unknown,
    }
}

/// The folders below this one. None: there are too many to know.
fn folders(root: &Path) -> Option<Vec<PathBuf>> {
    let mut found: Vec<(PathBuf, usize)> = vec![(root.to_path_buf(), 0)];
    let mut at = 0;
    while let Some((folder, depth)) = found.get(at).cloned() {
        at += 1;
        if depth == DEEPEST {
            continue;
        }
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let own = name.starts_with('.') || matches!(&*name, "node_modules" | "target" | "dist");
            if !own && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push((entry.path(), depth + 1));
            }
        }
        if found.len() > FOLDERS {
            return None;
        }
    }
    Some(found.into_iter().map(|(folder, _)| folder).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_ledger::gate::Level;
    use sm_ledger::{Dialect, Ledger, Reader};

    fn document(line: &str) -> String {
        format!("Goal: ship it\nNext: go on\n\n## State\n{line}\n")
    }

    #[test]
    fn files_may_be_named_from_any_folder_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("repo/web");
        std::fs::create_dir_all(cwd.join("app/src")).unwrap();
        std::fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        std::fs::write(dir.path().join("repo/.git/HEAD"), "").unwrap();
        std::fs::create_dir_all(dir.path().join("repo/docs")).unwrap();
        std::fs::write(cwd.join("app/src/main.ts"), "").unwrap();
        std::fs::write(dir.path().join("repo/docs/plan.md"), "").unwrap();
        let sources = Sources {
            cwd: cwd.clone(),
            folder: "/nowhere".into(),
            ..Sources::default()
        };
        for (line, missing) in [
            ("see app/src/main.ts", false),
            ("see src/main.ts:12", false),
            ("see docs/plan.md", false),
            ("see src/other.ts", true),
            ("see /no/such/file.ts", true),
        ] {
            let report = judge(&document(line), &sources);
            assert_eq!(
                !report.findings.is_empty(),
                missing,
                "{line}: {:?}",
                report.findings
            );
        }
    }

    #[test]
    fn claims_are_held_against_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let lines = [
            r#"{"type":"user","message":{"role":"user","content":"ship it"},"uuid":"u1","timestamp":"2026-01-01T10:00:00Z"}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/w/src/a.rs","old_string":"a","new_string":"b"}}]},"uuid":"a1","timestamp":"2026-01-01T10:00:01Z"}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"uuid":"u2","timestamp":"2026-01-01T10:00:02Z"}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"cargo test"}}]},"uuid":"a2","timestamp":"2026-01-01T10:00:03Z"}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"Exit code 101\ntest retry ... FAILED"}]},"uuid":"u3","timestamp":"2026-01-01T10:00:04Z"}"#,
        ];
        let mut reader = Reader::new(Dialect::Claude);
        let mut ledger = Ledger::default();
        let lines = lines.join("\n") + "\n";
        reader.feed(lines.as_bytes(), &mut |at, record| ledger.add(at, &record));
        let sources = Sources {
            cwd: dir.path().to_path_buf(),
            folder: dir.path().to_path_buf(),
            known: Some(Known::of(&ledger)),
            pins: Vec::new(),
        };
        for (line, expected) in [
            ("Changed src/a.rs; retry fails.", None),
            (
                "All tests pass.",
                Some((Level::Error, "the last run failed: cargo test")),
            ),
            (
                "Changed src/a.rs, one test is broken. Also changed /w/src/b.rs.",
                Some((Level::Warning, "/w/src/b.rs")),
            ),
        ] {
            let report = judge(&document(line), &sources);
            match expected {
                None => assert!(report.findings.is_empty(), "{:?}", report.findings),
                Some((level, text)) => {
                    assert_eq!(report.level(), Some(level), "{:?}", report.findings);
                    assert!(
                        report.findings.iter().any(|f| f.what.contains(text)),
                        "{:?}",
                        report.findings
                    );
                }
            }
        }
    }
}
