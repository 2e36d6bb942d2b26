//! Which git repository a folder lies in.

use std::path::Path;

/// How far up a repository is looked for.
const DEEPEST: usize = 64;

/// The root of the repository or work tree that holds this folder.
pub fn root_of(folder: &Path) -> Option<&Path> {
    folder
        .ancestors()
        .take(DEEPEST)
        .find(|folder| is_root(folder))
}

/// A work tree has a file there. An empty folder is none: Codex's sandbox leaves one in `/tmp`.
fn is_root(folder: &Path) -> bool {
    let git = folder.join(".git");
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_git_folder_is_no_repository() {
        let dir = std::env::temp_dir().join(format!("sm-repository-{}", std::process::id()));
        let inner = dir.join("inner/deep");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(dir.join(".git")).unwrap();
        assert_eq!(root_of(&inner), None);
        std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(root_of(&inner), Some(dir.as_path()));
        std::fs::write(dir.join("inner/.git"), "gitdir: ../.git/worktrees/inner").unwrap();
        assert_eq!(root_of(&inner), Some(dir.join("inner").as_path()));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
