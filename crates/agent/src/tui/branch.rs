//! The branch that is checked out, for the status line; read from git's own file, without git.

use std::io::Read;
use std::path::{Path, PathBuf};

use sm_client::files;

use crate::host::Update;

const LONGEST: u64 = 4096;

/// `None` outside of a repository. A detached head is told by the beginning of its commit.
pub(crate) fn branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().find_map(git_folder)?;
    let head = read(&git.join("HEAD"))?;
    let head = head.trim();
    let name = match head.strip_prefix("ref:") {
        Some(reference) => {
            let reference = reference.trim();
            reference.strip_prefix("refs/heads/").unwrap_or(reference)
        }
        None => head.get(..7)?,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

/// After these another branch may be checked out.
pub(crate) fn may_change_branch(update: &Update) -> bool {
    matches!(
        update,
        Update::Started(_) | Update::ToolDone(_) | Update::ShellDone { .. } | Update::TurnEnded(_)
    )
}

/// A work tree has a file there that says where it is.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    if !path.is_file() {
        return None;
    }
    let text = read(&path)?;
    let named = text.trim().strip_prefix("gitdir:")?.trim().to_owned();
    Some(folder.join(named))
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    files::open(path)
        .ok()?
        .take(LONGEST)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_read_wherever_git_keeps_it() {
        let root = tempfile::tempdir().unwrap();
        let repo = root.path().join("repo/deep/er");
        std::fs::create_dir_all(&repo).unwrap();
        assert_eq!(branch(&repo), None);
        let git = root.path().join("repo/.git");
        std::fs::create_dir_all(git.join("worktrees/w")).unwrap();
        for (head, expected) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/fix/one\n", Some("fix/one")),
            (
                "0123456789abcdef0123456789abcdef01234567\n",
                Some("0123456"),
            ),
            ("", None),
        ] {
            std::fs::write(git.join("HEAD"), head).unwrap();
            assert_eq!(branch(&repo).as_deref(), expected, "{head}");
        }
        let tree = root.path().join("tree");
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        std::fs::write(git.join("worktrees/w/HEAD"), "ref: refs/heads/wt\n").unwrap();
        assert_eq!(branch(&tree).as_deref(), Some("wt"));
    }
}
