//! Numbered log files that together hold every byte, in order.
//!
//! One writer for a directory. A write that fails loses its bytes but never the count of them:
//! the next write that works says how many are missing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::times::Times;

/// A file is full at this size; a chunk is never split.
const FULL: u64 = 16 * 1024 * 1024;

pub struct Writer {
    dir: PathBuf,
    full: u64,
    number: u32,
    current: Option<(File, u64)>,
    lost: u64,
    times: Times,
    size: Size,
    generation: Option<u32>,
    /// The folder, locked as long as somebody writes here.
    _folder: Option<File>,
}

/// Columns and rows.
#[derive(Default)]
struct Size {
    now: Option<(u16, u16)>,
    noted: Option<(u16, u16)>,
}

impl Writer {
    pub fn new(dir: &Path) -> Self {
        Self::with_size(dir, FULL)
    }

    fn with_size(dir: &Path, full: u64) -> Self {
        let _ = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir);
        Self {
            number: last_number(dir).unwrap_or(1),
            dir: dir.to_path_buf(),
            full,
            current: None,
            lost: 0,
            times: Times::default(),
            size: Size::default(),
            generation: None,
            _folder: File::open(dir).ok().filter(is_locked),
        }
    }

    /// What is written next is drawn on a terminal of this size. Noted with the next bytes, if it
    /// is another size than before.
    pub fn size(&mut self, cols: u16, rows: u16) {
        self.size.now = Some((cols, rows));
    }

    /// What is written next is of this context of the session. Noted with the next bytes.
    pub fn generation(&mut self, number: u32) {
        self.generation = Some(number);
    }

    /// `now`: milliseconds since the epoch.
    pub fn write(&mut self, chunk: &[u8], now: u64) {
        if let Ok(offset) = self.file_for(chunk.len()).map(|(_, size)| *size) {
            self.times.mark(&self.dir, self.number, offset, now);
            self.note(offset, now);
        }
        if self.lost > 0 && !self.own_up() {
            self.lost += chunk.len() as u64;
            return;
        }
        let written = self.append(chunk);
        self.lost += (chunk.len() - written) as u64;
    }

    fn note(&mut self, offset: u64, now: u64) {
        if let Some((cols, rows)) = self.size.now.filter(|_| self.size.now != self.size.noted) {
            self.size.noted = self.size.now;
            self.add_note(offset, now, &format!("size {cols} {rows}"));
        }
        if let Some(number) = self.generation.take() {
            self.add_note(offset, now, &format!("generation {number}"));
        }
    }

    fn add_note(&self, offset: u64, now: u64, what: &str) {
        let notes = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.dir.join("terminal.notes"));
        if let Ok(mut notes) = notes {
            // One write: whoever reads sees whole lines. One that fails is something not followed.
            let line = format!("{} {offset} {now} {what}\n", self.number);
            let _ = notes.write_all(line.as_bytes());
        }
    }

    /// Says at the end what is missing, if it can.
    pub fn finish(&mut self) {
        if self.lost > 0 {
            self.own_up();
        }
    }

    /// The line about lost bytes: all of it or nothing.
    fn own_up(&mut self) -> bool {
        let line = format!(
            "\r\n[sm: {} bytes of terminal output lost: disk full]\r\n",
            self.lost
        );
        let before = self.file_for(line.len()).map(|(_, size)| *size);
        let written = self.append(line.as_bytes());
        if written == line.len() {
            self.lost = 0;
            return true;
        }
        if written > 0
            && let Ok(before) = before
            && let Ok((file, size)) = self.file_for(0)
        {
            let _ = file.set_len(before);
            *size = before;
        }
        false
    }

    /// How many bytes could be written.
    fn append(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        let Ok((file, size)) = self.file_for(bytes.len()) else {
            return 0;
        };
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => break,
                Ok(more) => {
                    written += more;
                    *size += more as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if written < bytes.len() {
            // Opened again next time: it may have been moved away to make room.
            self.current = None;
        }
        written
    }

    /// The file that has room for a chunk.
    fn file_for(&mut self, length: usize) -> io::Result<&mut (File, u64)> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.open()?,
        };
        if current.1 > 0 && current.1 + length as u64 > self.full {
            self.number += 1;
            current = self.open()?;
        }
        Ok(self.current.insert(current))
    }

    fn open(&self) -> io::Result<(File, u64)> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.dir.join(format!("terminal.{:06}.log", self.number)))?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }
}

/// Whether somebody writes a log there.
pub fn is_written(dir: &Path) -> bool {
    let Ok(folder) = File::open(dir) else {
        return false;
    };
    matches!(folder.try_lock(), Err(TryLockError::WouldBlock))
}

/// Somebody who asks [`is_written`] holds it for a moment.
fn is_locked(folder: &File) -> bool {
    const TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    (0..TRIES).any(|tried| {
        if tried > 0 {
            std::thread::sleep(PAUSE);
        }
        folder.try_lock_shared().is_ok()
    })
}

fn last_number(dir: &Path) -> Option<u32> {
    fs::read_dir(dir)
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let digits = name
                .to_str()?
                .strip_prefix("terminal.")?
                .strip_suffix(".log")?;
            digits.parse().ok()
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn files(dir: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "log"))
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, String::from_utf8(fs::read(path).unwrap()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn named(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files
            .iter()
            .map(|(number, text)| (format!("terminal.{number}.log"), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn a_full_file_is_followed_by_the_next() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("new");
        let mut writer = Writer::with_size(&dir, 10);
        for chunk in [
            "aaaa",
            "bbbb",
            "cccc",
            "a chunk larger than a file",
            "dd",
            "eeeeeeeeee",
        ] {
            writer.write(chunk.as_bytes(), 0);
        }
        writer.finish();
        // Another process goes on where this one ended.
        let mut writer = Writer::with_size(&dir, 10);
        writer.write(b"f", 0);
        assert_eq!(
            files(&dir),
            named(&[
                ("000001", "aaaabbbb"),
                ("000002", "cccc"),
                ("000003", "a chunk larger than a file"),
                ("000004", "dd"),
                ("000005", "eeeeeeeeee"),
                ("000006", "f"),
            ])
        );
    }

    #[test]
    fn sizes_and_generations_are_noted_where_they_begin() {
        let temp = tempfile::tempdir().unwrap();
        let mut writer = Writer::with_size(temp.path(), 10);
        writer.size(80, 24);
        writer.write(b"aaaa", 7);
        writer.size(80, 24);
        writer.write(b"bb", 8);
        writer.size(100, 30);
        writer.size(120, 40);
        writer.write(b"cc", 9);
        writer.size(80, 24);
        writer.generation(2);
        writer.write(b"another part", 10);
        writer.write(b"and", 11);
        let notes = fs::read_to_string(temp.path().join("terminal.notes")).unwrap();
        assert_eq!(
            notes,
            "1 0 7 size 80 24\n1 6 9 size 120 40\n2 0 10 size 80 24\n2 0 10 generation 2\n"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_lost_is_counted() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("terminal.000001.log");
        symlink("/dev/full", &file).unwrap();
        let mut writer = Writer::with_size(temp.path(), 1000);
        writer.write(b"12345", 0);
        writer.write(b"678", 0);
        fs::remove_file(&file).unwrap();
        writer.write(b"back", 0);
        writer.write(b" again", 0);
        assert_eq!(
            files(temp.path()),
            named(&[(
                "000001",
                "\r\n[sm: 8 bytes of terminal output lost: disk full]\r\nback again"
            )])
        );
    }

    #[test]
    fn a_directory_that_is_gone_loses_nothing_but_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("gone");
        let mut writer = Writer::with_size(&dir, 1000);
        fs::remove_dir_all(&dir).unwrap();
        writer.write(b"12", 0);
        fs::create_dir(&dir).unwrap();
        writer.write(b"x", 0);
        let text = &files(&dir)[0].1;
        assert_eq!(
            text,
            "\r\n[sm: 2 bytes of terminal output lost: disk full]\r\nx"
        );
    }
}
