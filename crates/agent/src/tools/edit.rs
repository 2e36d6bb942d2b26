//! Changing a part of a file: exactly what is named, in exactly one place.
//!
//! It works on bytes: what is not touched stays as it is, whatever its encoding. Line ends are the
//! file's own, a mark at its beginning is kept.

use std::io::Read;
use std::path::Path;

use memchr::memmem;
use serde_json::json;

use super::ToolContext;
use super::args::Args;
use super::outcome::{ToolOutcome, blocking};
use super::paths::{self, cut, size};
use super::write;

const LARGEST: u64 = 50_000_000;
/// How many places are named where there are too many.
const MOST_PLACES: usize = 10;

struct Wanted {
    old: String,
    new: String,
    all: bool,
}

pub(super) async fn run(
    args: Args<'_>,
    context: &mut ToolContext<'_>,
) -> Result<ToolOutcome, String> {
    let cwd = context.cwd.to_path_buf();
    let path = paths::absolute(&cwd, args.path("path")?);
    let wanted = Wanted {
        old: args.text("old_text")?.to_string(),
        new: args.text("new_text")?.to_string(),
        all: args.flag("replace_all")?,
    };
    if wanted.old.is_empty() {
        return Err(args.complaint(
            "old_text",
            "must not be empty; use write to make a new file",
        ));
    }
    if wanted.old == wanted.new {
        return Err("edit: old_text and new_text are the same: nothing to change".to_string());
    }
    blocking(context.cancel, move || edit(&cwd, &path, &wanted)).await
}

fn edit(cwd: &Path, path: &Path, wanted: &Wanted) -> Result<ToolOutcome, String> {
    let (file, metadata) = paths::open_file(cwd, path)?;
    let name = paths::told(cwd, path);
    if metadata.len() > LARGEST {
        return Err(format!(
            "{name} is {}: too large to edit (at most {}); use bash (sed) instead",
            size(metadata.len()),
            size(LARGEST)
        ));
    }
    let mut before = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut before)
        .map_err(|error| paths::trouble(cwd, path, &error))?;
    let change = change(&before, wanted).map_err(|what| format!("{name}: {what}"))?;
    write::replace(path, &change.after).map_err(|error| paths::trouble(cwd, path, &error))?;
    let diff = match (str::from_utf8(&before), str::from_utf8(&change.after)) {
        (Ok(before), Ok(after)) => write::diff(before, after, &name),
        _ => None,
    };
    let places = match change.lines.as_slice() {
        [line] => format!("at line {line}"),
        lines => format!("in {} places", lines.len()),
    };
    Ok(
        ToolOutcome::text(format!("edited {name} {places}")).with(json!({
            "path": name,
            "firstChangedLine": change.lines.first(),
            "replaced": change.lines.len(),
            "diff": diff,
        })),
    )
}

struct Change {
    after: Vec<u8>,
    /// Where, in the file as it was.
    lines: Vec<usize>,
}

/// Pure: the file with the change made, or why it cannot be.
fn change(before: &[u8], wanted: &Wanted) -> Result<Change, String> {
    let (old, new, places) = located(before, wanted);
    match places.len() {
        0 => return Err(not_found(before, &wanted.old)),
        1 => {}
        _ if wanted.all => {}
        count => {
            let lines: Vec<String> = places
                .iter()
                .take(MOST_PLACES)
                .map(|at| line_of(before, *at).to_string())
                .collect();
            let more = if count > MOST_PLACES { ", …" } else { "" };
            return Err(format!(
                "old_text is there {count} times, at lines {}{more}: take more lines around the one that is meant, or set replace_all",
                lines.join(", ")
            ));
        }
    }
    let mut after = Vec::with_capacity(before.len() + new.len());
    let mut from = 0;
    for at in &places {
        after.extend_from_slice(&before[from..*at]);
        after.extend_from_slice(new.as_bytes());
        from = at + old.len();
    }
    after.extend_from_slice(&before[from..]);
    Ok(Change {
        lines: places.iter().map(|at| line_of(before, *at)).collect(),
        after,
    })
}

/// Where the text is, and how old and new are spelt with the file's line ends.
fn located(before: &[u8], wanted: &Wanted) -> (String, String, Vec<usize>) {
    let find = |text: &str| -> Vec<usize> { memmem::find_iter(before, text).collect() };
    let newlines = memchr::memchr_iter(b'\n', before).count();
    let both = memmem::find_iter(before, "\r\n").count();
    let dos = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    if both > 0 && both == newlines {
        let old = dos(&wanted.old);
        let places = find(&old);
        return (old, dos(&wanted.new), places);
    }
    let places = find(&wanted.old);
    if places.is_empty() && both > 0 {
        // Some lines end this way, some that way: those in question all do.
        let old = dos(&wanted.old);
        let places = find(&old);
        if !places.is_empty() {
            return (old, dos(&wanted.new), places);
        }
    }
    (wanted.old.clone(), wanted.new.clone(), places)
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &bytes[..at]).count()
}

/// Says what comes nearest.
fn not_found(before: &[u8], old: &str) -> String {
    let text = String::from_utf8_lossy(before);
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = old
        .lines()
        .map(plain)
        .filter(|line| !line.is_empty())
        .collect();
    let Some(first) = wanted.first() else {
        return "old_text is not in the file".to_string();
    };
    let lines: Vec<(usize, String)> = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, plain(line)))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let same_but_space = lines
        .windows(wanted.len())
        .find(|window| window.iter().map(|(_, line)| line).eq(&wanted));
    if let Some([(line, _), ..]) = same_but_space {
        return format!(
            "old_text is not in the file as given, but at line {line} it would be with other white space: read that part again and copy it exactly"
        );
    }
    if let Some((line, _)) = lines.iter().find(|(_, line)| line == first) {
        return format!(
            "old_text is not in the file: its first line is, at line {line}, but what follows is different; read that part again"
        );
    }
    format!(
        "old_text is not in the file, nor is its first line {:?}; read the file again",
        cut(first, 100)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
        let wanted = Wanted {
            old: old.into(),
            new: new.into(),
            all,
        };
        change(before.as_bytes(), &wanted).map(|c| String::from_utf8(c.after).unwrap())
    }

    #[test]
    fn one_place_is_changed_and_nothing_else() {
        let table = [
            ("a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n"),
            ("a\nb", "a\nb", "", ""),
            // the file's line ends
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
            ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
            ("a\r\nb\r\n", "a\r\nb", "c\r\nd", "c\r\nd\r\n"),
            ("a\nb\r\nc\r\n", "b\nc", "x\ny", "a\nx\r\ny\r\n"),
            ("a\nb\r\nc\n", "a", "x\ny", "x\ny\nb\r\nc\n"),
            // a mark at the beginning
            ("\u{feff}a\n", "a", "b", "\u{feff}b\n"),
        ];
        for (before, old, new, after) in table {
            assert_eq!(
                changed(before, old, new, false).unwrap(),
                after,
                "{before:?}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay_as_they_are() {
        let wanted = Wanted {
            old: "b".into(),
            new: "c".into(),
            all: false,
        };
        let change = change(b"\xff\xfea b \xc3", &wanted).unwrap();
        assert_eq!(change.after, b"\xff\xfea c \xc3");
    }

    #[test]
    fn every_place_is_changed_on_request() {
        assert_eq!(changed("a b a", "a", "aa", true).unwrap(), "aa b aa");
        assert_eq!(changed("aaaa", "aa", "b", true).unwrap(), "bb");
    }

    #[test]
    fn what_cannot_be_changed_is_explained() {
        let table = [
            ("x\na\na\n", "a", "2 times, at lines 2, 3:"),
            (
                &"a\n".repeat(12),
                "a",
                "at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …",
            ),
            (
                "x\n\tif a {\n\t  b\n",
                "if a {\n    b\n",
                "at line 2 it would be with other white space",
            ),
            (
                "x\nif a {\nc\n",
                "if a {\nb\n",
                "its first line is, at line 2, but what follows is different",
            ),
            ("x\n", "quux", "nor is its first line \"quux\""),
            ("x\n", "\n\n\n", "not in the file"),
            ("", "a\nb", "not in the file"),
        ];
        for (before, old, wanted) in table {
            let said = changed(before, old, "new", false).unwrap_err();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
