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
            change("a branch is never taken", drop),
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
        Do::Barrier => vec![change("a barrier is dropped", drop)],
        Do::Assert => vec![change("an assertion is dropped", drop)],
        Do::Store { .. } => vec![change("a store is dropped", drop), change("a store goes one element too far", shift)],
        Do::Load { .. } => vec![change("a load comes from one element too far", shift)],
        Do::Two(_) => {
            let mut changes = vec![change("operands are swapped", |kernel, at| kernel.code[at].args.swap(0, 1))];
            if kernel.constants.iter().any(|(register, _)| *register == kernel.code[at].args[1]) {
                changes.push(change("a constant is one more", increment));
            }
            changes
        }
        Do::Three(_) => {
            vec![change("an addend is dropped", |kernel, at| kernel.code[at].args[2] = crate::kernel::ZERO)]
        }
        _ => Vec::new(),
    }
}

fn drop(kernel: &mut Kernel, at: usize) {
    kernel.code[at].what = Do::Nothing;
}

/// Moves an access by its own size.
fn shift(kernel: &mut Kernel, at: usize) {
    if let Do::Load { bytes, .. } | Do::Store { bytes, .. } = kernel.code[at].what {
        kernel.code[at].offset += i64::from(bytes);
    }
}

/// Gives an instruction's second operand, a constant, a register of its own that holds one more.
fn increment(kernel: &mut Kernel, at: usize) {
    let constant = kernel.code[at].args[1];
    let value = kernel.constants.iter().find(|(register, _)| *register == constant).map_or(0, |(_, value)| *value);
    let register = kernel.registers as u32;
    kernel.registers += 1;
    kernel.constants.push((register, value.wrapping_add(1)));
    kernel.code[at].args[1] = register;
}
