//! A context of a device, and its health.
//!
//! A kernel's fault is sticky. Delivered late, as on hardware, it stays unseen until the program waits: before the first
//! synchronizing call every call succeeds; launches, copies and fills do nothing, and only allocation works. From that call
//! on, every call on the context returns the fault's code, until the process ends or the last release of the context, which
//! is taken to destroy it with everything in it.

use crate::objects::codes::Code;
use crate::objects::reports::{coverage, report};
use simulator::{Checks, Device};
use std::cell::RefCell;
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

/// What a program asked of a context.
pub struct Preferences {
    /// By their number in `CUlimit`: the stack, the buffer of `printf`, the heap, launches of kernels by kernels (depth and number),
    /// the cache's granularity and the part of it that persists.
    pub(crate) limits: [usize; 7],
    /// Whether kernels prefer shared memory or a cache: `CUfunc_cache`.
    pub(crate) cache: u32,
    /// How wide the banks of shared memory should be: `CUsharedconfig`.
    pub(crate) banks: u32,
}

impl Preferences {
    /// What a context has when it is new.
    pub(crate) const NEW: Self = Self { limits: [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0], cache: 0, banks: 1 };
}

/// A context, with memory and modules of its own.
pub struct Context {
    /// The device that it is of.
    pub(crate) ordinal: usize,
    pub(crate) device: Device,
    /// The users of a primary context; one of any other.
    pub(crate) retained: usize,
    pub(crate) health: Health,
    pub(crate) preferences: Preferences,
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

    /// Records what was executed and, if that is checked, what was never freed.
    pub(crate) fn end(&self, checks: Checks) {
        coverage::record(&self.device);
        self.device.leak().filter(|_| checks.leaks).iter().for_each(report::finding);
    }

    /// How the work so far has gone, for a function of the host that follows it.
    pub(crate) fn outcome(&self) -> Result<(), Code> {
        if let Health::Faulted(code) = self.health { Err(code) } else { self.check() }
    }

    /// The device; `None` after a fault, when work is dropped.
    pub(crate) fn working(&mut self) -> Option<&mut Device> {
        matches!(self.health, Health::Sound).then_some(&mut self.device)
    }
}

thread_local! {
    /// The handles of the thread's contexts, the current one last. A null handle is no context.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The handle of the thread's current context, or null.
pub(crate) fn current() -> usize {
    CONTEXTS.with_borrow(|contexts| contexts.last().copied().unwrap_or(0))
}

/// Makes a context current to the thread in the place of the one that is; null for none.
pub(crate) fn make_current(handle: usize) {
    pop();
    if handle != 0 {
        push(handle);
    }
}

/// Makes a context current to the thread, until it is popped.
pub(crate) fn push(handle: usize) {
    CONTEXTS.with_borrow_mut(|contexts| contexts.push(handle));
}

/// Makes the context current that was so before the last push; returns the one that was current.
pub(crate) fn pop() -> Option<usize> {
    CONTEXTS.with_borrow_mut(Vec::pop)
}
