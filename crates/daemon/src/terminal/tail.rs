//! The bytes of a terminal's log from a place on, as they are added. Blocks on the disk only.

use crate::archive::{Folder, Position};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

#[derive(Debug)]
pub struct Tail {
    folder: Folder,
    at: Position,
}

impl Tail {
    pub fn new(folder: Folder) -> Self {
        let at = folder.end_of_log();
        Self { folder, at }
    }

    pub fn end(&self) -> Position {
        self.folder.end_of_log()
    }

    /// How long the notes beside the log are: they grow when its size changes.
    pub fn notes(&self) -> u64 {
        length(&self.folder.notes())
    }

    pub fn go_to(&mut self, at: Position) {
        self.at = at;
    }

    /// How many bytes are still to be read.
    pub fn behind(&self) -> u64 {
        let end = self.end();
        let parts = self.at.part..=end.part.max(self.at.part);
        let all: u64 = parts
            .take(1024)
            .map(|part| length(&self.folder.log(part)))
            .sum();
        all.saturating_sub(u64::from(self.at.offset))
    }

    /// At most `most` of the bytes that have come. None: they are not there any more.
    pub fn read(&mut self, most: usize) -> Option<Vec<u8>> {
        loop {
            // looked for first: a part that has a successor is not added to
            let has_next = self.folder.log(self.at.part + 1).exists();
            let read = read_at(&self.folder, self.at, most);
            let bytes = match read {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let any = self.end() > self.at;
                    return (!any).then(Vec::new);
                }
                Err(_) => return None,
            };
            if bytes.is_empty() && has_next {
                self.at = Position::new(self.at.part + 1, 0);
                continue;
            }
            let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.at = Position::new(self.at.part, u64::from(self.at.offset) + read);
            return Some(bytes);
        }
    }
}

fn read_at(folder: &Folder, at: Position, most: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(folder.log(at.part))?;
    file.seek(SeekFrom::Start(u64::from(at.offset)))?;
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_one_and_removed_ones_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().to_owned());
        let mut tail = Tail::new(folder.clone());
        assert_eq!(tail.read(9), Some(Vec::new()), "there is none yet");
        std::fs::write(folder.log(1), "one").unwrap();
        assert_eq!(tail.behind(), 3);
        assert_eq!(tail.read(2).unwrap(), b"on");
        assert_eq!(tail.read(9).unwrap(), b"e");
        std::fs::write(folder.log(1), "one more").unwrap();
        std::fs::write(folder.log(2), "two").unwrap();
        assert_eq!(tail.behind(), 8);
        assert_eq!(tail.read(9).unwrap(), b" more");
        assert_eq!(tail.read(9).unwrap(), b"two");
        assert_eq!((tail.read(9).unwrap().len(), tail.behind()), (0, 0));
        tail.go_to(Position::new(1, 0));
        std::fs::remove_file(folder.log(1)).unwrap();
        assert_eq!(tail.read(9), None);
        tail.go_to(tail.end());
        assert_eq!(tail.read(9), Some(Vec::new()));
    }
}
