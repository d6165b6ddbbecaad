//! The instruction table: every PTX form that the simulator executes, by its full name. The decoder and the documentation
//! read it. A form that is not here is reported as unsupported, by name.

mod asynchronous;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod memory;
mod taint_rules;
mod video;
mod warp;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::lanes::Lanes;

pub use asynchronous::BarrierObject;
pub use matrix::{Arithmetic, Element, Matrix, MatrixFragment, Product};
pub use memory::{Access, Space, Update};
pub use taint_rules::{ArithmeticCheck, Real, TaintRule};
pub use warp::{BlockBarrier, Choose, Gather, Reduction};

/// Writes every lane of its last argument.
pub type One = fn(&Lanes, &mut Lanes);
/// [`One`] with two sources.
pub type Two = fn(&Lanes, &Lanes, &mut Lanes);
/// [`One`] with three sources.
pub type Three = fn(&Lanes, &Lanes, &Lanes, &mut Lanes);
/// [`One`] with four sources.
pub type Four = fn(&Lanes, &Lanes, &Lanes, &Lanes, &mut Lanes);

/// What an instruction does to the registers of a warp. Sources are the first operands after the destination.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// `d = f(a)`, lane by lane.
    One(One),
    /// `d = f(a, b)`
    Two(Two),
    /// `d = f(a, b, c)`
    Three(Three),
    /// `d = f(a, b, c, e)`
    Four(Four),
    /// `d, carry = f(a, b, c, carry)`; forms with two operands get zeros as `c`.
    Carry(fn(&Lanes, &Lanes, &Lanes, &Lanes) -> (Lanes, Lanes)),
    /// `d = [a + offset]`
    Load(Space, Access),
    /// `[a + offset] = b`
    Store(Space, Access),
    /// `d = [a]; [a] = f(d, b, c)`, one lane after the other.
    Atomic(Space, Access, Update),
    /// Begins to copy `c` bytes from `[b]` in global memory to `[a]` in shared memory.
    CopyAsync,
    /// Puts the copies that the thread has begun since the last time into a group.
    CommitCopies,
    /// Waits for the thread's copies: for all, or for all groups but the last ones.
    AwaitCopies,
    /// `[a]` = a barrier object for `b` arrivals, or none.
    InitBarrierObject(Space),
    /// Waits for the thread's copies and arrives at a barrier object.
    ArriveAfterCopies(Space),
    /// `p` = whether a phase of the barrier object at `[a]` has ended; other warps run while it has not.
    TestPhase {
        /// Where the barrier object is.
        space: Space,
        /// Whether `b` is the parity of the phase, or the state before it.
        parity: bool,
    },
    /// `d[lane] = a[choose(lane, b, c)]` among the lanes of the member mask.
    Shuffle(Choose),
    /// `d, p = gather(a)` among the lanes of the member mask.
    Gather(Gather),
    /// `d` = the lanes that execute this.
    ActiveMask,
    /// Loads, stores or multiplies matrices that are spread over the lanes.
    Matrix(Matrix),
    /// Waits for the lanes of the member mask.
    WarpBarrier,
    /// Waits for threads of the block, or arrives where they wait.
    Barrier(BlockBarrier),
    /// Ends the grid: the kernel aborts, by the instruction of this name.
    Trap(&'static str),
    /// `p` = whether the generic address `a` is that of a constant variable.
    IsConstant,
    /// Orders memory, or sleeps: does nothing, because one warp runs at a time.
    Nothing,
    /// Ends the thread, or returns from a device function.
    Return,
    /// Goes to a label.
    Branch,
    /// Calls a device function.
    Call,
}

/// One form.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// What it does.
    pub action: Action,
    /// The group of the table.
    pub group: &'static str,
    /// Whether subnormal sources and results in single precision count as zero, which the action does not know.
    pub flushes: bool,
}

/// The table under construction.
#[derive(Debug, Default)]
struct Table {
    group: &'static str,
    forms: HashMap<String, Form>,
}

impl Table {
    /// Names the section of the PTX ISA that the next forms are from.
    fn group(&mut self, group: &'static str) {
        self.group = group;
    }

    fn add(&mut self, name: impl Into<String>, action: Action) {
        self.forms.insert(name.into(), Form { action, group: self.group, flushes: false });
    }

    /// Adds the `.ftz` form of each form in single precision that has none yet.
    fn flush(&mut self) {
        for (name, form) in self.forms.clone() {
            if let Some(name) = flushed(&name) {
                self.forms.entry(name).or_insert(Form { flushes: true, ..form });
            }
        }
    }
}

fn table() -> &'static HashMap<String, Form> {
    static TABLE: OnceLock<HashMap<String, Form>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table::default();
        integer::forms(&mut table);
        logic::forms(&mut table);
        video::forms(&mut table);
        float::forms(&mut table);
        half::forms(&mut table);
        compare::forms(&mut table);
        convert::forms(&mut table);
        memory::forms(&mut table);
        asynchronous::forms(&mut table);
        warp::forms(&mut table);
        matrix::forms(&mut table);
        table.flush();
        table.forms
    })
}

/// The form of this name, such as `add.s32`.
pub fn form(name: &str) -> Option<Action> {
    let named = |name: &str| table().get(name).map(|form| form.action);
    named(name).or_else(|| named(&memory::canonical(name)?)).or_else(|| named(&matrix::canonical(name)?))
}

/// Whether a form's sources, and whether its results, are in single precision and have to be flushed.
pub fn flushes(name: &str) -> (bool, bool) {
    let Some(Form { flushes: true, .. }) = table().get(name) else { return (false, false) };
    let parts: Vec<&str> = name.split('.').collect();
    let single = |from_end: usize| parts.get(parts.len() - from_end) == Some(&"f32");
    match parts[0] {
        "setp" => (true, false),
        // An H200 converts subnormal numbers to halves as they are.
        "cvt" if parts.get(parts.len() - 2) == Some(&"f16") => (false, false),
        "cvt" | "set" => (single(1), single(2)),
        _ => (true, true),
    }
}

/// The name of a form with `.ftz`, for those that may have it.
fn flushed(name: &str) -> Option<String> {
    const KINDS: [&str; 14] =
        ["add", "sub", "mul", "fma", "div", "rcp", "sqrt", "min", "max", "abs", "neg", "set", "setp", "cvt"];
    let mut parts: Vec<&str> = name.split('.').collect();
    let types = if ["cvt", "set"].contains(&parts[0]) { 2 } else { 1 };
    let mut at = parts.len().checked_sub(types).filter(|at| *at > 0 && KINDS.contains(&parts[0]))?;
    if parts.contains(&"ftz") || !parts[at..].contains(&"f32") || parts[0] == "set" && parts[at + 1] != "f32" {
        return None;
    }
    while ["sat", "NaN"].contains(&parts[at - 1]) {
        at -= 1;
    }
    parts.insert(at, "ftz");
    Some(parts.join("."))
}

/// What a product without a rounding modifier is where a sum without one uses it: a GPU may fuse the two. `None` for anything
/// else.
pub fn fusible(name: &str) -> Option<Action> {
    static TABLE: OnceLock<HashMap<String, Form>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = Table::default();
        float::fusible(&mut table);
        half::fusible(&mut table);
        table.forms
    });
    table.get(name).map(|form| form.action)
}

/// All forms by group and name, as Markdown.
pub fn markdown() -> String {
    let mut groups: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for (name, form) in table() {
        groups.entry(form.group).or_default().push(name);
    }
    let mut text = format!("{} forms.\n", table().len());
    for (group, mut names) in groups {
        names.sort_unstable();
        text += &format!("\n## {group}\n\n`{}`\n", names.join("` `"));
    }
    text
}

/// An [`Action`] from a closure over typed lanes.
macro_rules! op {
    (|$a:ident: $A:ty| $body:expr) => {{
        fn run(a: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let $a = <$A as Lane>::of(a[lane]);
                out[lane] = Lane::bits($body);
            }
        }
        Action::One(run)
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {{
        fn run(a: &Lanes, b: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let ($a, $b) = (<$A as Lane>::of(a[lane]), <$B as Lane>::of(b[lane]));
                out[lane] = Lane::bits($body);
            }
        }
        Action::Two(run)
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $body:expr) => {{
        fn run(a: &Lanes, b: &Lanes, c: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let $a = <$A as Lane>::of(a[lane]);
                let $b = <$B as Lane>::of(b[lane]);
                let $c = <$C as Lane>::of(c[lane]);
                out[lane] = Lane::bits($body);
            }
        }
        Action::Three(run)
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| $body:expr) => {{
        fn run(a: &Lanes, b: &Lanes, c: &Lanes, e: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let ($a, $b) = (<$A as Lane>::of(a[lane]), <$B as Lane>::of(b[lane]));
                let ($c, $e) = (<$C as Lane>::of(c[lane]), <$E as Lane>::of(e[lane]));
                out[lane] = Lane::bits($body);
            }
        }
        Action::Four(run)
    }};
}
use op;
