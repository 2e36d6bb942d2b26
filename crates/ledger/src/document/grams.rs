//! Whether a name can stand in a text, told without reading the text: most names do not, and there
//! are thousands of them.
//!
//! It must never deny a name that is there; that one is there, only a look at the text can say.

/// Bytes that are taken together.
const GRAM: usize = 4;

fn mix(word: u32) -> u32 {
    word.wrapping_mul(0x9e37_79b1)
}

fn grams(text: &str) -> impl Iterator<Item = u32> {
    text.as_bytes()
        .windows(GRAM)
        .map(|four| mix(u32::from_le_bytes([four[0], four[1], four[2], four[3]])))
}

/// The text with all four bytes that stand together in it.
pub struct Grams {
    text: String,
    bits: Vec<u64>,
    shift: u32,
}

impl Grams {
    pub fn of(text: String) -> Self {
        let mut grams = Self::with_room(text.len());
        grams.add(&text);
        grams.text = text;
        grams
    }

    /// For about so many bytes; more than that only makes it slower.
    pub fn with_room(bytes: usize) -> Self {
        let bits = (bytes * 8).next_power_of_two().clamp(1 << 13, 1 << 20);
        Self {
            text: String::new(),
            bits: vec![0; bits / 64],
            shift: 32 - bits.trailing_zeros(),
        }
    }

    fn add(&mut self, text: &str) {
        for gram in grams(text) {
            let at = (gram >> self.shift) as usize;
            self.bits[at / 64] |= 1 << (at % 64);
        }
    }

    /// A line more: what is looked for never goes over the end of one.
    pub fn push_line(&mut self, line: &str) {
        self.add(line);
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn contains(&self, name: &str) -> bool {
        let possible = grams(name).all(|gram| {
            let at = (gram >> self.shift) as usize;
            self.bits[at / 64] & (1 << (at % 64)) != 0
        });
        possible && self.text.contains(name)
    }
}

/// The pairs of bytes in a short text, folded: what stands in another has no pair that it lacks.
pub fn pairs(text: &str) -> u64 {
    let pairs = text.as_bytes().windows(2);
    pairs.fold(0, |all, two| {
        let word = u32::from(two[0]) << 8 | u32::from(two[1]);
        all | 1 << (mix(word) >> 26)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_says_what_a_look_at_the_text_says(
            lines in prop::collection::vec("[ab_/é]{0,9}", 0..20),
            names in prop::collection::vec("[ab_/é]{0,7}", 1..20),
        ) {
            let whole = Grams::of(lines.join("\n"));
            let mut grown = Grams::with_room(4);
            for line in &lines {
                grown.push_line(line);
            }
            for name in &names {
                prop_assert_eq!(whole.contains(name), whole.text().contains(name.as_str()));
                prop_assert_eq!(grown.contains(name), grown.text().contains(name.as_str()));
                for line in lines.iter().filter(|line| line.contains(name.as_str())) {
                    prop_assert_eq!(pairs(name) & !pairs(line), 0);
                }
            }
        }
    }
}
