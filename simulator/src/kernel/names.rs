//! Resolves names to registers: scopes, constants, special registers, variables and the parameters of device functions.

use std::collections::HashMap;

use super::{FRAME, Register, Special, ZERO};
use crate::ptx::{Parameter, Registers};

/// What the name of a variable stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// The address of a variable, in its own space.
    Address(u64),
    /// The kernel's parameter at this byte.
    KernelParam(u32),
    /// A parameter of a device function, by number. Registers hold it.
    DeviceParam(u32),
    /// A variable in local memory, `n` bytes from the beginning of the function's frame.
    Frame(u32),
    /// A parameter in local memory, at the address in a register.
    Formal(Register),
    /// A parameter that is declared as a register.
    Register(Register),
}

/// One pair of braces.
#[derive(Debug, Default)]
struct Scope<'a> {
    registers: HashMap<&'a str, Register>,
    ranges: Vec<(&'a str, u32)>,
    /// The names, and prefixes of names, of predicates.
    predicates: Vec<&'a str>,
    /// The elements of vectors.
    vectors: HashMap<&'a str, Vec<Register>>,
    variables: HashMap<String, Binding>,
}

/// The registers that a kernel's decoding has assigned.
#[derive(Debug)]
pub struct Names<'a> {
    scopes: Vec<Scope<'a>>,
    count: Register,
    constants: HashMap<u64, Register>,
    specials: Vec<(Register, Special)>,
    param_registers: HashMap<(u32, i64), (Register, u8)>,
    device_params: u32,
    dynamic: Option<Register>,
    /// True if a register is a vector, as few programs have them.
    has_vectors: bool,
    /// Registers with constants that are known later.
    later: Vec<(Register, u64)>,
}

impl<'a> Names<'a> {
    pub fn new() -> Self {
        Self {
            scopes: Vec::new(),
            count: FRAME + 1,
            constants: HashMap::from([(0, ZERO)]),
            specials: Vec::new(),
            param_registers: HashMap::new(),
            device_params: 0,
            dynamic: None,
            has_vectors: false,
            later: Vec::new(),
        }
    }

    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub fn close(&mut self) {
        self.scopes.pop();
    }

    /// Hides all scopes, for the body of another function; [`Self::restore`] brings them back.
    pub fn hide(&mut self) -> Hidden<'a> {
        Hidden(std::mem::take(&mut self.scopes))
    }

    pub fn restore(&mut self, hidden: Hidden<'a>) {
        self.scopes = hidden.0;
    }

    pub fn fresh(&mut self) -> Register {
        self.count += 1;
        self.count - 1
    }

    pub fn declare(&mut self, Registers { predicates, elements, names }: &Registers<'a>) {
        for &(name, count) in names {
            if *predicates {
                self.scope().predicates.push(name);
            }
            match (count, elements) {
                (Some(count), _) => self.scope().ranges.push((name, count)),
                (None, Some(elements)) => {
                    let registers = (0..*elements).map(|_| self.fresh()).collect();
                    self.scope().vectors.insert(name, registers);
                    self.has_vectors = true;
                }
                (None, None) => {
                    let register = self.fresh();
                    self.scope().registers.insert(name, register);
                }
            }
        }
    }

    /// The registers of the elements of a vector of this name.
    pub fn vector(&self, name: &str) -> Option<&[Register]> {
        if !self.has_vectors {
            return None;
        }
        self.scopes.iter().rev().find_map(|scope| scope.vectors.get(name)).map(Vec::as_slice)
    }

    /// Whether this is the name of a predicate.
    pub fn is_predicate(&self, name: &str) -> bool {
        let digits = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        let mut known = self.scopes.iter().flat_map(|scope| &scope.predicates);
        known.any(|known| name.strip_prefix(known).is_some_and(digits))
    }

    pub fn define(&mut self, name: &str, named: Binding) {
        self.scope().variables.insert(name.to_string(), named);
    }

    pub fn variable(&self, name: &str) -> Option<Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.variables.get(name)).copied()
    }

    /// The register of this name.
    pub fn register(&mut self, name: &'a str) -> Option<Register> {
        if name == "_" {
            return Some(super::SINK);
        }
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let number = name[digits..].parse::<u32>().ok();
        for place in (0..self.scopes.len()).rev() {
            if let Some(&register) = self.scopes[place].registers.get(name) {
                return Some(register);
            }
            if let Some(&Binding::Register(register)) = self.scopes[place].variables.get(name) {
                return Some(register);
            }
            let declared = |&(prefix, count): &(&str, u32)| {
                // A prefix may itself end in a digit, as in `%r1<3>`.
                name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok_and(|number| number < count))
            };
            if number.is_some() && self.scopes[place].ranges.iter().any(declared) {
                let register = self.fresh();
                self.scopes[place].registers.insert(name, register);
                return Some(register);
            }
        }
        if let Some((vector, element)) = name.rsplit_once('.')
            && let Some(elements) = self.vector(vector)
        {
            let number = [["x", "y", "z", "w"], ["r", "g", "b", "a"]]
                .iter()
                .find_map(|names| names.iter().position(|known| *known == element))?;
            return elements.get(number).copied();
        }
        special(name).map(|special| self.special(special))
    }

    /// The register of the start of dynamic shared memory. Its value is known at the end of decoding.
    pub fn dynamic_shared(&mut self) -> Register {
        if let Some(register) = self.dynamic {
            return register;
        }
        let register = self.fresh();
        self.dynamic = Some(register);
        register
    }

    pub fn constant(&mut self, value: u64) -> Register {
        if let Some(&register) = self.constants.get(&value) {
            return register;
        }
        let register = self.fresh();
        self.constants.insert(value, register);
        register
    }

    /// Gives a register that was reserved for a constant its value.
    pub fn set_constant(&mut self, register: Register, value: u64) {
        self.later.push((register, value));
    }

    fn special(&mut self, special: Special) -> Register {
        if let Some(&(register, _)) = self.specials.iter().find(|(_, known)| *known == special) {
            return register;
        }
        let register = self.fresh();
        self.specials.push((register, special));
        register
    }

    /// A number for a new parameter of a device function.
    pub fn new_device_param(&mut self) -> u32 {
        self.device_params += 1;
        self.device_params
    }

    /// The register of the `bytes` at `offset` of a device function's parameter; an `Err` if they overlap others, because
    /// one register cannot hold both.
    pub fn device_param(&mut self, place: u32, offset: i64, bytes: u8) -> Result<Register, String> {
        for distance in -7..=7 {
            let Some(&(register, other)) = self.param_registers.get(&(place, offset.saturating_add(distance))) else {
                continue;
            };
            match distance {
                0 if other == bytes => return Ok(register),
                _ if distance < i64::from(bytes) && distance + i64::from(other) > 0 => {
                    return Err("a parameter of a device function that is written and read in different types".into());
                }
                _ => {}
            }
        }
        let register = self.fresh();
        self.param_registers.insert((place, offset), (register, bytes));
        Ok(register)
    }

    /// How many registers there are.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The registers that hold constants.
    pub fn constants(&self) -> Vec<(Register, u64)> {
        let mut constants: Vec<_> = self.constants.iter().map(|(&value, &register)| (register, value)).collect();
        constants.extend(&self.later);
        constants.sort_unstable();
        constants
    }

    /// The special registers, which the launch fills.
    pub fn specials(&self) -> &[(Register, Special)] {
        &self.specials
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.open();
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }
}

/// Scopes put aside.
pub struct Hidden<'a>(Vec<Scope<'a>>);

fn special(name: &str) -> Option<Special> {
    let (base, axis) = match name.rsplit_once('.') {
        // The fourth element of all is zero.
        Some((_, "w")) => return Some(Special::Fixed(0)),
        Some((base, axis)) => (base, ["x", "y", "z"].iter().position(|known| *known == axis)?),
        None => (name, 0),
    };
    Some(match base {
        "%tid" => Special::Thread(axis),
        "%ntid" => Special::BlockSize(axis),
        "%ctaid" => Special::Block(axis),
        "%nctaid" => Special::GridSize(axis),
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%gridid" => Special::Grid,
        "%dynamic_smem_size" => Special::Shared { dynamic_only: true },
        "%total_smem_size" | "%aggr_smem_size" => Special::Shared { dynamic_only: false },
        // One multiprocessor with room for 64 warps, and clusters of one block.
        "%smid" | "%cluster_ctaid" | "%cluster_ctarank" | "%is_explicit_cluster" => Special::Fixed(0),
        "%nsmid" | "%cluster_nctaid" | "%cluster_nctarank" => Special::Fixed(1),
        "%nwarpid" => Special::Fixed(64),
        "%clusterid" => Special::Block(axis),
        "%nclusterid" => Special::GridSize(axis),
        // Where cooperative groups look for the workspace of their grid. The others are what only the driver's own code defines.
        "%envreg1" => Special::Workspace { high: true },
        "%envreg2" => Special::Workspace { high: false },
        // Counters that nothing counts in, and what a launch inside of a graph has.
        _ if base.starts_with("%pm") || base == "%current_graph_exec" => Special::Fixed(0),
        _ if base.starts_with("%envreg") => Special::Fixed(0),
        "%lanemask_eq" => Special::LaneMask { below: false, itself: true, above: false },
        "%lanemask_lt" => Special::LaneMask { below: true, itself: false, above: false },
        "%lanemask_le" => Special::LaneMask { below: true, itself: true, above: false },
        "%lanemask_gt" => Special::LaneMask { below: false, itself: false, above: true },
        "%lanemask_ge" => Special::LaneMask { below: false, itself: true, above: true },
        _ => return None,
    })
}

/// The offsets of parameters in the launch's buffer, and its size.
pub fn offsets(params: &[Parameter]) -> (Vec<u32>, u32) {
    let mut at = 0u32;
    let mut offsets = Vec::new();
    for param in params {
        at = at.next_multiple_of(param.align);
        offsets.push(at);
        at += param.bytes;
    }
    (offsets, at)
}
