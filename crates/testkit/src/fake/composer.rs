//! The input box: what a person is typing, pastes shown collapsed, the stash. Pure.

/// A paste with more lines than this is shown collapsed.
const PLAIN_LINES: usize = 3;
/// And so is one with more characters than this.
const PLAIN_CHARS: usize = 800;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Typed(String),
    /// Shown as `[Pasted text #N +M lines]`, submitted whole.
    Pasted {
        number: usize,
        text: String,
    },
}

/// A `!` at the start of an empty box turns it into a shell prompt.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Prompt,
    Shell,
}

#[derive(Debug, Default)]
pub(super) struct Composer {
    pieces: Vec<Piece>,
    mode: Mode,
    pastes: usize,
    stash: Option<(Mode, Vec<Piece>)>,
}

/// What a submit hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Submitted {
    pub mode: Mode,
    pub text: String,
}

impl Composer {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.mode == Mode::Prompt
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn is_stashed(&self) -> bool {
        self.stash.is_some()
    }

    pub(super) fn type_char(&mut self, character: char) {
        if character == '!' && self.is_empty() {
            self.mode = Mode::Shell;
            return;
        }
        if let Some(Piece::Typed(text)) = self.pieces.last_mut() {
            text.push(character);
        } else {
            self.pieces.push(Piece::Typed(character.into()));
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        let lines = text.split('\n').count();
        if lines > PLAIN_LINES || text.chars().count() > PLAIN_CHARS {
            self.pastes += 1;
            self.pieces.push(Piece::Pasted {
                number: self.pastes,
                text: text.to_owned(),
            });
        } else {
            text.chars().for_each(|character| self.type_char(character));
        }
    }

    /// A collapsed paste goes as a whole; leaving shell mode is one step of its own.
    pub(super) fn backspace(&mut self) {
        match self.pieces.last_mut() {
            Some(Piece::Typed(text)) => {
                text.pop();
                if text.is_empty() {
                    self.pieces.pop();
                }
            }
            Some(Piece::Pasted { .. }) => {
                self.pieces.pop();
            }
            None => self.mode = Mode::Prompt,
        }
    }

    /// Ctrl+U: the last line only.
    pub(super) fn kill_line(&mut self) {
        while let Some(Piece::Typed(text)) = self.pieces.last_mut() {
            if let Some(at) = text.rfind('\n') {
                text.truncate(at + 1);
                return;
            }
            self.pieces.pop();
        }
        self.pieces.pop();
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.mode = Mode::Prompt;
    }

    /// Ctrl+S: puts the draft aside, over any older one; on an empty box brings it back.
    pub(super) fn stash(&mut self) {
        if self.is_empty() {
            self.restore();
        } else {
            self.stash = Some((self.mode, std::mem::take(&mut self.pieces)));
            self.mode = Mode::Prompt;
        }
    }

    fn restore(&mut self) {
        if let Some((mode, mut pieces)) = self.stash.take() {
            self.mode = mode;
            pieces.append(&mut self.pieces);
            self.pieces = pieces;
        }
    }

    /// Empties the box; a stashed draft comes back into it.
    pub(super) fn submit(&mut self) -> Submitted {
        let text = self.pieces.iter().map(Piece::text).collect();
        let submitted = Submitted {
            mode: self.mode,
            text,
        };
        self.clear();
        self.restore();
        submitted
    }

    /// The rows as shown, without the prompt mark, wrapped to a width.
    pub(super) fn rows(&self, width: usize) -> Vec<String> {
        let shown: String = self.pieces.iter().map(Piece::shown).collect();
        let mut rows = Vec::new();
        for line in shown.split('\n') {
            let characters: Vec<char> = line.chars().collect();
            if characters.is_empty() {
                rows.push(String::new());
            }
            rows.extend(
                characters
                    .chunks(width.max(1))
                    .map(|chunk| chunk.iter().collect::<String>()),
            );
        }
        rows
    }
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Self::Typed(text) | Self::Pasted { text, .. } => text,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Typed(text) => text.clone(),
            Self::Pasted { number, text } => match text.matches('\n').count() {
                0 => format!("[Pasted text #{number}]"),
                lines => format!("[Pasted text #{number} +{lines} lines]"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Composer {
        let mut composer = Composer::default();
        text.chars().for_each(|c| composer.type_char(c));
        composer
    }

    #[test]
    fn big_pastes_are_collapsed_and_submitted_whole() {
        let long = "x".repeat(899);
        for (paste, shown) in [
            ("a\nb\nc", "a\nb\nc".to_owned()),
            ("a\nb\nc\nd\ne", "[Pasted text #1 +4 lines]".to_owned()),
            (long.as_str(), "[Pasted text #1]".to_owned()),
        ] {
            let mut composer = Composer::default();
            composer.paste(paste);
            assert_eq!(composer.rows(1000).join("\n"), shown);
            assert_eq!(composer.submit().text, paste);
            assert!(composer.is_empty());
        }
    }

    #[test]
    fn a_stashed_draft_comes_back_after_the_next_submit() {
        let mut composer = typed("my draft");
        composer.stash();
        assert!(composer.is_empty() && composer.is_stashed());
        composer.paste("other");
        assert_eq!(composer.submit().text, "other");
        assert_eq!(composer.rows(80), ["my draft"]);
        assert!(!composer.is_stashed());
    }

    #[test]
    fn a_second_stash_destroys_the_first() {
        let mut composer = typed("first");
        composer.stash();
        composer.type_char('2');
        composer.stash();
        composer.stash();
        assert_eq!(composer.rows(80), ["2"]);
        assert!(!composer.is_stashed());
    }

    #[test]
    fn editing() {
        let mut composer = typed("one\ntwo");
        composer.kill_line();
        assert_eq!(composer.rows(80), ["one", ""]);
        composer.backspace();
        composer.backspace();
        assert_eq!(composer.rows(80), ["on"]);
        let mut shell = typed("!ls");
        assert_eq!(shell.mode(), Mode::Shell);
        assert_eq!(
            shell.submit(),
            Submitted {
                mode: Mode::Shell,
                text: "ls".into()
            }
        );
        assert_eq!(typed("abcdef").rows(4), ["abcd", "ef"]);
    }
}
