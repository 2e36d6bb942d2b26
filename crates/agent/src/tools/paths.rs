//! Paths as a model writes them, and what is really there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// How many names of a folder are compared with one that is not there.
const MOST_NAMES: usize = 5_000;
/// How many suggestions are made.
const MOST_SUGGESTIONS: usize = 3;
/// How many links are followed before a path is taken as it is.
const MOST_LINKS: usize = 40;

/// The path that is meant: `~` is the home folder, a relative one counts from `cwd`.
pub(super) fn absolute(cwd: &Path, path: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let meant = match (path.strip_prefix('~'), home()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    };
    cwd.join(meant)
}

/// Where a path leads in the end: links followed, also where what they lead to is not there yet.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut real = PathBuf::from("/");
    let mut links = 0;
    let mut parts: Vec<_> = path.components().rev().map(owned).collect();
    while let Some(part) = parts.pop() {
        match part {
            Part::Root => real = PathBuf::from("/"),
            Part::Up => {
                real.pop();
            }
            Part::Name(name) => {
                real.push(name);
                if links < MOST_LINKS
                    && let Ok(target) = fs::read_link(&real)
                {
                    links += 1;
                    real.pop();
                    parts.extend(target.components().rev().map(owned));
                }
            }
            Part::Nothing => {}
        }
    }
    real
}

enum Part {
    Root,
    Up,
    Name(PathBuf),
    Nothing,
}

fn owned(component: Component<'_>) -> Part {
    match component {
        Component::RootDir | Component::Prefix(_) => Part::Root,
        Component::ParentDir => Part::Up,
        Component::Normal(name) => Part::Name(PathBuf::from(name)),
        Component::CurDir => Part::Nothing,
    }
}

/// A path as it is told: relative where it is inside of `cwd`.
pub(super) fn told(cwd: &Path, path: &Path) -> String {
    let inside = path
        .strip_prefix(cwd)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty());
    inside.unwrap_or(path).to_string_lossy().into_owned()
}

/// Opens a file for reading. Never waits: a pipe, a device or a socket is refused.
pub(super) fn open_file(cwd: &Path, path: &Path) -> Result<(File, Metadata), String> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| trouble(cwd, path, &error))?;
    let metadata = file
        .metadata()
        .map_err(|error| trouble(cwd, path, &error))?;
    check_kind(cwd, path, &metadata)?;
    Ok((file, metadata))
}

/// Refuses what is no file.
pub(super) fn check_kind(cwd: &Path, path: &Path, metadata: &Metadata) -> Result<(), String> {
    let kind = metadata.file_type();
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        return Err(directory(cwd, path));
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "no regular file"
    };
    Err(format!("{} is {what}, not a file", told(cwd, path)))
}

fn directory(cwd: &Path, path: &Path) -> String {
    const MOST: usize = 100;
    let mut names: Vec<String> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST_NAMES)
        .map(|entry| {
            let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                "/"
            } else {
                ""
            };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("\n… and {more} more"),
    };
    names.truncate(MOST);
    let names = if names.is_empty() {
        "it is empty".to_string()
    } else {
        format!("it holds:\n{}", names.join("\n"))
    };
    format!("{} is a directory; {names}{more}", told(cwd, path))
}

/// An error of the system in words, with what may have been meant where nothing is there.
pub(super) fn trouble(cwd: &Path, path: &Path, error: &io::Error) -> String {
    let name = told(cwd, path);
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            let near = suggestions(path);
            if near.is_empty() {
                format!("{name} does not exist")
            } else {
                let near: Vec<String> = near.iter().map(|path| told(cwd, path)).collect();
                format!("{name} does not exist; did you mean {}?", near.join(" or "))
            }
        }
        ErrorKind::PermissionDenied => format!("{name}: no permission"),
        ErrorKind::IsADirectory => directory(cwd, path),
        _ => match error.raw_os_error() {
            Some(libc::ENXIO) => format!("{name} is a socket or a pipe, not a file"),
            Some(libc::ELOOP) => format!("{name} is a link that leads to itself"),
            Some(libc::ENAMETOOLONG) => "the path is too long".to_string(),
            _ => format!("{name}: {error}"),
        },
    }
}

/// What is there and has nearly the same name.
fn suggestions(path: &Path) -> Vec<PathBuf> {
    // The deepest folder that is there, and the name below it that is not.
    let mut missing = path;
    let folder = loop {
        match missing.parent() {
            None => return Vec::new(),
            Some(parent) if parent.is_dir() => break parent,
            Some(parent) => missing = parent,
        }
    };
    let (Some(wanted), Ok(rest)) = (missing.file_name(), path.strip_prefix(missing)) else {
        return Vec::new();
    };
    let wanted = wanted.to_string_lossy().to_lowercase();
    let mut near: Vec<(usize, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST_NAMES)
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let far = distance(&name, &wanted)?;
            let whole = if rest.as_os_str().is_empty() {
                entry.path()
            } else {
                entry.path().join(rest)
            };
            (rest.as_os_str().is_empty() || whole.exists()).then_some((far, whole))
        })
        .collect();
    near.sort();
    near.truncate(MOST_SUGGESTIONS);
    near.into_iter().map(|(_, path)| path).collect()
}

/// How many letters differ, where that is few enough for a slip of the pen.
fn distance(a: &str, b: &str) -> Option<usize> {
    const LONGEST: usize = 64;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let most = (a.len().max(b.len()) / 3).clamp(1, 4);
    if a.len().max(b.len()) > LONGEST || a.len().abs_diff(b.len()) > most {
        return None;
    }
    // Two letters that changed places count as one.
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let mut far = (row[j] + usize::from(a[i] != b[j]))
                .min(row[j + 1] + 1)
                .min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                far = far.min(before[j - 1] + 1);
            }
            next.push(far);
        }
        before = std::mem::replace(&mut row, next);
    }
    Some(row[b.len()]).filter(|far| *far <= most)
}

/// The beginning of a text, at most so many bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `12 B`, `3.4 kB`, `56 MB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_into_the_void() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("in")).unwrap();
        fs::create_dir(root.join("out")).unwrap();
        symlink("../out", root.join("in/away")).unwrap();
        symlink("/nowhere/at/all", root.join("in/void")).unwrap();
        symlink("loop", root.join("in/loop")).unwrap();
        let of = |path: &str| resolved(&root.join(path));
        assert_eq!(of("in/a"), root.join("in/a"));
        assert_eq!(of("in/../x"), root.join("x"));
        assert_eq!(of("in/away/new/file"), root.join("out/new/file"));
        assert_eq!(of("in/away/../x"), root.join("x"));
        assert_eq!(of("in/void/file"), Path::new("/nowhere/at/all/file"));
        assert_eq!(of("in/loop"), root.join("in/loop"));
        assert_eq!(resolved(Path::new("/../..")), Path::new("/"));
    }

    #[test]
    fn a_slip_of_the_pen_is_seen() {
        assert_eq!(distance("main.rs", "mian.rs"), Some(1));
        assert_eq!(distance("main.rs", "mein.tz"), None);
        assert_eq!(distance("main.rs", "main.rs"), Some(0));
        assert_eq!(distance("main.rs", "readme.md"), None);
        assert_eq!(distance("a", "b"), Some(1));
    }

    #[test]
    fn sizes_are_told_shortly() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(999_960), "1.0 MB");
        assert_eq!(size(5_300_000_000), "5.3 GB");
    }
}
