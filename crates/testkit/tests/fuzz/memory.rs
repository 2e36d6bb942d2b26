//! How much memory this thread has asked for: an allocator that counts and otherwise does nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(change: isize) {
    // a thread that ends has no counters any more
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

fn size(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        count(size(new) - size(layout.size()));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new) }
    }
}

/// Counts from here.
pub fn begin() {
    NOW.set(0);
    PEAK.set(0);
}

/// The most there was at once since then.
pub fn peak() -> usize {
    usize::try_from(PEAK.get()).unwrap_or(0)
}

#[test]
fn memory_is_counted() {
    begin();
    drop(std::hint::black_box(vec![1_u8; 1 << 20]));
    assert!(peak() >= 1 << 20 && peak() < 2 << 20, "{}", peak());
}
