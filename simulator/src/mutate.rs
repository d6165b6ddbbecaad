//! Mutations: one small, named change to a kernel, which the suite's checks must notice unless it makes no difference.

mod effect;
mod equivalent;
mod rounds;

use crate::kernel::{Inst, Kernel, Op, ZERO};
use crate::ptx::Module;

pub use effect::Effect;

/// The kernel to change, and which of the possible changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The kernel; without one, the first that is decoded.
    pub kernel: Option<String>,
    /// Which change.
    pub choice: Choice,
}

/// One of a kernel's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The one that this seed selects, or else the next that makes a difference.
    Seed(u64),
    /// The change that `changes` lists at this index.
    Number(usize),
}

impl std::str::FromStr for Mutation {
    type Err = String;
    /// `SEED`, `KERNEL:SEED` or `KERNEL:#NUMBER`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kernel, choice) = text.rsplit_once(':').map_or((None, text), |(kernel, choice)| (Some(kernel), choice));
        let wrong = || format!("`{text}` is not a mutation; write SEED, KERNEL:SEED or KERNEL:#NUMBER");
        let choice = match choice.strip_prefix('#') {
            Some(number) if kernel.is_some() => Choice::Number(number.parse().map_err(|_| wrong())?),
            _ => Choice::Seed(choice.parse().map_err(|_| wrong())?),
        };
        Ok(Self { kernel: kernel.map(str::to_string), choice })
    }
}

/// A change that a mutation can make to a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it does.
    pub what: &'static str,
    /// The source file of what it changes.
    pub file: String,
    /// Its line there, 0 if unknown.
    pub line: u32,
    /// The number of its block, as coverage counts them.
    pub block: usize,
    /// What shows that it changed a value or a lane's way; `None` if that is certain once its block is entered.
    pub effect: Option<Effect>,
    /// Whether it is known to make no difference.
    pub equivalent: bool,
    /// Whether only a thread that has several elements, because the grid has fewer threads, can execute what it changes.
    pub further_round: bool,
}

/// Every change that a mutation can make to `kernel`; [`Choice::Number`] is an index into this list.
pub fn changes(kernel: &Kernel, module: &Module) -> Vec<Change> {
    let further = rounds::only_in_further_rounds(kernel);
    let possible = possible(kernel).into_iter();
    possible.map(|(at, kind)| described(kernel, module, at, kind, further[at])).collect()
}

/// Applies the change that `mutation` chooses and names it; `None` if the mutation is for another kernel, or there is no
/// change.
pub fn apply(kernel: &mut Kernel, mutation: &Mutation, module: &Module) -> Option<String> {
    if mutation.kernel.as_ref().is_some_and(|name| *name != kernel.name) {
        return None;
    }
    let possible = possible(kernel);
    let (at, kind) = match mutation.choice {
        Choice::Number(number) => *possible.get(number)?,
        Choice::Seed(seed) => {
            // A multiplicative hash, so that neighbouring seeds change different places.
            let spread = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
            let (before, from) = possible.split_at((spread % possible.len().max(1) as u64) as usize);
            *from.iter().chain(before).find(|(at, kind)| !equivalent::is(kernel, *at, *kind))?
        }
    };
    let (what, (file, line)) = (kind.name(), place(kernel, module, at));
    make(kernel, at, kind);
    Some(format!("{}: {what} at {}:{line}", kernel.name, file.rsplit('/').next().unwrap_or(&file)))
}

/// The source file and line of an instruction.
fn place(kernel: &Kernel, module: &Module, at: usize) -> (String, u32) {
    let source = kernel.code[at].source;
    (module.files.get(&source.file).cloned().unwrap_or_else(|| "?".to_string()), source.line)
}

fn described(kernel: &Kernel, module: &Module, at: usize, kind: Kind, further_round: bool) -> Change {
    let (file, line) = place(kernel, module, at);
    let enters = kernel.code[..=at].iter().filter(|inst| matches!(inst.op, Op::Enter { .. }));
    Change {
        what: kind.name(),
        file,
        line,
        // Blocks are numbered in their order.
        block: enters.count().saturating_sub(1),
        effect: effect::of(kernel, at, kind),
        equivalent: equivalent::is(kernel, at, kind),
        further_round,
    }
}

/// A change of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NeverTaken,
    AlwaysTaken,
    Inverted,
    BarrierDropped,
    AssertionDropped,
    StoreDropped,
    StoreMoved,
    LoadMoved,
    Swapped,
    Incremented,
    AddendDropped,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::NeverTaken => "a branch is never taken",
            Self::AlwaysTaken => "a branch is always taken",
            Self::Inverted => "a condition is inverted",
            Self::BarrierDropped => "a barrier is dropped",
            Self::AssertionDropped => "an assertion is dropped",
            Self::StoreDropped => "a store is dropped",
            Self::StoreMoved => "a store goes one element too far",
            Self::LoadMoved => "a load comes from one element too far",
            Self::Swapped => "operands are swapped",
            Self::Incremented => "a constant is one more",
            Self::AddendDropped => "an addend is dropped",
        }
    }
}

/// Every change by the instruction that it changes.
fn possible(kernel: &Kernel) -> Vec<(usize, Kind)> {
    let kinds = |at: usize| kinds(kernel, at).iter().map(move |&kind| (at, kind));
    (0..kernel.code.len()).flat_map(kinds).collect()
}

fn kinds(kernel: &Kernel, at: usize) -> &'static [Kind] {
    let inst = &kernel.code[at];
    match inst.op {
        Op::If { .. } => &[Kind::NeverTaken, Kind::AlwaysTaken, Kind::Inverted],
        Op::Barrier(_) => &[Kind::BarrierDropped],
        Op::Assert => &[Kind::AssertionDropped],
        Op::Store { .. } => &[Kind::StoreDropped, Kind::StoreMoved],
        Op::Load { .. } => &[Kind::LoadMoved],
        Op::Two(_) if kernel.constants.iter().any(|(register, _)| *register == inst.args[1]) => {
            &[Kind::Swapped, Kind::Incremented]
        }
        Op::Two(_) => &[Kind::Swapped],
        Op::Three(_) => &[Kind::AddendDropped],
        _ => &[],
    }
}

fn make(kernel: &mut Kernel, at: usize, kind: Kind) {
    let original = kernel.code[at];
    let inst = &mut kernel.code[at];
    match (kind, &mut inst.op) {
        (Kind::BarrierDropped | Kind::AssertionDropped | Kind::StoreDropped, what) => *what = Op::Nothing,
        // The branch stays, so that it is counted; both of its edges lead to the same place.
        (Kind::NeverTaken, Op::If { to, .. }) => *to = at as u32 + 1,
        (Kind::AlwaysTaken, Op::If { to, .. }) => {
            let to = if *to as usize > at { *to + 1 } else { *to };
            effect::insert_after(kernel, at, &[Inst { source: original.source, ..Inst::new(Op::Goto(to)) }]);
        }
        (Kind::Inverted, Op::If { negated, .. }) => *negated = !*negated,
        (Kind::StoreMoved | Kind::LoadMoved, Op::Load { bytes, .. } | Op::Store { bytes, .. }) => {
            inst.offset += i64::from(*bytes);
        }
        (Kind::Swapped, _) => inst.args.swap(0, 1),
        (Kind::Incremented, _) => increment(kernel, at),
        (Kind::AddendDropped, _) => inst.args[2] = ZERO,
        (Kind::NeverTaken | Kind::AlwaysTaken | Kind::Inverted | Kind::StoreMoved | Kind::LoadMoved, _) => {}
    }
    if matches!(kind, Kind::Swapped | Kind::Incremented | Kind::AddendDropped) {
        effect::compare(kernel, at, original);
    }
}

/// Replaces an instruction's second operand, a constant, by a new register that holds one more.
fn increment(kernel: &mut Kernel, at: usize) {
    let constant = kernel.code[at].args[1];
    let value = kernel.constants.iter().find(|(register, _)| *register == constant).map_or(0, |(_, value)| *value);
    let register = kernel.new_register();
    kernel.constants.push((register, value.wrapping_add(1)));
    kernel.code[at].args[1] = register;
}
