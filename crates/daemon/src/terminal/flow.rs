//! How much a browser may be sent: what it has not drawn yet is bounded, and so is how far it may
//! stay behind before the rest is left out. Pure.

/// Bytes that may be on their way.
pub const WINDOW: u64 = 256 * 1024;
/// Further behind than this, what lies between is not sent any more.
pub const FAR_BEHIND: u64 = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct Flow {
    sent: u64,
    drawn: u64,
}

impl Flow {
    pub fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// All that the browser has drawn so far. False: it says more than it was sent.
    pub fn drawn(&mut self, bytes: u64) -> bool {
        // they may come late, never early
        self.drawn = self.drawn.max(bytes.min(self.sent));
        bytes <= self.sent
    }

    /// How many bytes may be sent now.
    pub fn room(&self) -> usize {
        let open = self.sent.saturating_sub(self.drawn);
        usize::try_from(WINDOW.saturating_sub(open)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_window_is_on_its_way() {
        let mut flow = Flow::default();
        assert_eq!(flow.room() as u64, WINDOW);
        flow.sent(flow.room());
        assert_eq!(flow.room(), 0);
        assert!(flow.drawn(1000));
        assert_eq!(flow.room(), 1000);
        assert!(flow.drawn(10), "an older number changes nothing");
        assert_eq!(flow.room(), 1000);
        // a screen is sent whole, however large
        flow.sent(1_000_000);
        assert_eq!(flow.room(), 0);
        assert!(!flow.drawn(WINDOW + 1_000_001));
        assert!(flow.drawn(WINDOW + 1_000_000));
        assert_eq!(flow.room() as u64, WINDOW);
    }
}
