//! Inputs: recordings of the real programs, and what chance makes of them.

use std::path::Path;

/// A number sequence: the same seed and place, the same numbers.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64, at: u64) -> Self {
        // splitmix64, so that neighbours have nothing in common
        let mut z =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at.wrapping_add(0x1234_5678_9ABC_DEF1);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((z ^ (z >> 31)) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap_or(0) % limit.max(1)
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Inputs grow no further by mutation.
const LARGEST: usize = 256 << 10;

/// What parsers stumble over, whatever they parse.
const TOKENS: [&[u8]; 34] = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xf0\x9f\x92",
    b"\xed\xa0\x80",
    b"\n",
    b"\r\n",
    b"\t",
    b"\"",
    b"\\u",
    b"\\ud800",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"0.1e-400",
    b"\x1b",
    b"\x1b[",
    b"\x1b[999999999;999999999H",
    b"\x1b]0;",
    b"\x1b[?1049h",
    b"\x1b[2J",
    "日本\u{200d}👩‍👩‍👧\u{301}".as_bytes(),
    "\u{202e}\u{feff}".as_bytes(),
    b"%begin 1 1 1\n",
];

pub struct Corpus {
    seeds: Vec<Vec<u8>>,
}

impl Corpus {
    pub fn of(seeds: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut seeds: Vec<Vec<u8>> = seeds.into_iter().collect();
        seeds.push(Vec::new());
        assert!(seeds.len() > 2, "a corpus of nothing proves nothing");
        Self { seeds }
    }

    /// Files of a folder of the agents' recordings whose names have this in them.
    pub fn recorded(folder: &str, part: &str) -> Vec<Vec<u8>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../agents/tests/fixtures")
            .join(folder);
        let mut files: Vec<_> = std::fs::read_dir(&root)
            .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.file_name()
                    .is_some_and(|n| n.to_string_lossy().contains(part))
            })
            .collect();
        files.sort();
        files
            .iter()
            .map(|file| std::fs::read(file).unwrap())
            .collect()
    }

    pub fn input(&self, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = rng.pick(&self.seeds).clone();
        for _ in 0..rng.below(7) {
            self.mutate(&mut bytes, rng);
            bytes.truncate(LARGEST);
        }
        bytes
    }

    fn mutate(&self, bytes: &mut Vec<u8>, rng: &mut Rng) {
        let at = rng.below(bytes.len() + 1);
        let to = at + rng.below((bytes.len() - at).min(64) + 1);
        match rng.below(11) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = rng.next().to_le_bytes()[0],
            2 => bytes.truncate(at),
            3 => {
                bytes.drain(at..to);
            }
            4 => {
                let token = *rng.pick(&TOKENS);
                bytes.splice(at..at, token.iter().copied());
            }
            5 => {
                let token = *rng.pick(&TOKENS);
                bytes.splice(at..to, token.iter().copied());
            }
            // the end of another one behind the beginning of this one
            6 => {
                let other = rng.pick(&self.seeds).clone();
                let from = rng.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            7 => {
                let piece = bytes[at..to].to_vec();
                let times = 1 << rng.below(9);
                let many: Vec<u8> = piece
                    .iter()
                    .copied()
                    .cycle()
                    .take(piece.len() * times)
                    .collect();
                bytes.splice(at..at, many);
            }
            // deep
            8 => {
                let token = *rng.pick(&TOKENS);
                let many = token.repeat(1 << rng.below(13));
                bytes.splice(at..at, many);
            }
            // a number becomes another
            9 => {
                let digits = bytes[at..]
                    .iter()
                    .position(u8::is_ascii_digit)
                    .map(|n| at + n);
                if let Some(from) = digits {
                    let length = bytes[from..]
                        .iter()
                        .take_while(|b| b.is_ascii_digit())
                        .count();
                    let new = rng.next().to_string();
                    let new = &new.as_bytes()[..1 + rng.below(new.len())];
                    bytes.splice(from..from + length, new.iter().copied());
                }
            }
            // lines change places
            _ => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                let (a, b) = (rng.below(lines.len()), rng.below(lines.len()));
                lines.swap(a, b);
                *bytes = lines.join(&b'\n');
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let corpus = Corpus::of([b"{\"a\": 1}\n".to_vec(), b"x\ny\n12".to_vec()]);
    let inputs = |seed| -> Vec<Vec<u8>> {
        (0..500)
            .map(|at| corpus.input(&mut Rng::new(seed, at)))
            .collect()
    };
    assert_eq!(inputs(7), inputs(7));
    let different: std::collections::HashSet<_> = inputs(7).into_iter().collect();
    assert!(different.len() > 300, "{}", different.len());
}
