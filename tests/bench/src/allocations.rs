//! An allocator that counts, and costs next to nothing while it does not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
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
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn count() {
    if IS_COUNTING.load(Ordering::Relaxed) {
        COUNT.set(COUNT.get() + 1);
    }
}

/// Runs `run`, and returns how often this thread allocated meanwhile. Needs [`Counting`] as the global allocator.
pub fn counted<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = COUNT.get();
    IS_COUNTING.store(true, Ordering::Relaxed);
    let result = run();
    IS_COUNTING.store(false, Ordering::Relaxed);
    (result, COUNT.get() - before)
}
