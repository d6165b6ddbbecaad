//! How accesses and fences order others: their strength and scope (PTX ISA 8.4, 8.5).

/// The threads between which an access or a fence orders others (PTX ISA 8.5). A cluster has one block here, and no other device takes
/// part in a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Those of the block.
    Block,
    /// All of the launch.
    Device,
}

impl Scope {
    /// That of a word of an instruction's name.
    fn of(word: &str) -> Option<Self> {
        match word {
            "cta" | "cluster" => Some(Self::Block),
            "gpu" | "gl" | "sys" => Some(Self::Device),
            _ => None,
        }
    }
}

/// How a strong access orders others: one that is volatile, atomic or ordered (PTX ISA 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strength {
    /// Between which threads.
    pub scope: Scope,
    /// Whether what follows in its thread happens after what it observes.
    pub acquires: bool,
    /// Whether what precedes in its thread happens before it.
    pub releases: bool,
}

impl Strength {
    /// That of a load, a store or an atomic of this name; `None` if it is weak. Atomics are relaxed and for the device if their names do
    /// not say otherwise (PTX ISA 9.7.13.5), and operations on barrier objects release or acquire for the block (9.7.13.15).
    pub fn of(name: &str) -> Option<Self> {
        let words = || name.split('.');
        let has = |wanted: &str| words().any(|word| word == wanted);
        let scope = words().skip(1).find_map(Scope::of);
        let (acquires, releases) = match name.split('.').next()? {
            "ld" | "st" if has("volatile") || has("mmio") => (false, false),
            "ld" | "st" if !["relaxed", "acquire", "release"].into_iter().any(has) => return None,
            "mbarrier" if !has("relaxed") && has("init") => return None,
            "mbarrier" | "cp" if !has("relaxed") => {
                let waits = has("test_wait") || has("try_wait");
                return Some(Self { scope: scope.unwrap_or(Scope::Block), acquires: waits, releases: !waits });
            }
            _ => (has("acquire") || has("acq_rel"), has("release") || has("acq_rel")),
        };
        Some(Self { scope: scope.unwrap_or(Scope::Device), acquires, releases })
    }
}
