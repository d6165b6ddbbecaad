//! When memory was allocated and freed, counted in launches: a program's progress shows in its kernels.

use std::sync::Arc;

use crate::fault::{self, Note};
use crate::kernel::Kernel;

/// A moment between launches.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    launches: u64,
    /// The name of the last one: the kernel itself may be unloaded long before this is forgotten.
    last: Option<Arc<str>>,
}

impl Moment {
    /// A kernel is launched.
    pub fn launch(&mut self, kernel: &Kernel) {
        self.launches += 1;
        if self.last.as_deref() != Some(&kernel.name) {
            self.last = Some(kernel.name.as_str().into());
        }
    }
}

impl From<&Moment> for fault::Moment {
    fn from(Moment { launches, last }: &Moment) -> Self {
        Self { launches: *launches, kernel: last.as_deref().map(str::to_string) }
    }
}

/// The life of one allocation.
#[derive(Debug, Default)]
pub struct Lifetime {
    pub allocated: Moment,
    pub freed: Option<Moment>,
}

impl Lifetime {
    /// A note for each end that is known.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = vec![Note::Allocated((&self.allocated).into())];
        notes.extend(self.freed.as_ref().map(|freed| Note::Freed(freed.into())));
        notes
    }
}
