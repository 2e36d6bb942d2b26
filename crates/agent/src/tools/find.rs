//! Finding files by their paths.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ToolContext;
use super::args::Args;
use super::outcome::{ToolOutcome, Trickle, streaming};
use super::paths;
use super::walk::{self, Ended, Next, Stop};

const DEFAULT: u64 = 1_000;
const MOST: u64 = 10_000;
const MOST_BYTES: usize = 50_000;

pub(super) async fn run(
    args: Args<'_>,
    context: &mut ToolContext<'_>,
) -> Result<ToolOutcome, String> {
    let cwd = context.cwd.to_path_buf();
    let pattern = args.path("pattern")?.to_string();
    let root = folder(args, &cwd)?;
    let limit = args.maybe_count("limit")?.unwrap_or(DEFAULT).min(MOST);
    let cancel = context.cancel.clone();
    streaming(context, move |trickle| {
        find(&cwd, &root, (&pattern, limit), &cancel, trickle)
    })
    .await
}

/// The folder or file that is looked at: the working directory unless another is named.
pub(super) fn folder(args: Args<'_>, cwd: &Path) -> Result<PathBuf, String> {
    match args.maybe_text("path")? {
        None | Some("" | ".") => Ok(cwd.to_path_buf()),
        Some(_) => Ok(paths::absolute(cwd, args.path("path")?)),
    }
}

fn find(
    cwd: &Path,
    root: &Path,
    (pattern, limit): (&str, u64),
    cancel: &CancellationToken,
    mut trickle: Trickle,
) -> Result<ToolOutcome, String> {
    let metadata = std::fs::metadata(root).map_err(|error| paths::trouble(cwd, root, &error))?;
    if !metadata.is_dir() {
        return Err(format!("{} is not a directory", paths::told(cwd, root)));
    }
    let glob = walk::glob(root, pattern)?;
    let mut found = 0;
    let mut text = String::new();
    let ended = walk::walk(root, &Stop::new(cancel), |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        if entry.depth() == 0 || !glob.matched(entry.path(), is_dir).is_whitelist() {
            return Next::Go;
        }
        if found == limit || text.len() > MOST_BYTES {
            return Next::Stop;
        }
        found += 1;
        text.push_str(&paths::told(cwd, entry.path()));
        text.push_str(if is_dir { "/\n" } else { "\n" });
        trickle.look(&text);
        Next::Go
    });
    if ended == Ended::Cancelled {
        return Ok(ToolOutcome::cancelled());
    }
    if found == 0 {
        text = "nothing found\n".to_string();
    }
    let more = (ended == Ended::Enough)
        .then(|| format!("the first {found}; there are more: give a narrower pattern or path"));
    if let Some(note) = more.or_else(|| ended.note()) {
        text.push_str(&format!("[{note}]"));
    }
    Ok(ToolOutcome::text(text.trim_end()).with(json!({
        "found": found,
        "truncated": ended != Ended::All,
    })))
}
