//! Bytes that one side has given and the other has not taken yet.

/// Filled from one side, emptied to the other; it grows no more once it has been filled.
#[derive(Debug, Default)]
pub struct Pending {
    bytes: Vec<u8>,
    taken: usize,
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.taken >= self.bytes.len()
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    pub fn add(&mut self, bytes: &[u8]) {
        // What was taken makes room for what comes.
        if self.taken > 0 && self.taken >= self.bytes.len() / 2 {
            self.bytes.drain(..self.taken.min(self.bytes.len()));
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub fn take(&mut self, count: usize) {
        self.taken = self.taken.saturating_add(count);
        if self.is_empty() {
            self.clear();
        }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_taken_in_order_and_once() {
        let mut pending = Pending::default();
        assert!(pending.is_empty());
        pending.add(b"abc");
        pending.take(1);
        assert_eq!(pending.bytes(), b"bc");
        pending.add(b"d");
        assert_eq!(pending.bytes(), b"bcd");
        pending.take(3);
        assert!(pending.is_empty());
        pending.add(b"e");
        assert_eq!(pending.bytes(), b"e");
        pending.take(100);
        assert_eq!(pending.bytes(), b"");
        pending.clear();
        assert!(pending.is_empty());
    }
}
