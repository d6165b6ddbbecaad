//! The instruction table: every PTX form that the simulator executes, by its full name. The decoder and the documentation
//! read it. `derived.rs` makes forms of others by a step before or after them. Any other form is reported as unsupported, by name.

mod asynchronous;
mod compare;
mod convert;
mod derived;
mod float;
mod float_kinds;
mod float_types;
mod half;
mod integer;
mod logic;
mod matrix;
mod memory;
mod order;
mod taint_rules;
pub mod video;
mod warp;

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::lanes::{Lane, Lanes};

pub use asynchronous::BarrierObject;
pub use convert::{copy, values_of};
pub use float_types::{FloatType, FloatTypes};
pub use matrix::{Arithmetic, Element, Matrix, MatrixFragment, Product};
pub use memory::{Access, Atomic, Space, Update};
pub use order::{Scope, Strength};
pub use taint_rules::{Apart, ArithmeticCheck, TaintRule, Values};
pub use video::{Part, Selection, Video};
pub use warp::{BlockBarrier, Choose, Gather, Reduction};

/// Writes every lane of its last argument.
pub type One = fn(&Lanes, &mut Lanes);
/// [`One`] with two sources.
pub type Two = fn(&Lanes, &Lanes, &mut Lanes);
/// [`One`] with three sources.
pub type Three = fn(&Lanes, &Lanes, &Lanes, &mut Lanes);
/// [`One`] with four sources.
pub type Four = fn(&Lanes, &Lanes, &Lanes, &Lanes, &mut Lanes);

/// A result and the carry flag, of three sources and the flag before.
pub type Carry = fn(&Lanes, &Lanes, &Lanes, &Lanes) -> (Lanes, Lanes);

/// What an instruction does to the registers of a warp. Sources are the first operands after the destination.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// `d = f(a)`, lane by lane.
    One(One),
    /// `d = a`, either of which may be a vector whose parts are these bytes of the other.
    Move {
        /// How many bytes.
        bytes: u8,
    },
    /// `d = f(a, b)`
    Two(Two),
    /// `d = f(a, b, c)`
    Three(Three),
    /// `d = f(a, b, c, e)`
    Four(Four),
    /// One or two comparisons of `a` and `b`, combined with the predicate `c`.
    Compare(Comparison),
    /// `d = f(a, b, c)`, each of which may be a part of a register.
    Video(Video),
    /// `d|p = lop3(a, b, c, table)`: the predicate is that `d` is not zero, combined by this form with another.
    Logic3(&'static str),
    /// `d, carry = f(a, b, c, carry)`; forms with two operands get zeros as `c`.
    Carry(Carry),
    /// `d = [a + offset]`
    Load(Space, Access),
    /// `[a + offset] = b`
    Store(Space, Access),
    /// `d = [a]; [a] = f(d, b, c)`, one lane after the other.
    Atomic(Atomic),
    /// Begins to copy `c` bytes from `[b]` in global memory to `[a]` in shared memory.
    CopyAsync,
    /// Puts the copies that the thread has begun since the last time into a group.
    CommitCopies,
    /// Waits for the thread's copies: for all, or for all groups but the last ones.
    AwaitCopies,
    /// `[a]` = a barrier object for `b` arrivals, or none.
    InitBarrierObject(Space),
    /// Waits for the thread's copies and arrives at a barrier object.
    ArriveAfterCopies(Atomic),
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
    /// [`Self::Gather`] without a source.
    Elect(Gather),
    /// `d` = a cache's policy, which has no effect.
    Policy,
    /// `d` = the lanes that execute this.
    ActiveMask,
    /// Loads, stores or multiplies matrices that are spread over the lanes.
    Matrix(Matrix),
    /// Waits for the lanes of the member mask.
    WarpBarrier,
    /// Orders the accesses before it and those after it.
    Fence(Scope),
    /// Waits for threads of the block, or arrives where they wait.
    Barrier(BlockBarrier),
    /// Ends the grid: the kernel aborts, by the instruction of this name.
    Trap(&'static str),
    /// `p` = whether the generic address `a` is that of a constant variable.
    IsConstant,
    /// Orders memory, or sleeps: does nothing, because one warp runs at a time.
    Nothing,
    /// Ends the thread.
    Exit,
    /// Ends the thread, or returns from a device function.
    Return,
    /// Goes to a label.
    Branch,
    /// Goes to one of a list of labels.
    BranchByNumber,
    /// Calls a device function.
    Call,
}

/// A comparison that the table has not as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    /// The comparison of two numbers.
    pub test: Two,
    /// True if the operands are pairs of halves.
    pub pair: bool,
    /// The form that combines its result with a predicate.
    pub combine: Option<&'static str>,
    /// The bits of a result that holds, of each half of a pair; `None` for predicates.
    pub truth: Option<u64>,
}

/// One form: what it does, and all that the decoder and the checkers must know about it.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// What it does.
    pub action: Action,
    /// What its results are.
    pub results: Results,
    /// How undefined bits of its sources reach its result.
    pub taint: TaintRule,
    /// The mistake to look for in its arithmetic.
    pub check: ArithmeticCheck,
    /// What counts as zero if it is subnormal, which the action does not know.
    pub flushes: Flushes,
    /// How its result is limited, which the action does not know, either.
    pub limit: Option<Step>,
    /// Its part in a product and a sum that a GPU may fuse, if it can have one.
    pub fusion: Option<Fusion>,
    /// The section of the PTX ISA that it is from.
    group: &'static str,
    /// The type of its first source, and how many bytes that has.
    pub(crate) source: (TypeId, u8),
}

/// The results of a form.
#[derive(Debug, Clone, Copy)]
pub enum Results {
    /// One.
    One,
    /// A number, and a predicate if one is asked for (`d|p`).
    NumberAndPredicate,
    /// Whether a comparison holds, and the complement if that is asked for (`p|q`).
    Comparison {
        /// What is compared, such as `lt`.
        test: &'static str,
        /// The operands' type, such as `u32`.
        of: &'static str,
    },
    /// A predicate that combines others by `and`, `or` or `not`.
    Combination,
}

/// The operands that an instruction with `.ftz` flushes: subnormal ones count as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flushes {
    /// The sources.
    pub sources: bool,
    /// The result.
    pub result: bool,
    /// How.
    pub by: Step,
}

/// An operation on an operand before an instruction, or on its result afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A subnormal number is zero.
    Flush,
    /// A subnormal half is zero.
    FlushHalf,
    /// Each of two subnormal halves is zero.
    FlushHalves,
    /// Each of two subnormal numbers is zero.
    FlushPair,
    /// From 0 to 1, in single precision.
    Limit,
    /// From 0 to 1, in double precision.
    LimitDouble,
    /// From 0 to 1, of `f16`.
    LimitHalf,
    /// From 0 to 1, of `bf16`.
    LimitBf16,
}

impl Step {
    /// The form that does it.
    pub fn form(self) -> &'static str {
        match self {
            Self::Flush => "flush.f32",
            Self::FlushHalf => "flush.f16",
            Self::FlushHalves => "flush.f16x2",
            Self::FlushPair => "flush.f32x2",
            Self::Limit => "cvt.sat.f32.f32",
            Self::LimitDouble => "cvt.sat.f64.f64",
            Self::LimitHalf => "cvt.sat.f16.f16",
            Self::LimitBf16 => "cvt.sat.bf16.bf16",
        }
    }
}

impl Flushes {
    /// Flushes nothing.
    const NOTHING: Self = Self { sources: false, result: false, by: Step::Flush };
}

/// The role of a form where a GPU may fuse a product with a sum of the same type.
#[derive(Debug, Clone, Copy)]
pub enum Fusion {
    /// A product without a rounding modifier: its type, and what it is where such a sum may use it.
    Product(TypeId, Two),
    /// A sum without a rounding modifier: its type, and what it is of the two factors and the other term. The first pair is for a
    /// product as the first term, and for one that is negated there; the second for the second term.
    Sum(TypeId, [[Three; 2]; 2]),
    /// A copy between the two.
    Copy,
    /// A negation between the two, if this accepts their type.
    Negation(fn(TypeId) -> bool),
}

/// Stands for the type of `f32` in forms with `.ftz`, which fuse only with each other.
#[derive(Debug)]
struct Flushed;

/// A form without anything special.
impl From<Action> for Form {
    fn from(action: Action) -> Self {
        Self {
            action,
            results: match action {
                Action::Shuffle(_) | Action::Gather(_) | Action::Elect(_) => Results::NumberAndPredicate,
                _ => Results::One,
            },
            taint: TaintRule::Whole,
            check: ArithmeticCheck::Nothing,
            flushes: Flushes::NOTHING,
            limit: None,
            fusion: None,
            group: "",
            source: (TypeId::of::<()>(), 0),
        }
    }
}

/// What a line of the table adds to a form.
impl Form {
    /// A form whose first source is a `T`.
    fn of<T: Lane>(action: Action) -> Self {
        let taint = if T::HALVES { TaintRule::Halves } else { TaintRule::Whole };
        Self { source: (TypeId::of::<T>(), T::BYTES), taint, ..action.into() }
    }

    fn results(self, results: Results) -> Self {
        Self { results, ..self }
    }

    fn taint(self, taint: TaintRule) -> Self {
        Self { taint, ..self }
    }

    /// Each bit of the result depends on at most one bit of each source, but for those that `controls` has a bit for.
    fn bits(self, controls: u8) -> Self {
        self.taint(TaintRule::Bits { controls })
    }

    /// Each bit of the result depends on those bits of each source that are not above it.
    fn upwards(self) -> Self {
        self.taint(TaintRule::Upwards)
    }

    fn check(self, check: ArithmeticCheck) -> Self {
        Self { check, ..self }
    }

    /// Looks for a mistake in numbers of 32 bits, as indices are.
    fn check_32_bits(self, check: ArithmeticCheck) -> Self {
        if self.source.1 == 4 { self.check(check) } else { self }
    }

    /// Looks for a divisor of zero.
    fn divides(self) -> Self {
        self.check(ArithmeticCheck::Divisor(self.source.1))
    }

    /// A result that combines the sources, if these are predicates.
    fn combines(self) -> Self {
        if self.source.0 == TypeId::of::<bool>() { self.results(Results::Combination) } else { self }
    }

    /// A sum that may be fused, and is this where its first or its second term is a product, or a negated one.
    fn sum(self, fused: &[[Self; 2]; 2]) -> Self {
        let three = |form: &Self| match form.action {
            Action::Three(fused) => fused,
            _ => unreachable!("two factors and a term"),
        };
        Self {
            fusion: Some(Fusion::Sum(self.source.0, fused.each_ref().map(|signs| signs.each_ref().map(three)))),
            ..self
        }
    }

    /// A product that may be fused, and is `fused` there.
    fn product(self, fused: Self) -> Self {
        let Action::Two(fused) = fused.action else { unreachable!("a product has two factors") };
        Self { fusion: Some(Fusion::Product(self.source.0, fused)), ..self }
    }

    /// A negation that may be between a product and a sum of such a type.
    fn negates(self, is_between: fn(TypeId) -> bool) -> Self {
        Self { fusion: Some(Fusion::Negation(is_between)), ..self }
    }

    /// A form with `.ftz`, which may be fused only with others.
    fn flushed(self) -> Self {
        let of = TypeId::of::<Flushed>();
        let fusion = self.fusion.map(|fusion| match fusion {
            Fusion::Product(_, fused) => Fusion::Product(of, fused),
            Fusion::Sum(_, fused) => Fusion::Sum(of, fused),
            other => other,
        });
        Self { fusion, ..self }
    }
}

/// The types of numbers in registers, by their bytes.
const TYPES: [(u8, &[&str]); 3] =
    [(2, &["b16", "u16", "s16"]), (4, &["b32", "u32", "s32", "f32"]), (8, &["b64", "u64", "s64", "f64"])];

/// The table of forms, filled on demand: the first lookup of a form adds all forms with the same first word. A process that runs a few
/// kernels needs only some of them. Loads and stores are never listed: `memory.rs` parses their names.
#[derive(Debug)]
struct Table {
    /// The first words of the forms that are there.
    words: BTreeSet<String>,
    forms: BTreeMap<Cow<'static, str>, Form>,
    /// The first word of the forms that are being made; `None` if all are.
    word: Option<String>,
    group: &'static str,
}

impl Table {
    const fn new() -> Self {
        Self { words: BTreeSet::new(), forms: BTreeMap::new(), word: None, group: "" }
    }

    /// Names the section of the PTX ISA that the next forms are from.
    fn group(&mut self, group: &'static str) {
        self.group = group;
    }

    /// Adds a form, or replaces the one that [`Self::add_ftz`] made.
    fn add(&mut self, name: impl Into<Cow<'static, str>>, form: impl Into<Form>) {
        let name = name.into();
        if self.wants(&name) {
            self.forms.insert(name, Form { group: self.group, ..form.into() });
        }
    }

    /// Adds a form, and the one with `.ftz`, which flushes its sources and results where `From` and `To` are `f32`.
    fn add_ftz<From: Lane, To: Lane>(&mut self, name: impl Into<Cow<'static, str>>, form: Form) {
        let name = name.into();
        let is_single = |of: TypeId| of == TypeId::of::<f32>();
        let [sources, result] = [TypeId::of::<From>(), TypeId::of::<To>()].map(is_single);
        let flushes = Flushes { sources, result, ..Flushes::NOTHING };
        if (flushes.sources || flushes.result) && self.wants(&name) {
            self.add(with_ftz(&name), Form { flushes, ..form });
        }
        self.add(name, form);
    }

    fn wants(&self, name: &str) -> bool {
        self.word.as_ref().is_none_or(|word| first_word(name) == word)
    }

    /// The form of this name, as it is in the table.
    fn form(&mut self, name: &str) -> Option<Form> {
        let word = first_word(name);
        if !self.words.contains(word) {
            self.make(word);
        }
        self.forms.get(name).copied()
    }

    /// Makes the forms that begin with `word`.
    fn make(&mut self, word: &str) {
        self.words.insert(word.to_string());
        self.word = Some(word.to_string());
        let of_word = FAMILIES.iter().find(|family| family.words.contains(&word));
        of_word.map_or(OTHERS, |family| family.make).iter().for_each(|make| make(self));
    }
}

/// The first word of a form's name.
fn first_word(name: &str) -> &str {
    name.split_once('.').map_or(name, |(word, _)| word)
}

/// Files whose forms have first words of their own, so that they need not be read for others.
struct Family {
    words: &'static [&'static str],
    make: &'static [fn(&mut Table)],
}

static FAMILIES: [Family; 5] = [
    Family { words: &["set", "setp", "selp", "slct"], make: &[compare::forms] },
    Family {
        words: &["cvt", "cvta", "getctarank", "isspacep", "mapa", "mov", "pack", "unpack"],
        make: &[convert::forms],
    },
    Family { words: &["atom", "cp", "mbarrier"], make: &[memory::atomics, asynchronous::forms] },
    Family {
        words: &[
            "activemask",
            "applypriority",
            "bar",
            "barrier",
            "bra",
            "brkpt",
            "brx",
            "call",
            "elect",
            "createpolicy",
            "discard",
            "exit",
            "fence",
            "griddepcontrol",
            "match",
            "membar",
            "nanosleep",
            "pmevent",
            "prefetch",
            "prefetchu",
            "redux",
            "ret",
            "setmaxnreg",
            "shfl",
            "trap",
            "vote",
        ],
        make: &[warp::forms],
    },
    Family { words: &["ldmatrix", "mma", "movmatrix", "stmatrix", "wmma"], make: &[matrix::forms] },
];

/// The files with the forms of all other words.
const OTHERS: &[fn(&mut Table)] =
    &[integer::forms, logic::forms, video::forms, float::forms, float_kinds::forms, half::forms];

/// The name of a form with `.ftz`, which comes before the types and some modifiers.
fn with_ftz(name: &str) -> String {
    let (first, words) = name.split_once('.').unwrap_or((name, ""));
    let follows = |word: &&str| {
        word.ends_with(|last: char| last.is_ascii_digit()) || ["sat", "NaN", "xorsign", "abs"].contains(word)
    };
    let rest: usize = words.rsplit('.').take_while(follows).map(|word| 1 + word.len()).sum();
    let (before, after) = name.split_at(first.len().max(name.len() - rest));
    format!("{before}.ftz{after}")
}

/// The form of this name, such as `add.s32`.
pub fn form(name: &str) -> Option<Form> {
    in_table(name).or_else(|| derived::derived(name))
}

/// The form that the table has under this name, or under one without what does not matter here.
fn in_table(name: &str) -> Option<Form> {
    static TABLE: Mutex<Table> = Mutex::new(Table::new());
    let mut table = TABLE.lock().expect("nothing panics under the lock");
    let mut named = |name: &str| memory::access(name).or_else(|| table.form(name));
    named(name).or_else(|| named(&memory::canonical(name)?)).or_else(|| named(&matrix::canonical(name)?))
}

/// The name under which the table has a form of another name: without what does not matter here.
pub fn listed(name: &str) -> Option<String> {
    let known = |name: &String| form(name).is_some();
    memory::canonical(name).filter(known).or_else(|| matrix::canonical(name).filter(known))
}

/// All forms by group and name, as Markdown.
pub fn markdown() -> String {
    let mut table = Table::new();
    FAMILIES.iter().flat_map(|family| family.make).chain(OTHERS).for_each(|make| make(&mut table));
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::from([(memory::ACCESSES, memory::accesses())]);
    for (name, form) in table.forms {
        groups.entry(form.group).or_default().push(name.into_owned());
    }
    let mut text = format!("{} forms.\n", groups.values().map(Vec::len).sum::<usize>());
    for (group, mut names) in groups {
        names.sort_unstable();
        text += &format!("\n## {group}\n\n`{}`\n", names.join("` `"));
    }
    text
}

/// A form from a closure over typed lanes.
macro_rules! op {
    (|$a:ident: $A:ty| $body:expr) => {{
        fn run(a: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let $a = <$A as Lane>::of(a[lane]);
                out[lane] = Lane::bits($body);
            }
        }
        Form::of::<$A>(Action::One(run))
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {{
        fn run(a: &Lanes, b: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let ($a, $b) = (<$A as Lane>::of(a[lane]), <$B as Lane>::of(b[lane]));
                out[lane] = Lane::bits($body);
            }
        }
        Form::of::<$A>(Action::Two(run))
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
        Form::of::<$A>(Action::Three(run))
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| $body:expr) => {{
        fn run(a: &Lanes, b: &Lanes, c: &Lanes, e: &Lanes, out: &mut Lanes) {
            for lane in 0..WARP {
                let ($a, $b) = (<$A as Lane>::of(a[lane]), <$B as Lane>::of(b[lane]));
                let ($c, $e) = (<$C as Lane>::of(c[lane]), <$E as Lane>::of(e[lane]));
                out[lane] = Lane::bits($body);
            }
        }
        Form::of::<$A>(Action::Four(run))
    }};
}
use op;
