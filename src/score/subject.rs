//! What mutants change, the kernels on a simulated device or the host code, and what cases reach of it.

use std::collections::BTreeSet;

use super::places::Places;
use super::trace::{Change, Changes, Effect, Trace};
use super::{Chosen, host};
use crate::coverage::{Coverage, Kernel};
use crate::device::Device;
use crate::exec::environment::{HOST_MUTANT, MUTATE};
use crate::exec::{Build, Variable};

/// What mutants change.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An instruction of one of candle's kernels. The changes become known as kernels are launched.
    Kernels,
    /// A place in candle's host code, with all changes by function.
    Host(Changes),
}

impl Subject {
    /// The host code as the worker for this has it. The error says how to build it.
    pub fn host() -> anyhow::Result<Self> {
        Ok(Self::Host(host::changes()?))
    }

    /// The workers that run the mutants.
    pub fn build(&self) -> Build {
        match self {
            Self::Kernels => Build::Checked,
            Self::Host(_) => Build::Mutated,
        }
    }

    /// Whether a mutant can change what this device does.
    pub fn concerns(&self, device: Device) -> bool {
        match self {
            Self::Kernels => matches!(device, Device::Sim(_)),
            Self::Host(_) => true,
        }
    }

    /// The mutant's name, and the variable that makes workers run it.
    pub fn switch(&self, chosen: &Chosen, change: &Change) -> (String, Variable) {
        match self {
            Self::Kernels => {
                let name = format!("{}:#{}", chosen.of, chosen.number);
                (name.clone(), (MUTATE, name.into()))
            }
            Self::Host(_) => {
                let function = chosen.of.rsplit(' ').next().unwrap_or_default();
                (format!("{function} #{}", change.mark), (HOST_MUTANT, change.mark.to_string().into()))
            }
        }
    }

    /// A watch of what cases reach.
    pub(super) fn watch(&self) -> anyhow::Result<Watch> {
        Ok(match self {
            Self::Kernels => Watch::Kernels(Trace::new()?, Changes::new()),
            Self::Host(changes) => Watch::Host(Places::new(changes.values().map(Vec::len).sum())?),
        })
    }
}

/// Sees what the cases of one set of workers reach.
#[derive(Debug)]
pub(super) enum Watch {
    /// The trace of launches, and the changes of the kernels in it.
    Kernels(Trace, Changes),
    Host(Places),
}

impl Watch {
    /// The variable by which workers tell it.
    pub fn variable(&self) -> Variable {
        match self {
            Self::Kernels(trace, _) => trace.variable(),
            Self::Host(places) => places.variable(),
        }
    }

    /// What was reached since the last call.
    pub fn reached(&mut self) -> anyhow::Result<Reached> {
        Ok(match self {
            Self::Kernels(trace, changes) => Reached::Kernels(trace.launched(changes)?.kernels),
            Self::Host(places) => Reached::Host(places.take()?),
        })
    }

    /// The changes that became known.
    pub fn changes(self) -> Changes {
        match self {
            Self::Kernels(_, changes) => changes,
            Self::Host(_) => Changes::new(),
        }
    }
}

/// What a case reached without a change.
#[derive(Debug)]
pub enum Reached {
    /// The kernels that it launches.
    Kernels(BTreeSet<String>),
    /// The numbers of the mutants whose places it reaches.
    Host(BTreeSet<u32>),
}

impl Reached {
    /// Whether the case reaches the function with this change, in kernels, or the change itself, in host code.
    pub fn has(&self, chosen: &Chosen, change: &Change) -> bool {
        match self {
            Self::Kernels(kernels) => kernels.contains(&chosen.of),
            Self::Host(places) => places.contains(&(change.mark as u32)),
        }
    }
}

/// Whether the changed block of a kernel was entered.
pub fn is_entered(coverage: &Coverage, kernel: &str, change: &Change) -> bool {
    counts(coverage, kernel).any(|counts| counts.blocks.get(change.mark).is_some_and(|count| *count > 0))
}

/// Whether a change of a kernel had an effect, as far as the coverage shows it.
pub(super) fn has_effect(coverage: &Coverage, kernel: &str, change: &Change) -> bool {
    let Some(Effect { branch, jump, .. }) = change.effect else { return true };
    let taken = |&(_, fell_through, jumped): &(u32, u64, u64)| if jump { jumped > 0 } else { fell_through > 0 };
    counts(coverage, kernel).any(|counts| counts.branches.get(branch).is_some_and(taken))
}

fn counts<'a>(coverage: &'a Coverage, kernel: &'a str) -> impl Iterator<Item = &'a Kernel> {
    coverage.kernels.iter().filter(move |((_, name), _)| name == kernel).map(|(_, counts)| counts)
}
