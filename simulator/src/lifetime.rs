//! When memory was allocated and freed, counted in launches: a program's progress shows in its kernels.

use std::fmt;
use std::sync::Arc;

use crate::kernel::Kernel;

/// A moment between launches.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    launches: u64,
    last: Option<Arc<Kernel>>,
}

impl Moment {
    /// A kernel is launched.
    pub fn launch(&mut self, kernel: &Arc<Kernel>) {
        self.launches += 1;
        self.last = Some(Arc::clone(kernel));
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.last {
            None => f.write_str("before the first launch"),
            Some(kernel) => write!(f, "after launch {} (`{}`)", self.launches, kernel.name),
        }
    }
}

/// The life of one allocation.
#[derive(Debug, Default)]
pub struct Lifetime {
    pub allocated: Moment,
    pub freed: Option<Moment>,
}

impl Lifetime {
    /// A line for each end that is known.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("allocated {}", self.allocated)];
        notes.extend(self.freed.as_ref().map(|freed| format!("freed {freed}")));
        notes
    }
}
