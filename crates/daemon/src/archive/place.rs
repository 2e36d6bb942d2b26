//! Where the parts of an archive lie: the raw log in numbered files, and the folder of its text.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A place in numbered files: which one, and where in it. Places are in the order of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    pub part: u32,
    pub offset: u32,
}

impl Position {
    pub fn new(part: u32, offset: u64) -> Self {
        Self {
            part,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        }
    }

    /// As one number, in the same order.
    pub fn packed(self) -> u64 {
        u64::from(self.part) << 32 | u64::from(self.offset)
    }

    pub fn unpacked(number: u64) -> Self {
        Self {
            part: (number >> 32) as u32,
            offset: number as u32,
        }
    }
}

/// A session's folder.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn log(&self, part: u32) -> PathBuf {
        self.0.join(format!("terminal.{part:06}.log"))
    }

    pub fn times(&self, part: u32) -> PathBuf {
        self.0.join(format!("terminal.{part:06}.times"))
    }

    pub fn notes(&self) -> PathBuf {
        self.0.join("terminal.notes")
    }

    pub fn archive(&self) -> PathBuf {
        self.0.join("archive")
    }

    pub fn text(&self, part: u32) -> PathBuf {
        self.archive().join(format!("text.{part:06}.txt"))
    }

    /// What is not in the text yet: the last lines, and the screen.
    pub fn screen(&self) -> PathBuf {
        self.archive().join("screen.txt")
    }

    pub fn index(&self) -> PathBuf {
        self.archive().join("index")
    }

    pub fn state(&self) -> PathBuf {
        self.archive().join("state")
    }

    pub fn make_archive(&self) -> io::Result<()> {
        // Only in a session's folder that is there: one that was removed stays so.
        match fs::DirBuilder::new().mode(0o700).create(self.archive()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// The numbers of the log's parts, in order.
    pub fn log_parts(&self) -> Vec<u32> {
        parts(&self.0, "terminal.", ".log")
    }

    pub fn text_parts(&self) -> Vec<u32> {
        parts(&self.archive(), "text.", ".txt")
    }

    /// Where the log ends now.
    pub fn end_of_log(&self) -> Position {
        let Some(part) = self.log_parts().pop() else {
            return Position::new(1, 0);
        };
        let size = fs::metadata(self.log(part)).map(|m| m.len()).unwrap_or(0);
        Position::new(part, size)
    }
}

fn parts(folder: &Path, before: &str, after: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let digits = name.to_str()?.strip_prefix(before)?.strip_suffix(after)?;
            digits.parse().ok()
        })
        .collect();
    parts.sort_unstable();
    parts
}

/// Opens numbered files one after the other, from a place on.
pub struct Parts {
    /// Those still to be read, the next one last.
    left: Vec<u32>,
    open: Option<(u32, File)>,
    at: Position,
}

impl Parts {
    pub fn new(mut parts: Vec<u32>, from: Position) -> Self {
        parts.retain(|part| *part >= from.part);
        parts.reverse();
        Self {
            left: parts,
            open: None,
            at: from,
        }
    }

    /// Reads on; the bytes read begin at the place given back. Nothing: the end.
    ///
    /// A part is read to its end as it is now; the next one begins only if it was there when the
    /// parts were listed, and nothing is added to a part after the next one is there.
    pub fn read(
        &mut self,
        path: impl Fn(u32) -> PathBuf,
        buffer: &mut [u8],
    ) -> io::Result<(Position, usize)> {
        loop {
            if self.open.is_none() {
                let Some(part) = self.left.pop() else {
                    return Ok((self.at, 0));
                };
                let mut file = match File::open(path(part)) {
                    Ok(file) => file,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                };
                if part != self.at.part {
                    self.at = Position::new(part, 0);
                }
                file.seek(SeekFrom::Start(self.at.offset.into()))?;
                self.open = Some((part, file));
            }
            let Some((_, file)) = &mut self.open else {
                continue;
            };
            let at = self.at;
            match file.read(buffer) {
                Ok(0) if self.left.is_empty() => return Ok((at, 0)),
                Ok(0) => self.open = None,
                Ok(read) => {
                    self.at = Position::new(at.part, u64::from(at.offset) + read as u64);
                    return Ok((at, read));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
