//! Loads, stores and atomics (PTX ISA 9.7.9, 9.7.13): every space, type and vector of one family.

use super::float::lesser;
use super::{Action, Form, Table};
use crate::float::{Format, Rounding, narrow, widen};
use crate::lanes::Lane;

/// A state space (PTX ISA 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// A device pointer.
    Global,
    /// An address of the block's shared memory; see `kernel/arrays.rs`.
    Shared,
    /// An address of the thread's own memory.
    Local,
    /// Parameters of the kernel or of a device function.
    Param,
    /// An address of any of the first three.
    Generic,
}

impl Space {
    /// Marks a generic address as one of shared memory.
    pub const SHARED_WINDOW: u64 = 1 << 32;
    /// Marks a generic address as one of local memory.
    pub const LOCAL_WINDOW: u64 = 1 << 33;

    /// The space of a generic address. Constant variables are in global memory.
    pub fn of_generic(address: u64) -> Self {
        match address {
            address if address >> 34 != 0 => Self::Global,
            address if address & Self::SHARED_WINDOW != 0 => Self::Shared,
            address if address & Self::LOCAL_WINDOW != 0 => Self::Local,
            _ => Self::Global,
        }
    }

    /// What a generic address of this space adds to one of its own.
    pub fn window(self) -> u64 {
        match self {
            Self::Shared => Self::SHARED_WINDOW,
            Self::Local => Self::LOCAL_WINDOW,
            _ => 0,
        }
    }
}

/// How one lane reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Bytes of one element: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether a narrow value is sign-extended.
    pub signed: bool,
    /// Elements: 1, 2 or 4.
    pub elements: u8,
}

/// What an atomic makes of the old value and up to two operands.
pub type Update = fn(u64, u64, u64) -> u64;

/// An atomic access.
#[derive(Debug, Clone, Copy)]
pub struct Atomic {
    /// Where.
    pub space: Space,
    /// Bytes: 2, 4 or 8.
    pub bytes: u8,
    /// What it does.
    pub update: Update,
    /// Whether a thread can take a lock by it.
    pub asks: bool,
}

const TYPES: [(&str, u8, bool); 17] = [
    ("b8", 1, false),
    ("u8", 1, false),
    ("s8", 1, true),
    ("b16", 2, false),
    ("u16", 2, false),
    ("s16", 2, true),
    ("f16", 2, false),
    ("bf16", 2, false),
    ("b32", 4, false),
    ("u32", 4, false),
    ("s32", 4, true),
    ("f32", 4, false),
    ("f16x2", 4, false),
    ("b64", 8, false),
    ("u64", 8, false),
    ("s64", 8, true),
    ("f64", 8, false),
];

/// The words of a load or store between its first word and its type: whether it is strong, where it is, how many elements it has.
const ORDERS: [(&str, bool); 3] = [(".volatile", true), (".relaxed.gpu", true), ("", false)];
/// Constant variables are in global memory. Only plain loads have the first two.
const SPACES: [(&str, Space); 7] = [
    (".global.nc", Space::Global),
    (".const", Space::Global),
    (".global", Space::Global),
    (".shared", Space::Shared),
    (".local", Space::Local),
    (".param", Space::Param),
    ("", Space::Generic),
];
/// Eight elements are words, on devices from 10.0 on.
const VECTORS: [(&str, u8); 4] = [(".v2", 2), (".v4", 4), (".v8", 8), ("", 1)];

/// The group of loads and stores.
pub(super) const ACCESSES: &str = "Loads and stores (9.7.9.8, 9.7.9.12)";

fn spaces(is_plain_load: bool) -> &'static [(&'static str, Space)] {
    if is_plain_load { &SPACES } else { &SPACES[2..] }
}

/// The load or store of this name.
pub(super) fn access(name: &str) -> Option<Form> {
    let (first, mut rest) = name.split_at_checked(2)?;
    let loads = match first {
        "ld" => true,
        "st" => false,
        _ => return None,
    };
    let strong = take(&mut rest, &ORDERS)?;
    let space = take(&mut rest, spaces(loads && !strong))?;
    let elements = take(&mut rest, &VECTORS)?;
    let suffix = rest.strip_prefix('.')?;
    let &(_, bytes, signed) = TYPES.iter().find(|(name, ..)| *name == suffix)?;
    if elements == 8 && bytes != 4 {
        return None;
    }
    let access = Access { bytes, signed, elements };
    let action = if loads { Action::Load(space, access) } else { Action::Store(space, access) };
    Some(Form { group: ACCESSES, ..action.into() })
}

/// The meaning of the first of `words` that `text` begins with, and takes it off.
fn take<T: Copy>(text: &mut &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find_map(|&(word, meaning)| {
        *text = text.strip_prefix(word)?;
        Some(meaning)
    })
}

/// The names of all loads and stores.
pub(super) fn accesses() -> Vec<String> {
    let mut names = Vec::new();
    for (first, loads) in [("ld", true), ("st", false)] {
        for (order, strong) in ORDERS {
            for (space, _) in spaces(loads && !strong) {
                for (vector, elements) in VECTORS {
                    let types = TYPES.iter().filter(|(_, bytes, _)| elements < 8 || *bytes == 4);
                    names.extend(types.map(|(suffix, ..)| format!("{first}{order}{space}{vector}.{suffix}")));
                }
            }
        }
    }
    names
}

pub(super) fn atomics(table: &mut Table) {
    table.group("Atomics (9.7.13.5)");
    let updates: [(&str, &str, u8, Update); 38] = [
        ("add", "u32", 4, |old, b, _| u64::from((old as u32).wrapping_add(b as u32))),
        ("add", "s32", 4, |old, b, _| u64::from((old as u32).wrapping_add(b as u32))),
        ("add", "u64", 8, |old, b, _| old.wrapping_add(b)),
        ("add", "f32", 4, |old, b, _| (f32::of(old) + f32::of(b)).bits()),
        ("add", "f64", 8, |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits()),
        ("add.noftz", "f16", 2, |old, b, _| add_half(old, b, Format::F16)),
        ("add.noftz", "bf16", 2, |old, b, _| add_half(old, b, Format::BF16)),
        ("add.noftz", "f16x2", 4, |old, b, _| add_halves(old, b, Format::F16)),
        ("add.noftz", "bf16x2", 4, |old, b, _| add_halves(old, b, Format::BF16)),
        ("min.noftz", "f16", 2, |old, b, _| of_halves(old, b, 1, |a, b| min_half(a, b, Format::F16))),
        ("max.noftz", "f16", 2, |old, b, _| of_halves(old, b, 1, |a, b| max_half(a, b, Format::F16))),
        ("min.noftz", "bf16", 2, |old, b, _| of_halves(old, b, 1, |a, b| min_half(a, b, Format::BF16))),
        ("max.noftz", "bf16", 2, |old, b, _| of_halves(old, b, 1, |a, b| max_half(a, b, Format::BF16))),
        ("min.noftz", "f16x2", 4, |old, b, _| of_halves(old, b, 2, |a, b| min_half(a, b, Format::F16))),
        ("max.noftz", "f16x2", 4, |old, b, _| of_halves(old, b, 2, |a, b| max_half(a, b, Format::F16))),
        ("min.noftz", "bf16x2", 4, |old, b, _| of_halves(old, b, 2, |a, b| min_half(a, b, Format::BF16))),
        ("max.noftz", "bf16x2", 4, |old, b, _| of_halves(old, b, 2, |a, b| max_half(a, b, Format::BF16))),
        ("cas", "b16", 2, |old, b, c| if old as u16 == b as u16 { c } else { old }),
        ("cas", "b32", 4, |old, b, c| if old as u32 == b as u32 { c } else { old }),
        ("cas", "b64", 8, |old, b, c| if old == b { c } else { old }),
        ("exch", "b32", 4, |_, b, _| b),
        ("exch", "b64", 8, |_, b, _| b),
        ("min", "s32", 4, |old, b, _| u64::from((old as i32).min(b as i32) as u32)),
        ("max", "s32", 4, |old, b, _| u64::from((old as i32).max(b as i32) as u32)),
        ("min", "u32", 4, |old, b, _| u64::from((old as u32).min(b as u32))),
        ("max", "u32", 4, |old, b, _| u64::from((old as u32).max(b as u32))),
        ("min", "s64", 8, |old, b, _| (old as i64).min(b as i64) as u64),
        ("max", "s64", 8, |old, b, _| (old as i64).max(b as i64) as u64),
        ("min", "u64", 8, |old, b, _| old.min(b)),
        ("max", "u64", 8, |old, b, _| old.max(b)),
        ("and", "b32", 4, |old, b, _| old & b),
        ("and", "b64", 8, |old, b, _| old & b),
        ("or", "b32", 4, |old, b, _| old | b),
        ("or", "b64", 8, |old, b, _| old | b),
        ("xor", "b32", 4, |old, b, _| old ^ b),
        ("xor", "b64", 8, |old, b, _| old ^ b),
        ("inc", "u32", 4, |old, b, _| if old as u32 >= b as u32 { 0 } else { old + 1 }),
        ("dec", "u32", 4, |old, b, _| if old as u32 == 0 || old as u32 > b as u32 { b } else { old - 1 }),
    ];
    for (space_name, space) in [("", Space::Generic), (".global", Space::Global), (".shared", Space::Shared)] {
        for (name, suffix, bytes, update) in updates {
            let asks = ["cas", "exch"].contains(&name);
            let atomic = Atomic { space, bytes, update, asks };
            table.add(format!("atom{space_name}.{name}.{suffix}"), Action::Atomic(atomic));
        }
    }
}

/// What `f` makes of each of `count` halves.
fn of_halves(a: u64, b: u64, count: u32, f: fn(u64, u64) -> u64) -> u64 {
    (0..count).map(|half| 16 * half).map(|at| f(a >> at & 0xffff, b >> at & 0xffff) << at).sum()
}

fn min_half(a: u64, b: u64, format: Format) -> u64 {
    let [x, y] = [a, b].map(|bits| f64::from(widen(bits as u32, format)));
    u64::from(narrow(lesser(x, y), format, Rounding::NearestEven))
}

fn max_half(a: u64, b: u64, format: Format) -> u64 {
    let [x, y] = [a, b].map(|bits| f64::from(widen(bits as u32, format)));
    u64::from(narrow(-lesser(-x, -y), format, Rounding::NearestEven))
}

fn add_half(a: u64, b: u64, format: Format) -> u64 {
    let value = |bits: u64| widen(bits as u32 & 0xffff, format);
    u64::from(narrow(f64::from(value(a) + value(b)), format, Rounding::NearestEven))
}

fn add_halves(a: u64, b: u64, format: Format) -> u64 {
    add_half(a, b, format) | add_half(a >> 16, b >> 16, format) << 16
}

/// The name under which the table has a form of this name. A warp's accesses happen one after the other and reach memory at once. So
/// order and scope matter to the race checker alone ([`super::Strength`]), and how an access is cached does not matter at all (9.7.9.1,
/// 9.7.9.2). `red` is an atomic without a result.
pub fn canonical(name: &str) -> Option<String> {
    const ORDERS: [&str; 4] = ["relaxed", "acquire", "release", "acq_rel"];
    const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
    const CACHED: [&str; 8] = ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "weak"];
    let kind = match name.split('.').next()? {
        "red" => "atom",
        kind => ["atom", "ld", "st", "cp", "mbarrier"].into_iter().find(|known| *known == kind)?,
    };
    // The decoder takes off the operand that belongs to `L2::cache_hint`.
    let is_hint = |word: &str| word.starts_with("L1::") || word.starts_with("L2::");
    let is_cached = |word: &str| ["ld", "st"].contains(&kind) && (CACHED.contains(&word) || word == "mmio");
    let is_vector = |word: &str| kind == "atom" && ["v2", "v4", "v8"].contains(&word);
    // It promises that the arrival does not end the phase.
    let is_promise = |word: &str| kind == "mbarrier" && word == "noComplete";
    let (orders, mut words): (Vec<&str>, Vec<&str>) = name
        .split('.')
        .skip(1)
        .filter(|word| {
            !SCOPES.contains(word) && !is_hint(word) && !is_cached(word) && !is_vector(word) && !is_promise(word)
        })
        .map(|word| match word {
            "param::entry" | "param::func" => "param",
            _ if word.starts_with("shared::") => "shared",
            _ => word,
        })
        .partition(|word| ORDERS.contains(word));
    words.insert(0, kind);
    if ["ld", "st"].contains(&kind) && !orders.is_empty() {
        words.splice(1..1, ["relaxed", "gpu"]);
    }
    // These move bits, whatever their type is.
    if kind == "atom" && words.iter().any(|word| ["exch", "cas"].contains(word)) {
        let bits = match words.pop()? {
            "u32" | "s32" | "f32" => "b32",
            "u64" | "s64" | "f64" => "b64",
            other => other,
        };
        words.push(bits);
    }
    Some(words.join("."))
}
