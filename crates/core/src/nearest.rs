//! Which known word a mistyped one was meant to be. Pure.

/// Edits (a letter added, left out, replaced, or swapped with its neighbour) between two words.
/// Only the first 64 characters count, so that a long input costs nothing.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let other = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + other);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row[j] = least;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

/// The known key nearest to a mistyped one. A right name in the wrong table is near; so is a
/// misspelt name in the right one.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    fn last(path: &str) -> &str {
        path.rsplit_once('.').map_or(path, |(_, name)| name)
    }
    fn table(path: &str) -> &str {
        path.rsplit_once('.').map_or("", |(table, _)| table)
    }
    known.into_iter().min_by_key(|path| {
        let whole = distance(wrong, path);
        let elsewhere =
            1 + usize::from(!table(wrong).is_empty()) + distance(last(wrong), last(path));
        let here = if table(wrong) == table(path) {
            distance(last(wrong), last(path))
        } else {
            usize::MAX
        };
        whole.min(elsewhere).min(here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("port", "port", 0),
            ("prot", "port", 1),
            ("por", "port", 1),
            ("sport", "port", 1),
            ("PORT", "port", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("ä", "a", 1),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn a_long_word_is_cut() {
        assert_eq!(distance(&"x".repeat(100_000), ""), 64);
    }
}
