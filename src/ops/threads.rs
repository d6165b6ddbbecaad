//! The host threads of a sequence. They live as long as the process: where a thread that used a GPU ends, the driver may not return.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::case::OTHER_THREADS;

/// Does `work` in this thread, and waits for its end. Thread 0 is the caller's. A panic goes on in the calling thread.
pub fn on<T: Send>(thread: usize, work: impl FnOnce() -> T + Send) -> T {
    static POOLS: [OnceLock<ThreadPool>; OTHER_THREADS] = [const { OnceLock::new() }; OTHER_THREADS];
    let Some(pool) = thread.checked_sub(1).map(|other| &POOLS[other]) else { return work() };
    let of_one = || ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| format!("thread {thread}"));
    pool.get_or_init(|| of_one().build().expect("the machine has a thread")).install(work)
}
