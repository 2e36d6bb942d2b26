//! The record of a session, held together with whoever was shown it.
//!
//! There are hundreds of sessions, and everybody who looks at one is given its whole record: as long
//! as it does not change there is one of it. It is copied at its first change while others hold it.

use super::Record;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Record>);

impl Shared {
    pub fn new(record: Record) -> Self {
        Self(Arc::new(record))
    }

    pub fn share(&self) -> Arc<Record> {
        Arc::clone(&self.0)
    }
}

impl Deref for Shared {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.0
    }
}

impl DerefMut for Shared {
    fn deref_mut(&mut self) -> &mut Record {
        Arc::make_mut(&mut self.0)
    }
}
