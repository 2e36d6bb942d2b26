//! The title that a program gives its terminal (`OSC 0` and `OSC 2`), from bytes cut anywhere.

/// Longer ones are cut.
const LONGEST: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    /// In an operating system command.
    Osc,
    /// The same, after an escape.
    OscEscape,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Titles {
    state: State,
    body: Vec<u8>,
    title: String,
}

impl Titles {
    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            if self.state == State::Ground {
                // Most of it is no escape sequence at all.
                let Some(at) = rest.iter().position(|byte| *byte == 0x1b) else {
                    return;
                };
                self.state = State::Escape;
                rest = rest.get(at + 1..).unwrap_or_default();
                continue;
            }
            self.step(byte);
            rest = rest.get(1..).unwrap_or_default();
        }
    }

    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (State::Escape, b']') => {
                self.body.clear();
                State::Osc
            }
            (State::Escape | State::OscEscape, 0x1b) => State::Escape,
            (State::Osc, 0x1b) => State::OscEscape,
            (State::Osc, 7) | (State::OscEscape, b'\\') => {
                self.ended();
                State::Ground
            }
            (State::Osc, 0x18 | 0x1a) => State::Ground,
            (State::Osc, byte) => {
                if self.body.len() < LONGEST {
                    self.body.push(byte);
                }
                State::Osc
            }
            (State::Ground | State::Escape | State::OscEscape, _) => State::Ground,
        };
    }

    fn ended(&mut self) {
        let title = [&b"0;"[..], b"2;"]
            .into_iter()
            .find_map(|kind| self.body.strip_prefix(kind));
        if let Some(title) = title {
            self.title = String::from_utf8_lossy(title)
                .chars()
                .filter(|c| !c.is_control())
                .collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_found_wherever_the_bytes_are_cut() {
        for (bytes, title) in [
            (&b"\x1b]0;one\x07"[..], "one"),
            (b"a\x1b]2;two\x1b\\b", "two"),
            (b"\x1b]0;one\x07\x1b]1;icon\x07\x1b]52;c;eA==\x07", "one"),
            (b"\x1b]0;one\x07\x1b]0;\x07", ""),
            (b"\x1b]0;never ends", ""),
            (
                b"\x1b[1;2H\x1b\x1b]2;\xe2\x9c\xb3 Claude\x07",
                "\u{2733} Claude",
            ),
        ] {
            let mut whole = Titles::default();
            whole.feed(bytes);
            assert_eq!(whole.title(), title, "{bytes:?}");
            let mut pieces = Titles::default();
            bytes.iter().for_each(|byte| pieces.feed(&[*byte]));
            assert_eq!(pieces.title(), title, "{bytes:?}");
        }
    }
}
