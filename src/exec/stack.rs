//! A stack of the same size on every machine: that of the first thread is what `ulimit -s` says.

use std::io;
use std::panic::resume_unwind;
use std::thread;

/// The usual stack of the first thread of a process.
const STACK: usize = 8 << 20;

/// Does `work` on such a stack, in a thread of this name.
pub fn on_own_stack<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let thread = thread::Builder::new().name(name.to_string()).stack_size(STACK).spawn(work)?;
    Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
}
