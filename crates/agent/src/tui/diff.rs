//! What an edit changes, as lines with their signs.

use similar::{ChangeTag, TextDiff};

use super::highlight::diff_role;
use super::line::{Line, indent, wrap_hard};
use super::look::{Role, Style};
use super::text::clean;

/// Beyond that a comparison takes longer than a person waits; the new text is shown alone then.
const LONGEST: usize = 200 << 10;

/// A diff that somebody else made: each line by its first sign.
pub(crate) fn made(text: &str, columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    for line in text.lines() {
        // The names of the files are known already.
        if line.starts_with("--- ") || line.starts_with("+++ ") {
            continue;
        }
        out.extend(signed(line, columns));
    }
    out
}

/// The difference of two texts, with a line around each change.
pub(crate) fn between(old: &str, new: &str, columns: usize) -> Vec<Line> {
    if old.len() + new.len() > LONGEST {
        return new
            .lines()
            .flat_map(|line| signed(&format!("+{line}"), columns))
            .collect();
    }
    let diff = TextDiff::from_lines(old, new);
    let mut out = Vec::new();
    for (index, group) in diff.grouped_ops(1).iter().enumerate() {
        if index > 0 {
            out.extend(signed("@@", columns));
        }
        for op in group {
            for change in diff.iter_changes(op) {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                let text = change.value().trim_end_matches(['\n', '\r']);
                out.extend(signed(&format!("{sign}{text}"), columns));
            }
        }
    }
    out
}

fn signed(line: &str, columns: usize) -> Vec<Line> {
    let style = match diff_role(line) {
        Role::Accent => Style::from(Role::Faint),
        role => Style::from(role),
    };
    let line = Line::of(clean(line), style);
    wrap_hard(&line, columns.max(10), &indent(2), &indent(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn signs_tell_without_colours() {
        let lines = between("a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", 40);
        assert_eq!(texts(&lines), ["   a", "  -b", "  +B", "   c"]);
        let lines = made("--- a\n+++ b\n@@ -1 +1 @@\n-x\x1b[2J\n+y\n", 40);
        assert_eq!(texts(&lines), ["  @@ -1 +1 @@", "  -x", "  +y"]);
    }
}
