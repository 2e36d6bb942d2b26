//! Large sessions are opened without holding more than is needed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use sm_agent::session::{SessionFile, read};
use sm_testkit::sessions::{Shape, Synthetic};

/// Counts what this process holds. Each test runs in a process of its own or waits for the other.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most that was held at once while `work` ran, beyond what was held before.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let done = work();
    (PEAK.load(Ordering::Relaxed) - before, done)
}

const BYTES: u64 = 20 << 20;

#[test]
fn memory_holds_what_the_model_is_sent_and_little_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.jsonl");
    // How many bytes for each byte of the file, in hundredths.
    let table = [
        (Shape::Straight, 130),
        (Shape::Branched, 80),
        (Shape::Compacted, 20),
    ];
    for (shape, most) in table {
        let written = Synthetic {
            cwd: Path::new("/w"),
            bytes: BYTES,
            shape,
        }
        .write(&path)
        .unwrap();
        let (peak, opened) = peak(|| SessionFile::open(&path).unwrap());
        let (file, opened) = opened;
        assert_eq!(opened.messages.len(), written.messages, "{shape:?}");
        assert_eq!(opened.message_entries, written.message_entries);
        assert_eq!(opened.damaged, 0);
        assert_eq!(opened.model, Some(("fake".into(), "fake-1".into())));
        assert_eq!(
            file.leaf().unwrap().to_string(),
            format!("{:08x}", written.entries - 1)
        );
        let hundredths = peak as u64 * 100 / written.bytes;
        assert!(hundredths < most, "{shape:?}: {hundredths}");
        drop((file, opened));
        assert_eq!(read(&path).unwrap().messages.len(), written.messages);
    }
}
