//! An allocator that counts, and costs next to nothing while it does not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// The bytes that this thread has allocated and not freed since it began to count, and the most at a time.
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// What a thread allocated.
#[derive(Clone, Copy, Debug)]
pub struct Allocations {
    /// How often.
    pub count: u64,
    /// The most bytes that it held at a time beyond those it held at first.
    pub peak: u64,
}

/// The system's allocator, for `#[global_allocator]`, which counts allocations inside [`counted`].
///
/// The counting allocators on the registry always count, which makes the clients that allocate most look slower than
/// they are.
pub struct Counting;

/// Forwards every call to the system's allocator, so its contract holds as far as the caller keeps it; counting does
/// not allocate.
#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn count(size: usize, freed: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        COUNT.set(COUNT.get() + 1);
        hold(size as i64 - freed as i64);
    }
}

#[inline]
fn freed(size: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        hold(-(size as i64));
    }
}

fn hold(more: i64) {
    let held = HELD.get() + more;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

/// Runs `run`, and returns what this thread allocated meanwhile. Needs [`Counting`] as the global allocator.
pub fn counted<T>(run: impl FnOnce() -> T) -> (T, Allocations) {
    let before = COUNT.get();
    HELD.set(0);
    PEAK.set(0);
    IS_COUNTING.store(true, Ordering::Relaxed);
    let result = run();
    IS_COUNTING.store(false, Ordering::Relaxed);
    (result, Allocations { count: COUNT.get() - before, peak: u64::try_from(PEAK.get()).unwrap_or(0) })
}
