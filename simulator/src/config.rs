//! What the simulated device pretends to be.

use crate::mutate::Mutation;

/// The properties of every simulated device of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How many devices there are, 0 to 8.
    pub devices: usize,
    /// Global memory of each, in bytes.
    pub memory: u64,
    /// Compute capability: major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Warp instructions that one launch may execute before it counts as hanging, beyond some for each of its warps.
    pub budget: u64,
    /// The optional checks. Bounds and lifetime of memory are always checked.
    pub checks: Checks,
    /// In how many orders a launch runs whose course may depend on the order of its threads.
    pub orders: u64,
    /// Goes on after an access that fails, without it: a launch shows all that it does wrong, and ends with its first fault. Without
    /// this it ends there.
    pub goes_on: bool,
    /// Behaves as a GPU does: allocations share mapped pages, where any access succeeds, arrays of shared and local memory
    /// have no bounds of their own, and what never ends is not ended.
    pub hardware: bool,
    /// Varies what the ISA leaves open: approximations and the order of warps. For all devices of the process.
    pub jitter: Option<u64>,
    /// Whether the seed of the jitter varies from launch to launch.
    pub jitter_varies: bool,
    /// From how many bytes on an allocation is pretended: it takes no memory but where something is written.
    pub pretend: Option<u64>,
    /// Elements of pretended memory that the program reads: a launch that cannot run as a whole runs the blocks that write them.
    pub probes: Vec<u64>,
    /// Applies one mutation to the kernels that are loaded.
    pub mutate: Option<Mutation>,
}

/// The checkers that can be switched off, each by itself. None changes what a kernel computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Checks {
    /// Values that were never written, followed until they decide something.
    pub initialization: bool,
    /// Unordered accesses of a launch.
    pub races: bool,
    /// Unordered work of different streams.
    pub streams: bool,
    /// Division by zero, conversions out of range and index arithmetic that wraps: facts, not faults.
    pub arithmetic: bool,
    /// Loops that cannot end.
    pub loops: bool,
    /// Unordered accesses that leave the value as it was. Not among all: the result does not depend on them.
    pub same_values: bool,
    /// Threads that end before a barrier at which others of their block wait. Not among all: PTX allows it, where CUDA C++ does not.
    pub early_exits: bool,
    /// Infinities and NaN that are made of finite numbers: facts, not faults. Not among all: many programs mean them.
    pub not_finite: bool,
    /// Memory that was never freed. Not among all: when a process ends, so does its memory.
    pub leaks: bool,
}

impl Checks {
    /// No checker at all.
    pub const NONE: Self = Self {
        initialization: false,
        races: false,
        streams: false,
        arithmetic: false,
        loops: false,
        same_values: false,
        leaks: false,
        early_exits: false,
        not_finite: false,
    };

    fn named(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "initialization" => &mut self.initialization,
            "races" => &mut self.races,
            "streams" => &mut self.streams,
            "arithmetic" => &mut self.arithmetic,
            "loops" => &mut self.loops,
            "same-values" => &mut self.same_values,
            "leaks" => &mut self.leaks,
            "early-exits" => &mut self.early_exits,
            "not-finite" => &mut self.not_finite,
            _ => return None,
        })
    }
}

impl Default for Checks {
    /// All but those that most programs have no use for.
    fn default() -> Self {
        Self {
            initialization: true,
            races: true,
            streams: true,
            arithmetic: true,
            loops: true,
            same_values: false,
            leaks: false,
            early_exits: false,
            not_finite: false,
        }
    }
}

impl std::str::FromStr for Checks {
    type Err = String;
    /// `none`, or names with commas between them; `all` stands for those that are on by default.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut checks = Self::NONE;
        if text == "none" {
            return Ok(checks);
        }
        for name in text.split(',') {
            if name == "all" {
                let Self { same_values, early_exits, not_finite, leaks, .. } = checks;
                checks = Self { same_values, early_exits, not_finite, leaks, ..Self::default() };
                continue;
            }
            *checks.named(name).ok_or(
                "must be none, or some of all,initialization,races,streams,arithmetic,loops,same-values,early-exits,not-finite,leaks",
            )? = true;
        }
        Ok(checks)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            devices: 1,
            memory: 2 << 30,
            capability: (9, 0),
            multiprocessors: 2,
            budget: 200_000_000,
            checks: Checks::default(),
            orders: 1,
            goes_on: false,
            hardware: false,
            jitter: None,
            jitter_varies: false,
            pretend: None,
            probes: Vec::new(),
            mutate: None,
        }
    }
}
