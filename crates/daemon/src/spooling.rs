//! Which files of the spool are being taken in. A file goes only when every session has journaled
//! what was in it; meanwhile nobody may read it a second time.

use crate::hub::lock;
use sm_client::spool::{Spool, SpoolError, Taken};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Default)]
pub struct Spooling {
    under_way: Mutex<HashSet<PathBuf>>,
}

impl Spooling {
    /// The files that nobody is taking in yet, in order.
    pub fn take(&self, spool: &Spool) -> Result<Vec<Taken>, SpoolError> {
        let mut under_way = lock(&self.under_way);
        let mut files = spool.take()?;
        files.retain(|file| under_way.insert(file.path().to_path_buf()));
        Ok(files)
    }

    /// Everything in it is journaled: it goes, and its name may be used again.
    pub fn done(&self, file: Taken) -> Result<(), SpoolError> {
        let mut under_way = lock(&self.under_way);
        under_way.remove(file.path());
        file.done()
    }

    /// It could not be read: it stays for the next time.
    pub fn give_back(&self, file: &Taken) {
        lock(&self.under_way).remove(file.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_client::spool::FILE_NAME;

    #[test]
    fn a_file_is_taken_once_until_it_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path());
        let spooling = Spooling::default();
        let write = || std::fs::write(dir.path().join(FILE_NAME), "{}\n").unwrap();
        write();
        let mut first = spooling.take(&spool).unwrap();
        assert_eq!(first.len(), 1);
        assert!(spooling.take(&spool).unwrap().is_empty());
        write();
        let second = spooling.take(&spool).unwrap();
        assert_eq!(second.len(), 1, "what came meanwhile");
        spooling.done(first.remove(0)).unwrap();
        spooling.give_back(&second[0]);
        assert_eq!(spooling.take(&spool).unwrap().len(), 1);
    }
}
