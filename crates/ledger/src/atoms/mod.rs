//! Paths, identifiers and hashes in a text: the words that an agent acts on.
//!
//! One pass over the bytes with a table of classes, equal to these three patterns (leftmost, greedy, `\w` and `\b`
//! in the sense of Unicode), which the tests check:
//!
//! ```text
//! path        (?:[\w.\-]+/)+[\w.\-]+\.[A-Za-z]\w{0,5}       only its last two components are the atom
//! identifier  \b(?:[A-Za-z]+_[A-Za-z0-9_]{4,}|[a-z]+[A-Z][A-Za-z0-9]{5,}|[A-Z][a-z]+[A-Z][A-Za-z0-9]{4,})\b
//! hash        \b[0-9a-f]{7,40}\b  with at least one digit and one letter
//! ```
//!
//! It must never allocate, and never look at a byte more than a fixed number of times.

mod word;

use word::is_word;

const LOWER_HEX: u8 = 1;
const LOWER: u8 = 2;
const UPPER: u8 = 4;
const DIGIT: u8 = 8;
const UNDERSCORE: u8 = 16;
/// Part of a character outside ASCII: only the character says whether it belongs to a word.
const HIGH: u8 = 32;
/// Belongs to a component of a path, not to a word.
const DOT_DASH: u8 = 64;
const SLASH: u8 = 128;

const WORD: u8 = LOWER_HEX | LOWER | UPPER | DIGIT | UNDERSCORE;
/// What a chain of components can be cut from.
const COMPONENT: u8 = WORD | DOT_DASH;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'f' => LOWER_HEX,
            b'g'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' | b'-' => DOT_DASH,
            b'/' => SLASH,
            0x80.. => HIGH,
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// Calls `found` with every occurrence of an atom, paths cut to their last two components.
///
/// A path has a slash, and every other atom has an underscore, a hump or a digit beside a letter: those places are
/// found for 64 bytes at once, and only there a word is looked at.
pub fn atoms(text: &str, found: &mut impl FnMut(&str)) {
    let mut scan = Scan {
        text,
        names: 0,
        paths: 0,
    };
    let (blocks, rest) = text.as_bytes().as_chunks::<64>();
    let mut last = 0;
    for (number, block) in blocks.iter().enumerate() {
        scan.block(number * 64, candidates(last, block), found);
        last = block[63];
    }
    let mut block = [0; 64];
    block[..rest.len()].copy_from_slice(rest);
    scan.block(blocks.len() * 64, candidates(last, &block), found);
}

/// The bytes at which an atom may be, as bits. Without branches, so that it becomes vector instructions.
#[inline]
fn candidates(last: u8, block: &[u8; 64]) -> u64 {
    const fn within(byte: u8, low: u8, high: u8) -> bool {
        byte.wrapping_sub(low) <= high - low
    }
    let mut before = [last; 64];
    before[1..].copy_from_slice(&block[..63]);
    let mut flags = [0_u8; 64];
    for (flag, (&byte, &before)) in flags.iter_mut().zip(block.iter().zip(&before)) {
        let mark = (byte == b'_') | (byte == b'/');
        let hump = within(byte, b'A', b'Z') & within(before, b'a', b'z');
        let hex = within(byte, b'a', b'f') & within(before, b'0', b'9')
            | within(byte, b'0', b'9') & within(before, b'a', b'f');
        *flag = u8::from(mark | hump | hex);
    }
    let (eights, _) = flags.as_chunks::<8>();
    eights.iter().rev().fold(0, |bits, eight| {
        // the lowest bit of each byte, gathered in the highest byte
        bits << 8 | u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

struct Scan<'a> {
    text: &'a str,
    /// Up to here words have been looked at.
    names: usize,
    /// Up to here paths have been looked for.
    paths: usize,
}

impl Scan<'_> {
    #[inline]
    fn block(&mut self, base: usize, mut bits: u64, found: &mut impl FnMut(&str)) {
        let bytes = self.text.as_bytes();
        while bits != 0 {
            let at = base + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if bytes[at] == b'/' {
                if at >= self.paths {
                    let component = run_before(self.text, at, COMPONENT);
                    self.paths = path_at(self.text, component, at, found);
                }
            } else if at >= self.names {
                let start = run_before(self.text, at, WORD);
                let (end, seen) = word_at(self.text, start);
                if is_name(&bytes[start..end], seen) {
                    found(&self.text[start..end]);
                }
                self.names = end;
            }
        }
    }
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Where the run of these classes, and of word characters outside ASCII, begins that ends before `end`.
#[inline]
fn run_before(text: &str, end: usize, classes: u8) -> usize {
    let bytes = text.as_bytes();
    let mut start = end;
    while start > 0 {
        let class = CLASS[bytes[start - 1] as usize];
        if class & classes != 0 {
            start -= 1;
        } else if class == HIGH {
            match text.get(..start).and_then(|text| text.chars().next_back()) {
                Some(c) if is_word(c) => start -= c.len_utf8(),
                _ => break,
            }
        } else {
            break;
        }
    }
    start
}

/// Where the word that begins here ends, and which classes are in it.
#[inline]
fn word_at(text: &str, start: usize) -> (usize, u8) {
    let bytes = text.as_bytes();
    let (mut at, mut seen) = (start, 0);
    while at < bytes.len() {
        let class = CLASS[bytes[at] as usize];
        if class & WORD != 0 {
            seen |= class;
            at += 1;
        } else if class == HIGH {
            match char_at(text, at) {
                Some(c) if is_word(c) => {
                    seen |= HIGH;
                    at += c.len_utf8();
                }
                _ => break,
            }
        } else {
            break;
        }
    }
    (at, seen)
}

/// Whether a whole word is an identifier or a hash.
#[inline]
fn is_name(word: &[u8], seen: u8) -> bool {
    if seen & (UNDERSCORE | UPPER) == 0 {
        return seen == LOWER_HEX | DIGIT && (7..=40).contains(&word.len());
    }
    if word.len() < 6 || seen & HIGH != 0 {
        return false;
    }
    let leading = |from: usize, classes: u8| {
        let same = |byte: &&u8| CLASS[**byte as usize] & classes != 0;
        word.iter().skip(from).take_while(same).count()
    };
    if seen & UNDERSCORE != 0 {
        // letters _ at least four more
        let letters = leading(0, LOWER_HEX | LOWER | UPPER);
        return letters > 0 && word.get(letters) == Some(&b'_') && word.len() - letters > 4;
    }
    let first = usize::from(word[0].is_ascii_uppercase());
    let hump = first + leading(first, LOWER_HEX | LOWER);
    // aB and five more, or AaB and four more
    hump > first
        && word.get(hump).is_some_and(u8::is_ascii_uppercase)
        && word.len() - hump > if first == 0 { 5 } else { 4 }
}

/// The path in the chain of components whose first slash is at `slash`, if there is one; returns where the chain ends.
///
/// A chain holds at most one path: it goes from the start to the last component that has an extension, and what
/// follows that has none.
fn path_at(text: &str, first: usize, slash: usize, found: &mut impl FnMut(&str)) -> usize {
    let bytes = text.as_bytes();
    if first == slash {
        return slash + 1;
    }
    let (mut previous, mut start, mut path) = (first, slash + 1, None);
    loop {
        let (mut at, mut dot) = (start, None);
        while at < bytes.len() {
            let class = CLASS[bytes[at] as usize];
            if class & COMPONENT != 0 {
                let extension = bytes[at] == b'.'
                    && at > start
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
                if extension {
                    dot = Some(at);
                }
                at += 1;
            } else if class == HIGH {
                match char_at(text, at) {
                    Some(c) if is_word(c) => at += c.len_utf8(),
                    _ => break,
                }
            } else {
                break;
            }
        }
        if let Some(dot) = dot {
            path = Some((previous, dot + 2));
        }
        if at == start || bytes.get(at) != Some(&b'/') {
            if let Some((from, letter)) = path {
                let rest = &text[letter..];
                let more: usize = (rest.chars().take(5).take_while(|&c| is_word(c)))
                    .map(char::len_utf8)
                    .sum();
                found(&text[from..letter + more]);
            }
            return at;
        }
        (previous, start) = (start, at + 1);
    }
}

#[cfg(test)]
mod tests;
