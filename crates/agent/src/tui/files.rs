//! The files of a project, to complete `@` with: what `.gitignore` names is left out, and so is
//! whatever comes after many files or much time.

use std::path::Path;
use std::time::{Duration, Instant};

const MOST: usize = 20_000;
const LONGEST: Duration = Duration::from_millis(1_500);

/// Relative to the folder; folders end with a slash.
pub(crate) fn list(folder: &Path) -> Vec<String> {
    let until = Instant::now() + LONGEST;
    let walk = ignore::WalkBuilder::new(folder)
        .max_depth(Some(12))
        .follow_links(false)
        .require_git(false)
        .build();
    let mut out = Vec::new();
    for entry in walk.flatten() {
        let Ok(path) = entry.path().strip_prefix(folder) else {
            continue;
        };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        // A name that is no text, or that would not survive being shown, cannot be typed either.
        if let Some(name) = path
            .to_str()
            .filter(|n| !n.is_empty() && !n.contains(char::is_control))
        {
            out.push(format!("{name}{}", if is_folder { "/" } else { "" }));
        }
        if out.len() >= MOST || Instant::now() > until {
            break;
        }
    }
    out.sort_unstable();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".gitignore", "target\n*.log\n");
        write("src/main.rs", "");
        write("target/debug/x", "");
        write("build.log", "");
        write("we\nird", "");
        assert_eq!(list(folder.path()), ["src/", "src/main.rs"]);
    }
}
