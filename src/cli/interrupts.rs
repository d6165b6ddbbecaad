//! The signals that ask a command to end: at once, or in order while it has something to save.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// The handlers of SIGINT, SIGTERM and SIGHUP.
#[derive(Debug)]
pub struct Interrupts {
    /// True once a signal has arrived.
    came: Arc<AtomicBool>,
    /// True if the next signal ends the process at once, with 128 plus the signal's number, as shells report it.
    at_once: Arc<AtomicBool>,
}

impl Interrupts {
    /// Listens to the signals, of which the first one ends the process at once. One that is ignored stays so: that is how `nohup`
    /// and a shell keep a command in the background alive.
    pub fn listen() -> anyhow::Result<Self> {
        let interrupts = Self { came: Arc::default(), at_once: Arc::new(AtomicBool::new(true)) };
        let ignored = ignored().unwrap_or(0);
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & 1 << (signal - 1) == 0) {
            // What is registered first happens first: only the second signal sees what the first one sets.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupts.at_once))
                .and_then(|_| flag::register(signal, Arc::clone(&interrupts.at_once)))
                .and_then(|_| flag::register(signal, Arc::clone(&interrupts.came)))
                .context("cannot listen for interrupts")?;
        }
        Ok(interrupts)
    }

    /// A flag that the first signal sets while it does not end the process.
    pub fn came(&self) -> &Arc<AtomicBool> {
        &self.came
    }

    /// Until this is dropped the first signal only sets the flag, so that work ends in order. The second one ends the process.
    pub fn in_order(&self) -> InOrder<'_> {
        self.at_once.store(false, Ordering::Relaxed);
        InOrder(&self.at_once)
    }
}

/// While it lives, work ends in order.
#[derive(Debug)]
pub struct InOrder<'a>(&'a AtomicBool);

impl Drop for InOrder<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A flag that the first interrupt sets, so that work ends in order. The second one ends the process at once.
pub fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupts = Interrupts::listen()?;
    interrupts.at_once.store(false, Ordering::Relaxed);
    Ok(interrupts.came)
}

/// A write beyond the user's limit of a file's size is an error with a message, and not the end of the process. Children have the signal
/// as before.
pub fn outlive_large_files() -> anyhow::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).context("cannot listen for signals")?;
    Ok(())
}

/// The signals that this process ignores, a bit each (`proc_pid_status(5)`, `SigIgn`). `None` where the system does not say.
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
