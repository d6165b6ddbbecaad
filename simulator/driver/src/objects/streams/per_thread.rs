//! The default stream that each thread of the program has for itself: `CU_STREAM_PER_THREAD`, and stream 0 of what is compiled
//! for it. Nothing orders those of two threads but what orders any two streams (CUDA Driver API, Stream synchronization behavior).

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Its handle, the same in every thread.
pub const HANDLE: usize = 2;

/// Marks a thread's own stream in a stream's key; the thread's number follows.
const MARK: usize = 0x2D << 56;

/// How many threads have used their stream.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The streams of threads that have ended since [`take_ended`] was asked last.
static ENDED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

struct Thread(usize);

impl Drop for Thread {
    fn drop(&mut self) {
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

thread_local! {
    static OWN: Thread = Thread(MARK | THREADS.fetch_add(1, Ordering::Relaxed));
    static IS_DEFAULT: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call whose stream 0 is the thread's own.
pub fn as_default<T>(call: impl FnOnce() -> T) -> T {
    IS_DEFAULT.set(true);
    let result = call();
    IS_DEFAULT.set(false);
    result
}

/// The stream that the calling thread means by a handle, for a key. The default stream that all threads share has two handles.
pub fn resolved(handle: usize) -> usize {
    match handle {
        0 if IS_DEFAULT.get() => own(),
        0..=1 => 0,
        HANDLE => own(),
        handle => handle,
    }
}

/// The calling thread's own stream, for a key.
fn own() -> usize {
    // A destructor of the thread that comes after this one still makes calls.
    OWN.try_with(|own| own.0).unwrap_or(MARK | usize::MAX >> 8)
}

/// True if a key's stream is a thread's own.
pub fn is_one(stream: usize) -> bool {
    stream & (0xFF << 56) == MARK
}

/// The streams of the threads that have ended since the last call.
pub fn take_ended() -> Vec<usize> {
    std::mem::take(&mut *ENDED.lock().unwrap_or_else(PoisonError::into_inner))
}
