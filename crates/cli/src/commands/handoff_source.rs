//! Where the document of `sm handoff` comes from: a file that can be read as text, or standard input.
//! A file is only looked at here; the daemon reads it.

use std::io::{IsTerminal, Read};
use std::path::{Component, Path, PathBuf};

use crate::error::{CommandError, Result};

/// The most that is looked at here to see whether a file is text; the daemon looks at all of it.
const LOOKED_AT: u64 = 1024 * 1024;
/// More than any configuration takes.
const LARGEST_INPUT: u64 = 16 << 20;

/// A document on standard input. Nobody types one: without a pipe it is not waited for.
pub fn input() -> Result<String> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Err(CommandError::usage(
            "`-` takes the document from standard input, and that is a terminal",
        )
        .hint("sm handoff - < notes.md, or name the file: sm handoff notes.md"));
    }
    let mut bytes = Vec::new();
    input
        .lock()
        .take(LARGEST_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::refused(format!("Cannot read standard input: {error}")))?;
    if bytes.len() as u64 > LARGEST_INPUT {
        return Err(CommandError::refused("the document is too large")
            .hint("keep it short and name other files in it"));
    }
    String::from_utf8(bytes).map_err(|_| {
        CommandError::refused("Not text: standard input is not UTF-8")
            .hint("write the document as plain text")
    })
}

/// The absolute path of a document that can be read as text.
pub fn document(file: &Path) -> Result<String> {
    let path = absolute(file)
        .map_err(|error| CommandError::refused(format!("No absolute path: {error}")))?;
    let shown = path.display();
    let found = match std::fs::metadata(&path) {
        Ok(found) => found,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Err(
                CommandError::refused(format!("File not found: {shown}")).hint(
                    "write the document first; `sm handoff --template` shows what belongs in it",
                ),
            );
        }
        Err(error) => {
            return Err(CommandError::refused(format!(
                "Cannot read {shown}: {error}"
            )));
        }
    };
    // Asked before opening: a pipe would keep us waiting.
    if !found.is_file() {
        let what = if found.is_dir() {
            "a directory"
        } else {
            "no regular file"
        };
        return Err(
            CommandError::refused(format!("Not a file: {shown} is {what}"))
                .hint("name the text file that the next context is to read"),
        );
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes))
        .map_err(|error| CommandError::refused(format!("Cannot read {shown}: {error}")))?;
    if let Some(at) = first_not_text(&bytes) {
        return Err(
            CommandError::refused(format!("Not UTF-8 text: {shown}, at byte {at}"))
                .hint("write the document as plain UTF-8 text"),
        );
    }
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => Err(
            CommandError::refused(format!("The path is not UTF-8: {shown}"))
                .hint("rename the file, so that its path can be written into a prompt"),
        ),
    }
}

/// Against the working directory. `..` is resolved as the system does it, through links.
fn absolute(file: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(file)?;
    if !path.components().any(|part| part == Component::ParentDir) {
        return Ok(path);
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => Ok(parent.join(name)),
        (Some(Ok(_) | Err(_)) | None, _) => Ok(path),
    }
}

/// Where it stops being UTF-8; a character that our look cut in two is fine.
fn first_not_text(bytes: &[u8]) -> Option<usize> {
    let error = std::str::from_utf8(bytes).err()?;
    let cut = error.error_len().is_none() && bytes.len() as u64 == LOOKED_AT;
    (!cut).then(|| error.valid_up_to())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_what_is_not() {
        let whole = vec![b'a'; LOOKED_AT as usize];
        let mut cut = whole.clone();
        cut[LOOKED_AT as usize - 1] = 0xc3;
        for (bytes, at) in [
            (&b""[..], None),
            (b"plain", None),
            ("ü → 日".as_bytes(), None),
            (b"ab\xffcd", Some(2)),
            (b"ab\xc3", Some(2)),
            (&whole, None),
            (&cut, None),
        ] {
            assert_eq!(first_not_text(bytes), at);
        }
    }

    #[test]
    fn paths_become_absolute() {
        let cwd = std::env::current_dir().unwrap();
        for (given, absolute_path) in [
            ("notes.md", cwd.join("notes.md")),
            ("./a/notes.md", cwd.join("a/notes.md")),
            ("/x/notes.md", PathBuf::from("/x/notes.md")),
            (
                "../notes.md",
                cwd.parent()
                    .unwrap()
                    .canonicalize()
                    .unwrap()
                    .join("notes.md"),
            ),
            // no such directory: as it is
            (
                "/nowhere/../notes.md",
                PathBuf::from("/nowhere/../notes.md"),
            ),
        ] {
            assert_eq!(absolute(Path::new(given)).unwrap(), absolute_path);
        }
    }
}
