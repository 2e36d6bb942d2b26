//! The few things that are done to files, as a trait: one method per step that another process
//! can see. `RealFiles` is the system; the model test has one in memory that stops anywhere.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::lock::Owner;

/// Whether the bytes must be on the disk before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    Yes,
    /// Means nothing after a crash of the machine.
    No,
}

/// What a call found at the place where it wanted to make something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing: it was made, by us alone.
    Nothing,
    /// Something is there already; it is untouched.
    Something,
    /// The folder it should be in, or what it is made from, is not there.
    NoFolder,
}

pub trait Files {
    fn mkdir(&mut self, path: &Path) -> io::Result<Found>;
    /// `None`: there is no such file. Larger files than any of ours are an error.
    fn read(&mut self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// Makes a file that is not there. Only for names nobody else uses.
    fn write_new(&mut self, path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()>;
    /// A second name for a file, unless the name is taken.
    fn link(&mut self, from: &Path, to: &Path) -> io::Result<Found>;
    /// Replaces what is there. `false`: there is nothing to rename.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<bool>;
    /// What is not there is removed.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
    /// A folder of ours and the files in it; mostly that is only the one of the name `usual`.
    fn remove_folder(&mut self, path: &Path, usual: &str) -> io::Result<()>;
    /// Names in a folder; none if it is not there.
    fn list(&mut self, path: &Path) -> io::Result<Vec<String>>;
    /// How long ago a file or folder was changed last. `None`: it is not there.
    fn age(&mut self, path: &Path) -> io::Result<Option<Duration>>;
    fn sync_folder(&mut self, path: &Path) -> io::Result<()>;

    fn now(&mut self) -> Timestamp;
    fn pid(&self) -> u32;
    /// A number that this process has not had before.
    fn number(&mut self) -> u64;
    /// Whether the process that took a lock then can still be the one it was. Once dead, always
    /// dead.
    fn is_alive(&mut self, owner: Owner) -> bool;
    /// Waits a little for a lock. `false`: it has waited long enough. What was seen before the
    /// pause does not matter after it.
    fn pause(&mut self, attempt: u32) -> bool;
}
