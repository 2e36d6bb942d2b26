//! What the allocator keeps of what is freed. A daemon lives for weeks and mostly waits: what one
//! burst of work needed must not stay with it.
//!
//! Must not fail: where the system has no such settings, nothing is set.

/// Has to be called before there is another thread.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (setting, value) in [
        // Each thread would get a heap of its own, with holes of its own.
        (libc::M_ARENA_MAX, 1),
        // What is free at the end of the heap goes back, but for so much: a list of sessions would
        // have to get it again each time. Unset, this grows with the largest text there ever was.
        (libc::M_TRIM_THRESHOLD, 512 << 10),
        (libc::M_MMAP_THRESHOLD, 4 << 20),
    ] {
        // SAFETY: takes two numbers and changes how later calls allocate; nothing of ours is touched.
        unsafe {
            libc::mallopt(setting, value);
        }
    }
}
