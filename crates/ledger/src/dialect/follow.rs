//! Whether a file that is read as it grows is still the one that was read.

use serde::{Deserialize, Serialize};

/// How far a file was read, and which one it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Follow {
    /// What tells one file from another at the same path (its inode), once it was seen.
    identity: Option<u64>,
    read: u64,
}

/// What happened to the file since it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Nothing that could be read.
    Same,
    /// There is more, from this place on.
    More { from: u64 },
    /// It was cut or replaced: what was read is not what stands there. A new reader from the beginning.
    Anew,
}

impl Follow {
    /// Looks at the file: its identity and its length.
    pub fn look(&mut self, identity: u64, length: u64) -> Growth {
        let other = self.identity.is_some_and(|known| known != identity);
        self.identity = Some(identity);
        if other || length < self.read {
            self.read = 0;
            Growth::Anew
        } else if length > self.read {
            Growth::More { from: self.read }
        } else {
            Growth::Same
        }
    }

    /// So many bytes were read.
    pub fn took(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_and_replaced_files_are_noticed() {
        let mut file = Follow::default();
        assert_eq!(file.look(7, 0), Growth::Same);
        assert_eq!(file.look(7, 10), Growth::More { from: 0 });
        file.took(10);
        assert_eq!(file.look(7, 10), Growth::Same);
        assert_eq!(file.look(7, 4), Growth::Anew);
        assert_eq!(file.look(7, 4), Growth::More { from: 0 });
        file.took(4);
        assert_eq!(file.look(8, 90), Growth::Anew);
        assert_eq!(file.look(8, 90), Growth::More { from: 0 });
    }
}
