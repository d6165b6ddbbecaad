//! Decodes functions that are not inlined: recursive ones, and those that are called by their address. Each call has a frame in local
//! memory, for the function's variables and for the parameters of its own calls.

use super::{Decoder, End, Item};
use crate::kernel::arrays::MOST_LOCAL;
use crate::kernel::operands::Binding;
use crate::kernel::{Callee, Inst, Op, Register};
use crate::ptx::{Function, Parameter};

/// Bytes of a thread's frames. A device has 1 KiB unless a program asks for more.
const FRAMES: u32 = 16 << 10;
/// The alignment of a frame.
const ALIGNED: u32 = 16;

/// A function that is to be decoded.
pub(super) struct Pending {
    name: String,
    address: u64,
    /// The label at which it begins.
    pub entry: u32,
    /// The register with the bytes of its frame.
    pub frame: Register,
    registers: std::ops::Range<Register>,
    formals: Vec<Register>,
    unsupported: Option<String>,
    /// Whether it is being decoded.
    open: bool,
}

impl Pending {
    pub fn is_open(&self) -> bool {
        self.open
    }

    pub fn callee(self, entry: impl Fn(u32) -> u32) -> Callee {
        let Self { name, address, registers, formals, unsupported, .. } = self;
        Callee { name, address, entry: entry(self.entry), registers, formals, unsupported }
    }
}

impl Decoder<'_> {
    /// The number of a function that is not inlined.
    pub(super) fn callee(&mut self, function: &Function) -> u32 {
        if let Some(known) = self.functions.iter().position(|pending| pending.name == function.name) {
            return known as u32;
        }
        let pending = Pending {
            name: function.name.clone(),
            address: self.module.address_of(&function.name).unwrap_or_default(),
            entry: self.label(),
            frame: self.names.fresh(),
            registers: 0..0,
            formals: Vec::new(),
            unsupported: None,
            open: false,
        };
        self.functions.push(pending);
        self.functions.len() as u32 - 1
    }

    /// The functions whose address the module takes, and that could be called with so many parameters and results.
    pub(super) fn callees_by_address(&mut self, params: usize, returns: usize) {
        let module = self.module;
        let mut names: Vec<&String> = module.functions.keys().collect();
        names.sort_unstable();
        for name in names {
            let function = &module.functions[name];
            let fits = !function.entry && (function.params.len(), function.returns.len()) == (params, returns);
            let held = |pointers: &[(usize, String, u64)]| pointers.iter().any(|(_, target, _)| target == name);
            let taken = || {
                module.variables.values().any(|variable| held(&variable.pointers))
                    || self.text.contains(&format!(", {name};"))
                    || self.text.contains(&format!(",{name};"))
            };
            if fits && taken() {
                self.callee(function);
            }
        }
    }

    /// Decodes the functions that were called, and those that they call.
    pub(super) fn functions(&mut self) {
        // A kernel may end without `ret`.
        self.push(Inst::new(Op::Exit));
        let mut number = 0;
        while number < self.functions.len() {
            let name = self.functions[number].name.clone();
            let function = &self.module.functions[&name];
            let first = self.names.fresh();
            let begins = self.items.len();
            self.items.push(Item::Label(self.functions[number].entry));
            self.frame = Some(0);
            self.functions[number].open = true;
            self.inlined = vec![name.clone()];
            let params: Vec<&Parameter> = function.params.iter().chain(&function.returns).collect();
            let formals: Vec<Register> = params.iter().map(|_| self.names.fresh()).collect();
            let bound = params.iter().zip(&formals).map(|(param, &at)| (param.name.clone(), Binding::Formal(at)));
            let decoded = self.body(function, bound.collect(), End::Caller, 1);
            if decoded.is_err() {
                // Only who calls it must know.
                self.items.truncate(begins + 1);
            }
            self.push(Inst::new(Op::Return));
            let bytes = self.frame.take().unwrap_or_default().next_multiple_of(ALIGNED);
            let registers = first..self.names.count() as Register;
            let pending = &mut self.functions[number];
            pending.open = false;
            (pending.registers, pending.formals, pending.unsupported) = (registers, formals, decoded.err());
            let frame = pending.frame;
            self.names.set_constant(frame, bytes.into());
            number += 1;
        }
    }

    /// Puts a variable into the present function's frame.
    pub(super) fn in_frame(&mut self, variable: &Parameter) -> Result<Option<Binding>, String> {
        let Some(bytes) = &mut self.frame else { return Ok(None) };
        let at = bytes.next_multiple_of(variable.align);
        let end = at.checked_add(variable.bytes).filter(|&end| end <= MOST_LOCAL);
        *bytes = end.ok_or("more local memory than any device has")?;
        Ok(Some(Binding::Frame(at)))
    }

    /// The address of all frames, if there are any.
    pub(super) fn place_frames(&mut self) -> Result<Option<u64>, String> {
        if self.functions.is_empty() {
            return Ok(None);
        }
        self.local_arrays.place("the frames of functions", FRAMES, ALIGNED, MOST_LOCAL).map(Some)
    }
}
