//! What a person has sent before, to be found again with Up.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// So many are kept.
const MOST: usize = 500;
/// And of each at most so many bytes; a longer one is no longer typed text.
const LONGEST: usize = 16 << 10;

#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// Which one is in the editor, and what was being written before.
    at: Option<(usize, String)>,
    file: Option<PathBuf>,
}

impl History {
    /// Reads the file; one that is not there or is damaged is no history.
    pub fn open(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut entries: Vec<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let from = entries.len().saturating_sub(MOST);
        entries.drain(..from);
        if from > MOST {
            // The file has grown to twice what is of use.
            let _ = rewrite(&file, &entries);
        }
        Self {
            entries,
            at: None,
            file: Some(file),
        }
    }

    /// Remembers a text; the same one twice in a row only once.
    pub fn add(&mut self, text: &str) {
        self.at = None;
        let known = self.entries.last().is_some_and(|last| last == text);
        if known || text.trim().is_empty() || text.len() > LONGEST {
            return;
        }
        self.entries.push(text.to_owned());
        if let Some(file) = &self.file {
            // A history that cannot be kept is no reason to stop.
            let _ = append(file, text);
        }
    }

    /// The one before; `draft` is what stands in the editor now.
    pub fn older(&mut self, draft: &str) -> Option<&str> {
        let (at, draft) = match self.at.take() {
            Some((at, kept)) => (at, kept),
            None => (self.entries.len(), draft.to_owned()),
        };
        let older = at.checked_sub(1);
        self.at = Some((older.unwrap_or(at), draft)).filter(|(at, _)| *at < self.entries.len());
        self.entries.get(older?).map(String::as_str)
    }

    /// The one after, and after the last what was being written.
    pub fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.at.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                let entry = entry.clone();
                self.at = Some((at + 1, draft));
                Some(entry)
            }
            None => Some(draft),
        }
    }

    /// The text in the editor is the person's own again.
    pub fn leave(&mut self) {
        self.at = None;
    }
}

fn line(text: &str) -> String {
    format!("{}\n", serde_json::Value::from(text))
}

fn append(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(line(text).as_bytes())
}

fn rewrite(file: &Path, entries: &[String]) -> std::io::Result<()> {
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    let mut fresh = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    let text: String = entries.iter().map(|entry| line(entry)).collect();
    fresh.write_all(text.as_bytes())?;
    std::fs::rename(temporary, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn going_back_and_forth_keeps_what_was_being_written() {
        let mut history = History::default();
        assert_eq!(history.older("draft"), None);
        history.add("one");
        history.add("two");
        history.add("two");
        assert_eq!(history.older("draft"), Some("two"));
        assert_eq!(history.older("two"), Some("one"));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn it_is_kept_for_the_person_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/er/history");
        let mut history = History::open(file.clone());
        history.add("one\nand a half");
        history.add("  ");
        history.add(&"x".repeat(LONGEST + 1));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .unwrap()
            .write_all(b"torn \"li")
            .unwrap();
        let mut again = History::open(file);
        assert_eq!(again.older(""), Some("one\nand a half"));
        assert_eq!(again.older(""), None);
    }

    #[test]
    fn a_file_that_has_grown_too_long_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let text: String = (0..3 * MOST).map(|n| line(&n.to_string())).collect();
        std::fs::write(&file, text).unwrap();
        let mut history = History::open(file.clone());
        let last = (3 * MOST - 1).to_string();
        assert_eq!(history.older(""), Some(last.as_str()));
        let kept = std::fs::read_to_string(&file).unwrap();
        assert_eq!(kept.lines().count(), MOST);
    }
}
