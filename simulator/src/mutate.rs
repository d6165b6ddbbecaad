//! One small, named change to a kernel: what a check of the suite must notice, or be shown not to.

use crate::kernel::{Do, Kernel};
use crate::ptx::Module;

/// Which kernel to change, and which of the possible changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The kernel; without one, the first that is decoded.
    pub kernel: Option<String>,
    /// Chooses among the changes.
    pub seed: u64,
}

impl std::str::FromStr for Mutation {
    type Err = String;
    /// `SEED` or `KERNEL:SEED`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kernel, seed) = text.rsplit_once(':').map_or((None, text), |(kernel, seed)| (Some(kernel), seed));
        let seed = seed.parse().map_err(|_| format!("`{text}` is no mutation; write SEED or KERNEL:SEED"))?;
        Ok(Self { kernel: kernel.map(str::to_string), seed })
    }
}

/// A change to the instruction at `at`.
struct Change {
    at: usize,
    what: &'static str,
    make: fn(&mut Kernel, usize),
}

/// Applies the change that `mutation` chooses and names it; `None` where this kernel is not meant or has none.
pub fn apply(kernel: &mut Kernel, mutation: &Mutation, module: &Module) -> Option<String> {
    if mutation.kernel.as_ref().is_some_and(|name| *name != kernel.name) {
        return None;
    }
    let changes: Vec<Change> = (0..kernel.code.len()).flat_map(|at| changes(kernel, at)).collect();
    // Spread by a multiplicative hash, so that neighbouring seeds change different places.
    let spread = mutation.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
    let change = changes.get((spread % changes.len().max(1) as u64) as usize)?;
    let source = kernel.code[change.at].source;
    (change.make)(kernel, change.at);
    let file = module.files.get(&source.file).map_or("?", |file| file.rsplit('/').next().unwrap_or(file));
    Some(format!("{}: {} at {file}:{}", kernel.name, change.what, source.line))
}

fn changes(kernel: &Kernel, at: usize) -> Vec<Change> {
    let change = |what, make: fn(&mut Kernel, usize)| Change { at, what, make };
    match kernel.code[at].what {
        Do::If { .. } => vec![
            change("a branch is never taken", |kernel, at| kernel.code[at].what = NOTHING),
            change("a branch is always taken", |kernel, at| {
                if let Do::If { to, .. } = kernel.code[at].what {
                    kernel.code[at].what = Do::Goto(to);
                }
            }),
            change("a condition is inverted", |kernel, at| {
                if let Do::If { negated, .. } = &mut kernel.code[at].what {
                    *negated = !*negated;
                }
            }),
        ],
        Do::Barrier => vec![change("a barrier is dropped", |kernel, at| kernel.code[at].what = NOTHING)],
        Do::Assert => vec![change("an assertion is dropped", |kernel, at| kernel.code[at].what = NOTHING)],
        Do::Store { bytes, .. } => {
            let drop = change("a store is dropped", |kernel, at| kernel.code[at].what = NOTHING);
            let shift: fn(&mut Kernel, usize) = |kernel, at| {
                if let Do::Store { bytes, .. } = kernel.code[at].what {
                    kernel.code[at].offset += i64::from(bytes);
                }
            };
            let _ = bytes;
            vec![drop, change("a store goes one element too far", shift)]
        }
        Do::Load { .. } => vec![change("a load comes from one element too far", |kernel, at| {
            if let Do::Load { bytes, .. } = kernel.code[at].what {
                kernel.code[at].offset += i64::from(bytes);
            }
        })],
        Do::Two(_) => vec![change("operands are swapped", |kernel, at| kernel.code[at].args.swap(0, 1))],
        Do::Three(_) => {
            vec![change("an addend is dropped", |kernel, at| kernel.code[at].args[2] = crate::kernel::ZERO)]
        }
        _ => Vec::new(),
    }
}

/// An instruction that does nothing.
const NOTHING: Do = Do::Enter { block: 0, length: 0 };
