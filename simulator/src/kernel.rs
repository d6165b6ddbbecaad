//! A kernel ready to run: device functions inlined, names resolved, blocks in an order in which diverged lanes meet again.

mod addresses;
mod arrays;
mod block_layout;
mod condition;
mod decode;
mod names;
mod steady;
mod unset;

use crate::isa::{
    ArithmeticCheck, BlockBarrier, Carry, Choose, FloatTypes, Four, Gather, Matrix, One, Scope, Space, Strength,
    TaintRule, Three, Two, Update,
};
use crate::lanes::{Lanes, WARP};
use crate::ptx::Source;

pub use arrays::Arrays;
pub use condition::Edge;
pub use decode::decode;
pub use names::offsets;

/// A register's index in its warp's register file.
pub type Register = u32;

/// Always zero.
pub const ZERO: Register = 0;
/// The carry flag of each lane.
pub const CARRY: Register = 1;
/// Written and never read.
pub const SINK: Register = 2;
/// The address in local memory where the frame of the present function begins.
pub const FRAME: Register = 3;

/// What one instruction does.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// `d = f(args)`
    One(One),
    /// `d = f(args)`
    Two(Two),
    /// `d = f(args)`
    Three(Three),
    /// `d = f(args)`
    Four(Four),
    /// `d, carry = f(args, carry)`
    Carry(Carry),
    /// `d = [args[0] + offset]`, sign-extended or not.
    Load { space: Space, bytes: u8, signed: bool },
    /// `[args[0] + offset] = args[1]`
    Store { space: Space, bytes: u8 },
    /// `d = [args[0] + offset]`, which becomes `update(d, args[1], args[2])`.
    Atomic { space: Space, bytes: u8, update: Update },
    /// Faults if `args[0] + offset` is not a multiple of `bytes`: a vector is aligned as a whole.
    Align { space: Space, bytes: u8 },
    /// `d` = the kernel's parameter at byte `args[0] + offset`.
    Param { bytes: u8, signed: bool },
    /// Begins to copy `bytes` bytes to `args[0]` in shared memory: from `args[1] + offset` in global memory, as many as `args[2]`
    /// says, and zeros. `d` and `d2` hold what the checks need.
    CopyAsync { bytes: u8 },
    /// Ends the group of copies that the threads have begun.
    CommitCopies,
    /// The threads' copies end: all of them, or without the last `args[0]` groups.
    AwaitCopies { all: bool },
    /// Other warps run before the lanes go on in which `args[0]` does not hold.
    Poll,
    /// `d, d2 = shuffle(args[0], lane args[1], clamp args[2], members args[3])`
    Shuffle(Choose),
    /// `d, d2 = gather(args[0], members args[1])`
    Gather(Gather),
    /// `d` = the lanes that execute this.
    ActiveMask,
    /// This one of [`Kernel::matrices`]; if it accesses memory, from `args[0] + offset` on, its lines `args[1]` elements apart.
    Matrix(u32),
    /// Lanes of the mask `args[0]` meet.
    WarpBarrier,
    /// Orders a thread's accesses before it and those after it.
    Fence(Scope),
    /// Threads of the block meet at barrier `args[0]`: as many as `args[1]` says, or all if it is zero. `d` is what they learn of
    /// each other's `args[2]`.
    Barrier(BlockBarrier),
    /// The kernel ends itself, by the instruction of this name.
    Trap(&'static str),
    /// Calls a function of [`Kernel::functions`], or the one at the address `args[0]`, with the registers of list `list`. Its frame
    /// begins `args[1]` bytes after the present one.
    Call { function: Option<u32>, list: u32 },
    /// Goes back to where this function was called.
    Return,
    /// `d` = the address of `args[0]` new bytes of global memory.
    Allocate,
    /// Frees what begins at the address `args[0]`.
    Free,
    /// A failed assertion: message, file, line, function; `offset` is its number in [`Kernel::assertions`].
    Assert,
    /// `d` = the number of arguments that `printf` took: the format is at `args[0]`, the arguments at `args[1]`.
    Print,
    /// `d` = how many warp instructions the launch has executed.
    Clock,
    /// Nothing; replaces an instruction that a mutation drops.
    Nothing,
    /// The thread ends.
    Exit,
    /// Goes to a label while decoding, to an instruction when ready.
    Goto(u32),
    /// Goes there if `args[0]` holds (or does not, if `negated`); counted as branch number `branch`.
    If { to: u32, negated: bool, branch: u32 },
    /// A block begins: counted by its number; `length` is taken off the budget.
    Enter { block: u32, length: u32 },
}

impl Op {
    /// The number of operands that a function of lanes has.
    pub fn sources(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Two(_) => 2,
            Self::Three(_) => 3,
            _ => 4,
        }
    }

    /// The result of an instruction that is a function of lanes; zeros for others.
    pub fn computed(&self, [a, b, c, d]: &[Lanes; 4]) -> Lanes {
        let mut result = [0; WARP];
        match self {
            Self::One(run) => run(a, &mut result),
            Self::Two(run) => run(a, b, &mut result),
            Self::Three(run) => run(a, b, c, &mut result),
            Self::Four(run) => run(a, b, c, d, &mut result),
            _ => {}
        }
        result
    }
}

/// An instruction.
#[derive(Debug, Clone, Copy)]
pub struct Inst {
    pub op: Op,
    pub d: Register,
    pub d2: Register,
    pub args: [Register; 4],
    pub offset: i64,
    pub source: Source,
    /// How undefined bits reach the result.
    pub taint_rule: TaintRule,
    /// The arithmetic mistake to look for.
    pub arithmetic_check: ArithmeticCheck,
    /// The floating-point numbers that it computes, if it does.
    pub floats: Option<FloatTypes>,
    /// How a strong access orders others.
    pub strength: Option<Strength>,
    /// Whether a thread may wait for others by repeating this access: to take a lock, or to read a flag.
    pub asks: bool,
}

impl Inst {
    /// An instruction without operands.
    pub fn new(op: Op) -> Self {
        Self {
            op,
            d: SINK,
            d2: SINK,
            args: [ZERO; 4],
            offset: 0,
            source: Source::default(),
            taint_rule: TaintRule::Whole,
            arithmetic_check: ArithmeticCheck::Nothing,
            floats: None,
            strength: None,
            asks: false,
        }
    }
}

/// What an instruction on matrices does, and the registers of its vectors, one after the other.
#[derive(Debug)]
pub struct MatrixInst {
    pub what: Matrix,
    pub registers: Vec<Register>,
}

/// A read-only register that the hardware fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`, by axis.
    Thread(usize),
    /// `%ntid`
    BlockSize(usize),
    /// `%ctaid`
    Block(usize),
    /// `%nctaid`
    GridSize(usize),
    /// `%laneid`
    Lane,
    /// `%warpid`
    Warp,
    /// `%gridid`
    Grid,
    /// Bytes of shared memory: what the launch asks for, and with what the kernel declares.
    Shared { dynamic_only: bool },
    /// The same for all threads of all launches.
    Fixed(u64),
    /// Half of the address of a cooperative launch's workspace, 0 in other launches.
    Workspace { high: bool },
    /// `%lanemask_…`: any of the lanes below this one, itself and those above.
    LaneMask { below: bool, itself: bool, above: bool },
}

/// A function that is not inlined: a recursive one, or one that is called by its address.
#[derive(Debug)]
pub struct Callee {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Where it begins.
    pub entry: u32,
    /// Its registers, which a call saves for the calls of it that have not ended.
    pub registers: std::ops::Range<Register>,
    /// The registers of these that get the addresses of parameters and results.
    pub formals: Vec<Register>,
    /// Why it cannot run, if it cannot.
    pub unsupported: Option<String>,
}

/// A decoded kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Instructions; the pc is an index. Blocks are in reverse post-order.
    pub code: Vec<Inst>,
    /// Where the first instructions end that compute the same for all warps of a launch.
    pub steady: usize,
    /// The registers that a launch clears: the others are written before they are read.
    pub unset: Vec<Register>,
    /// Registers in all.
    pub registers: usize,
    /// Registers that hold a constant.
    pub constants: Vec<(Register, u64)>,
    /// Registers that the launch fills.
    pub specials: Vec<(Register, Special)>,
    /// The functions that are not inlined.
    pub functions: Vec<Callee>,
    /// The address of the frames of these functions, if there are any.
    pub frames: Option<u64>,
    /// The registers of instructions that have too many for [`Inst`].
    pub lists: Vec<Vec<Register>>,
    /// The instructions on matrices.
    pub matrices: Vec<MatrixInst>,
    /// Bytes of shared memory that the kernel declares.
    pub shared: u32,
    /// Bytes of local memory of each thread.
    pub local: u32,
    /// The arrays of shared memory.
    pub shared_arrays: Arrays,
    /// The arrays of a thread's local memory.
    pub local_arrays: Arrays,
    /// Whether threads of a block may wait for each other: at barriers, or for what another one writes.
    pub waits: bool,
    /// Whether a thread may wait for what another one writes.
    pub asks: bool,
    /// Whether threads may order their accesses by more than barriers of whole blocks and warps: by fences, by accesses that release or
    /// acquire, or by barriers of some threads.
    pub orders: bool,
    /// The source line where each block begins.
    pub blocks: Vec<Source>,
    /// The source line of each conditional branch.
    pub branches: Vec<Source>,
    /// The forms of its instructions, each once. `mul.f32+add.f32` stands for a sum that a GPU may fuse with its product.
    pub forms: Vec<String>,
    /// The branch edges that lead to each assertion's failure.
    pub assertions: Vec<Vec<Edge>>,
}

impl Kernel {
    /// Finds what launches can save.
    pub fn analyze(&mut self) {
        self.drop_checks_without_effect();
        self.steady = self.find_steady();
        self.unset = self.find_unset();
    }

    /// A register that nothing uses yet.
    pub(crate) fn new_register(&mut self) -> Register {
        self.registers += 1;
        self.registers as Register - 1
    }
}
