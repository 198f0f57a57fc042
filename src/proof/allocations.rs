//! Counting what a thread allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts for each thread how often it is asked for memory. A program that wants to know makes it its
/// `#[global_allocator]`; it costs one addition for each allocation.
///
/// ```
/// use handover::proof::{CountingAllocator, allocations};
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator;
///
/// let (list, count) = allocations(|| vec![1, 2, 3]);
/// assert_eq!((list.len(), count), (3, 1));
/// let (_, count) = allocations(|| [1, 2, 3]);
/// assert_eq!(count, 0);
/// ```
pub struct CountingAllocator;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// What `work` gives, and how often this thread asked for memory meanwhile: 0 always in programs without [`CountingAllocator`].
pub fn allocations<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = COUNT.get();
    let result = work();
    (result, COUNT.get() - before)
}

fn count() {
    // A thread that ends still frees, and may allocate, when its variables are gone.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything is the system's allocator's; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}
