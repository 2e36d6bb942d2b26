//! Writing a whole file, and the way in which every tool of ours changes a file: all or nothing.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use similar::TextDiff;

use super::ToolContext;
use super::args::Args;
use super::outcome::{ToolOutcome, blocking};
use super::paths::{self, cut};

/// What is shown of a change.
const LONGEST_DIFF: usize = 20_000;
/// Larger files are changed without showing how.
const LARGEST_COMPARED: u64 = 1_000_000;
/// How long two texts are compared before the rest is taken as changed.
const PATIENCE: Duration = Duration::from_millis(200);

pub(super) async fn run(
    args: Args<'_>,
    context: &mut ToolContext<'_>,
) -> Result<ToolOutcome, String> {
    let cwd = context.cwd.to_path_buf();
    let path = paths::absolute(&cwd, args.path("path")?);
    let content = args.text("content")?.to_string();
    blocking(context.cancel, move || write(&cwd, &path, &content)).await
}

fn write(cwd: &Path, path: &Path, content: &str) -> Result<ToolOutcome, String> {
    let name = paths::told(cwd, path);
    let before = match paths::open_file(cwd, path) {
        Ok((mut file, metadata)) => Some(previous(&mut file, metadata.len())),
        // Not there: that is what writing is for. Not to be read: then not to be shown either.
        Err(_) if !path.exists() => None,
        Err(trouble) => match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Some(None),
            Ok(_) | Err(_) => return Err(trouble),
        },
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| paths::trouble(cwd, parent, &error))?;
    }
    replace(path, content.as_bytes()).map_err(|error| paths::trouble(cwd, path, &error))?;
    let lines = content.lines().count();
    let size = paths::size(content.len() as u64);
    let (done, created) = match &before {
        None => ("made", true),
        Some(_) => ("replaced", false),
    };
    let shown = before
        .flatten()
        .and_then(|before| diff(&before, content, &name));
    Ok(
        ToolOutcome::text(format!("{done} {name} ({lines} lines, {size})")).with(json!({
            "path": name,
            "created": created,
            "diff": shown,
        })),
    )
}

/// What a file held, where that is text of a size to compare.
fn previous(file: &mut File, length: u64) -> Option<String> {
    if length > LARGEST_COMPARED {
        return None;
    }
    let mut text = String::new();
    file.take(LARGEST_COMPARED).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What changed, as a person reads it; nothing for what is too large.
pub(super) fn diff(before: &str, after: &str, name: &str) -> Option<String> {
    if before.len().max(after.len()) as u64 > LARGEST_COMPARED {
        return None;
    }
    let text = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(name, name)
        .to_string();
    if text.len() > LONGEST_DIFF {
        return Some(format!("{}\n…", cut(&text, LONGEST_DIFF)));
    }
    Some(text)
}

/// Puts `bytes` in the place of what a file holds: whole, or not at all. A link is followed; the
/// mode is kept.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = paths::resolved(path);
    let before = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(before) = &before {
        // A file that must not be written is not replaced by one that may.
        let file = OpenOptions::new()
            .append(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&target)?;
        drop(file);
        if before.nlink() > 1 {
            // Its other names must stay names of it.
            return in_place(&target, bytes);
        }
    }
    let temporary = match beside(&target, bytes) {
        Ok(temporary) => temporary,
        // The folder may be closed to us while the file is not.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && before.is_some() => {
            return in_place(&target, bytes);
        }
        Err(error) => return Err(error),
    };
    let placed = match &before {
        Some(before) => fs::set_permissions(
            &temporary,
            Permissions::from_mode(before.permissions().mode() & 0o7777),
        ),
        None => Ok(()),
    }
    .and_then(|()| fs::rename(&temporary, &target));
    if placed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    placed
}

fn in_place(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(target)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A new file with these bytes, in the same folder.
fn beside(target: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    for number in 0..100 {
        let path = folder.join(format!(".sm-{}-{number}.new", std::process::id()));
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        return match file.write_all(bytes).and_then(|()| file.sync_all()) {
            Ok(()) => Ok(path),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        };
    }
    Err(ErrorKind::AlreadyExists.into())
}
