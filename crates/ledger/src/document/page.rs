//! A text that grows by whole parts and never beyond its room.

use crate::text;

#[derive(Debug)]
pub struct Page {
    out: String,
    used: usize,
    budget: usize,
    reserved: usize,
}

impl Page {
    pub fn new(budget: usize) -> Self {
        Self {
            out: String::new(),
            used: 0,
            budget,
            reserved: 0,
        }
    }

    /// Keeps so many characters free, in place of what was kept before.
    pub fn reserve(&mut self, chars: usize) {
        self.reserved = chars;
    }

    pub fn room(&self) -> usize {
        self.budget
            .saturating_sub(self.used)
            .saturating_sub(self.reserved)
    }

    /// Adds a part if all of it fits.
    pub fn part(&mut self, part: impl AsRef<str>) -> bool {
        let part = part.as_ref();
        let size = text::chars(part);
        if size > self.room() {
            return false;
        }
        self.out.push_str(part);
        self.used += size;
        true
    }

    pub fn text(self) -> String {
        self.out
    }
}
