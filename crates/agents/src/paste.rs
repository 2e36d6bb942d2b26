//! Whether a text survives being pasted into an agent's composer: each agent says it for its own.

pub use sm_core::profile::PasteFit;

/// A sign of what was pasted is not longer.
const LONGEST_SIGN: usize = 60;

/// A draft with what was pasted in the place of its signs, each text once; a sign for which there
/// is none stays.
pub(crate) fn restored(
    draft: &str,
    pasted: &[String],
    stands_for: fn(&str, &str) -> bool,
) -> String {
    let mut left: Vec<&String> = pasted.iter().collect();
    let mut text = String::new();
    let mut rest = draft;
    while let Some(at) = rest.find("[Pasted ") {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let end = from.find(']').filter(|end| *end < LONGEST_SIGN);
        let (sign, after) = from.split_at(end.map_or(1, |end| end + 1));
        // The last that fit are those that are still there.
        let signs = from.matches("[Pasted ").count();
        let fit: Vec<usize> = (0..left.len())
            .filter(|n| left.get(*n).is_some_and(|text| stands_for(sign, text)))
            .collect();
        match fit.get(fit.len().saturating_sub(signs)) {
            Some(n) => text.push_str(left.remove(*n)),
            None => text.push_str(sign),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use crate::{claude, codex};

    #[test]
    fn signs_become_what_was_pasted() {
        let pasted = ["a\nb\nc\n", "x\ny\nz\n", "w".repeat(5).as_str()].map(str::to_owned);
        let claude = claude::screen::stands_for;
        for (draft, expected) in [
            ("plain", "plain"),
            (
                "see [Pasted text #1 +3 lines] and [Pasted text #2 +3 lines]!",
                "see a\nb\nc\n and x\ny\nz\n!",
            ),
            ("[Pasted text #7 +3 lines]", "x\ny\nz\n"),
            ("[Pasted text #1 +9 lines]", "[Pasted text #1 +9 lines]"),
            ("[Pasted text #3]", "wwwww"),
            ("[Pasted and more", "[Pasted and more"),
        ] {
            assert_eq!(super::restored(draft, &pasted, claude), expected, "{draft}");
        }
        let codex = codex::screen::stands_for;
        let text = super::restored("[Pasted Content 5 chars] go", &pasted, codex);
        assert_eq!(text, "wwwww go");
    }
}
