//! Whose work a handoff is: the repository it was made in, or the folder where there is none.

use sm_client::repository;
use std::path::{Path, PathBuf};

/// The root of the repository that holds this folder, or the folder itself. A worktree is by itself:
/// its work is another one.
pub fn owner_of(folder: &Path) -> PathBuf {
    repository::root_of(folder).unwrap_or(folder).to_path_buf()
}

/// Whether what was made in one folder belongs to the work in another one.
pub fn is_same_work(made_in: &Path, here: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    made_in.is_absolute() && owner_of(&real(made_in)) == owner_of(&real(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_one_place_and_a_folder_without_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let at = |path: &str| dir.join(path);
        for folder in [
            "app/.git",
            "app/src/deep",
            "other/.git",
            "loose/inner",
            "tree",
        ] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for repository in ["app", "other"] {
            std::fs::write(at(repository).join(".git/HEAD"), "").unwrap();
        }
        std::fs::write(at("tree/.git"), "gitdir: ../app/.git/worktrees/tree").unwrap();
        std::os::unix::fs::symlink(at("app"), at("link")).unwrap();
        assert_eq!(owner_of(&at("app/src/deep")), at("app"));
        assert_eq!(owner_of(&at("loose/inner")), at("loose/inner"));
        for (made, here, same) in [
            ("app", "app/src/deep", true),
            ("app/src", "app", true),
            ("link/src", "app", true),
            ("app", "other", false),
            ("app", "tree", false),
            ("loose", "loose/inner", false),
            ("loose/inner", "loose/inner", true),
            ("gone", "app", false),
        ] {
            assert_eq!(is_same_work(&at(made), &at(here)), same, "{made}, {here}");
        }
        assert!(!is_same_work(Path::new(""), &at("app")));
    }
}
