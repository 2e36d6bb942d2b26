//! Bytes that arrive in pieces, as text. A character may be cut in two by the pieces; what is no
//! UTF-8 becomes U+FFFD.

/// Decodes piece by piece; holds at most the three bytes of an unfinished character.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    unfinished: Vec<u8>,
}

impl Decoder {
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut joined = std::mem::take(&mut self.unfinished);
        joined.extend_from_slice(bytes);
        let mut text = String::with_capacity(joined.len());
        let mut rest = joined.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    match error.error_len() {
                        Some(bad) => {
                            text.push(char::REPLACEMENT_CHARACTER);
                            rest = after.get(bad..).unwrap_or_default();
                        }
                        None => {
                            self.unfinished = after.to_vec();
                            return text;
                        }
                    }
                }
            }
        }
    }

    /// No more will come.
    pub(crate) fn finish(&mut self) -> Option<char> {
        let cut = !std::mem::take(&mut self.unfinished).is_empty();
        cut.then_some(char::REPLACEMENT_CHARACTER)
    }
}

/// Without the rest of a character whose beginning was cut off.
pub(crate) fn from_boundary(bytes: &[u8]) -> &[u8] {
    let continuing = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = bytes.iter().take(3).take_while(continuing).count();
    bytes.get(cut..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_gives_the_same_text() {
        let bytes = b"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xff\xc3( \xe2\x82";
        let expected = String::from_utf8_lossy(bytes);
        for split in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let mut text = decoder.decode(&bytes[..split]);
            text += &decoder.decode(&bytes[split..]);
            text.extend(decoder.finish());
            assert_eq!(text, expected, "split at {split}");
        }
    }

    #[test]
    fn a_cut_character_at_the_start_is_left_out() {
        for (bytes, expected) in [
            (&b"abc"[..], &b"abc"[..]),
            (b"\x82\xacabc", b"abc"),
            (b"\x98\x80", b""),
            (b"\x80\x80\x80\x80x", b"\x80x"),
            (b"", b""),
        ] {
            assert_eq!(from_boundary(bytes), expected);
        }
    }
}
