//! Real transcripts to measure with, if a folder of them was given. Must never write one down.

use std::path::PathBuf;
use std::sync::OnceLock;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Takes `--corpus FOLDER` out of the arguments.
pub fn take(words: &mut Vec<String>) {
    if let Some(at) = words.iter().position(|word| word == "--corpus") {
        words.remove(at);
        if at < words.len() {
            // the first one counts
            let _ = FOLDER.set(PathBuf::from(words.remove(at)));
        }
    }
}

/// The transcripts in the folder, in the order of their names. None without a folder.
pub fn files() -> crate::Result<Vec<PathBuf>> {
    let Some(folder) = FOLDER.get() else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
