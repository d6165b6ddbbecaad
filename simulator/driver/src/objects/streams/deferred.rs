//! Deferred work: functions of the host, which run while the program goes on, and the work that must wait for them. Each has a thread.

use crate::objects::streams::happens_before::Key;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Whether deferred work has ended.
#[derive(Debug, Default)]
pub(crate) struct Done {
    is_done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    pub(crate) fn is_set(&self) -> bool {
        *self.is_done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self) {
        *self.is_done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the work. Whoever waits must not hold the driver's lock, which the work may need.
    pub(crate) fn wait(&self) {
        let is_done = self.is_done.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_done, |is_done| !*is_done).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Deferred work: its place in its stream.
pub(crate) struct Deferred {
    pub(crate) stream: Key,
    pub(crate) time: u64,
    pub(crate) done: Arc<Done>,
}
