//! The primary context of a device, and its health.
//!
//! A kernel's fault is sticky. Delivered late, as on hardware, it stays unseen until the program waits: before the first
//! synchronizing call every call succeeds; launches, copies and fills do nothing, and only allocation works. From that call
//! on, every call on the context returns the fault's code, until the process ends or the last release of the context, which
//! is taken to destroy it with everything in it.

use super::codes::Code;
use simulator::Device;
use std::cell::Cell;
use std::collections::HashMap;
use std::thread;

/// The health of a context.
#[derive(Clone, Copy)]
pub enum Health {
    Sound,
    /// A kernel faulted, and the program has not seen it yet.
    Faulted(Code),
    Dead(Code),
    /// A kernel does not end.
    Hanging,
}

/// The primary context of a device, while it is retained.
pub struct Context {
    pub(crate) device: Device,
    pub(crate) retained: usize,
    pub(crate) health: Health,
    /// The modules of linked fat binaries that were used.
    pub(crate) linked: HashMap<usize, usize>,
}

impl Context {
    /// The error that a call without waiting returns.
    pub(crate) fn check(&self) -> Result<(), Code> {
        match self.health {
            Health::Dead(code) => Err(code),
            Health::Sound | Health::Faulted(_) | Health::Hanging => Ok(()),
        }
    }

    /// Waits for all work of the context; a fault becomes visible.
    pub(crate) fn synchronize(&mut self) -> Result<(), Code> {
        if matches!(self.health, Health::Hanging) {
            loop {
                thread::park();
            }
        }
        if let Health::Faulted(code) = self.health {
            self.health = Health::Dead(code);
        }
        self.check()
    }

    /// The device; `None` after a fault, when work is dropped.
    pub(crate) fn working(&mut self) -> Option<&mut Device> {
        matches!(self.health, Health::Sound).then_some(&mut self.device)
    }
}

thread_local! {
    /// The handle of the thread's current context, or null.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The handle of the thread's current context, or null.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

/// Makes a context current to the thread; null for no context.
pub(crate) fn make_current(handle: usize) {
    CURRENT.set(handle);
}
