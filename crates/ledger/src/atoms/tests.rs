use super::*;
use proptest::prelude::*;
use regex::Regex;
use std::collections::BTreeSet;

fn all(text: &str) -> Vec<&str> {
    let mut list = Vec::new();
    // `found` borrows for the call only: the text is looked up again by its place.
    let base = text.as_ptr() as usize;
    atoms(text, &mut |atom| {
        let from = atom.as_ptr() as usize - base;
        list.push(&text[from..from + atom.len()]);
    });
    list
}

/// The same by regular expressions; the look-ahead of the hash is done by hand.
struct Patterns {
    path: Regex,
    ident: Regex,
    hash: Regex,
}

impl Patterns {
    fn new() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).unwrap();
        Self {
            path: regex(r"(?:[\w.\-]+/)+[\w.\-]+\.[A-Za-z]\w{0,5}"),
            ident: regex(
                r"\b(?:[A-Za-z]+_[A-Za-z0-9_]{4,}|[a-z]+[A-Z][A-Za-z0-9]{5,}|[A-Z][a-z]+[A-Z][A-Za-z0-9]{4,})\b",
            ),
            hash: regex(r"\b[0-9a-f]{7,40}\b"),
        }
    }

    fn all<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut list = Vec::new();
        for path in self.path.find_iter(text).map(|m| m.as_str()) {
            let cut = path.rmatch_indices('/').nth(1);
            list.push(cut.map_or(path, |(at, _)| &path[at + 1..]));
        }
        list.extend(self.ident.find_iter(text).map(|m| m.as_str()));
        let mixed = |hash: &&str| {
            hash.contains(|c: char| c.is_ascii_digit())
                && hash.contains(|c: char| c.is_ascii_lowercase())
        };
        list.extend(self.hash.find_iter(text).map(|m| m.as_str()).filter(mixed));
        list
    }
}

#[test]
fn what_is_an_atom() {
    let hash40 = "0123456789abcdef0123456789abcdef01234567";
    let hash41 = format!("{hash40}8");
    for (text, expected) in [
        ("", vec![]),
        ("nothing to see here", vec![]),
        // identifiers
        (
            "my_name my_nam a_bcde a_bcd _my_name my__name 9my_name",
            vec!["my_name", "a_bcde", "my__name"],
        ),
        ("MAX_SIZE x_1234 x1_2345", vec!["MAX_SIZE", "x_1234"]),
        (
            "camelCasing camelCases aBcdefg aBcdef",
            vec!["camelCasing", "aBcdefg"],
        ),
        (
            "camelCase5s snakeX12345 getX",
            vec!["camelCase5s", "snakeX12345"],
        ),
        (
            "PascalCased PascalCase PaBcdef PaBcde PBcdefgh",
            vec!["PascalCased", "PaBcdef"],
        ),
        ("HTTPServer httpServers XMLHttp", vec!["httpServers"]),
        ("éname_long name_longé na_me.name_long", vec!["name_long"]),
        (
            "\u{301}name_long name_more\u{301}",
            vec!["name_long", "name_more"],
        ),
        ("(get_value)[set_value]", vec!["get_value", "set_value"]),
        // hashes
        (
            "deadbee deadbe1 1234567 abcdef0",
            vec!["deadbe1", "abcdef0"],
        ),
        ("dead be1 DEADBE12 deadbe1g xdeadbe1", vec![]),
        (hash40, vec![hash40]),
        (&hash41, vec![]),
        ("deadbe1-deadbe2 deadbe3é", vec!["deadbe1", "deadbe2"]),
        // paths
        ("src/main.rs", vec!["src/main.rs"]),
        ("/a/b/c/d.rs:12", vec!["c/d.rs"]),
        ("main.rs src/main src/.rs a/.b.rs", vec!["a/.b.rs"]),
        ("a/b.c/d e/f.g/h.i/", vec!["a/b.c", "f.g/h.i"]),
        ("a//b.c x//y/z.c", vec!["y/z.c"]),
        ("a/b.toolongext", vec!["a/b.toolon"]),
        ("a/b.tar.gz a/b.1 a/b.c.1", vec!["a/b.tar.gz", "a/b.c"]),
        ("../x.py ./y.py ~/z.py", vec!["../x.py", "./y.py"]),
        ("https://example.org/one/two.html?x", vec!["one/two.html"]),
        ("https://example.org/", vec![]),
        ("dé/naïve.pyé x/ü.ab\u{301}", vec!["dé/naïve.pyé", "x/ü.ab"]),
        ("名/前.rs →a/b.c→", vec!["名/前.rs", "a/b.c"]),
        ("a/b.éc a/b.cééééééé", vec!["a/b.cééééé"]),
        ("src/my_module.rs", vec!["my_module", "src/my_module.rs"]),
        ("a/b.c/…", vec!["a/b.c"]),
    ] {
        let mut got = all(text);
        let mut want = expected.clone();
        got.sort_unstable();
        want.sort_unstable();
        assert_eq!(got, want, "{text}");
    }
}

/// Built from what the patterns speak of, so that near misses are frequent.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,8}",
        2 => "[A-Z]",
        2 => "[0-9a-f]{1,20}",
        2 => "_",
        3 => "/",
        3 => "\\.",
        1 => "-",
        2 => "[ \n\"(:]",
        1 => "[éß名½→…🦀\u{301}]",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// What `regex` counts as a word and we, with Python, do not: marks, joiners, connecting punctuation.
fn same_to_both(c: char, word: &Regex) -> bool {
    is_word(c) == word.is_match(c.encode_utf8(&mut [0; 4]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn equal_to_the_patterns(text in texts()) {
        thread_local! {
            static PATTERNS: (Patterns, Regex) = (Patterns::new(), Regex::new(r"^\w$").unwrap());
        }
        PATTERNS.with(|(patterns, word)| {
            let text: String = text.chars().filter(|&c| same_to_both(c, word)).collect();
            let (mut got, mut want) = (all(&text), patterns.all(&text));
            got.sort_unstable();
            want.sort_unstable();
            prop_assert_eq!(got, want);
            Ok(())
        })?;
    }

    #[test]
    fn lists_of_lines_hold_the_atoms_of_their_lines(lines in prop::collection::vec(texts(), 0..5)) {
        let together = lines.join("\n");
        let each: BTreeSet<&str> = lines.iter().flat_map(|line| all(line)).collect();
        let whole: BTreeSet<&str> = all(&together).into_iter().collect();
        prop_assert_eq!(each, whole);
    }
}
