//! Decodes calls: of device functions, which are inlined if they can be, and of what the system provides. A function that calls
//! itself, or is called by its address, is decoded once. Each call of it has a frame in local memory, for the function's variables
//! and for the parameters of its own calls.

use super::{Body, DEPTH, Decoder, End, Item};
use crate::kernel::arrays::MOST_LOCAL;
use crate::kernel::names::Binding;
use crate::kernel::{Callee, Inst, Op, Register, ZERO};
use crate::ptx::{Function, Operand, Parameter, Pointer, Source};

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

/// What a call names: a function, or a register with its address.
enum Target<'a> {
    Name(&'a str),
    Address(Register),
}

impl<'a> Decoder<'a> {
    pub(super) fn call(&mut self, operands: &[Operand<'a>], body: &Body<'a>) -> Result<(), String> {
        let (returns, name, args) = match operands {
            // What follows the parameters of a call by address says what functions it may be.
            [Operand::List(returns), Operand::Name(name), Operand::List(args), ..] => {
                (returns.as_slice(), *name, args.as_slice())
            }
            [Operand::List(returns), Operand::Name(name), ..] => (returns.as_slice(), *name, &[][..]),
            [Operand::Name(name), Operand::List(args), ..] => (&[][..], *name, args.as_slice()),
            [Operand::Name(name), ..] => (&[][..], *name, &[][..]),
            _ => return Err("a call with these operands".to_string()),
        };
        let formals = self.module.functions.get(name).map(|function| [&function.params, &function.returns]);
        let mut places = Vec::new();
        let mut loads = Vec::new();
        for (is_result, operands) in [(0, args), (1, returns)] {
            for (number, operand) in operands.iter().enumerate() {
                let formal = formals.and_then(|formals| formals[is_result].get(number));
                let (place, register) = self.actual(operand, formal, is_result == 1, body.source)?;
                places.push(place);
                loads.extend(register.map(|(register, bytes)| (register, place, bytes)));
            }
        }
        self.call_of(name, [args.len(), returns.len()], places, body)?;
        for (register, place, bytes) in loads {
            self.load_argument(place, bytes, register, body.source)?;
        }
        Ok(())
    }

    /// The place of an argument or a result, and the register to which the result is loaded afterwards, with its bytes. What is not
    /// a variable gets one.
    fn actual(
        &mut self,
        operand: &Operand<'a>,
        formal: Option<&Parameter>,
        is_result: bool,
        source: Source,
    ) -> Result<(Binding, Option<(Register, u8)>), String> {
        if let Operand::Name(name) = operand
            && let Some(place) = self.names.variable(name)
            && !matches!(place, Binding::KernelParam(_) | Binding::Register(_))
        {
            return Ok((place, None));
        }
        // An unknown function takes as many of the eight bytes as it needs.
        let bytes = formal.map_or(8, |formal| formal.bytes);
        if ![1, 2, 4, 8].contains(&bytes) {
            return Err(format!("{operand:?} as a parameter of {bytes} bytes"));
        }
        let align = bytes;
        let parameter =
            Parameter { name: "argument".into(), element: bytes, bytes, align, rows: Vec::new(), in_register: false };
        let place = self.variable(".param", &parameter, "")?;
        if is_result {
            let register = self.destination(operand)?;
            return Ok((place, Some((register, bytes as u8))));
        }
        let unknown = |_| format!("unknown parameter `{operand:?}`");
        let value = self.value(operand).map_err(unknown)?;
        let inst = self.store_param(place, 0, bytes as u8, value)?;
        self.push(Inst { source, ..inst });
        Ok((place, None))
    }

    /// Calls a function with its parameters and results, so many of each, at these places.
    fn call_of(
        &mut self,
        name: &'a str,
        [args, returns]: [usize; 2],
        places: Vec<Binding>,
        body: &Body<'a>,
    ) -> Result<(), String> {
        if let Some(address) = self.names.register(name) {
            if !self.in_memory {
                self.needs_memory = true;
                return Err("an indirect call".to_string());
            }
            self.callees_by_address(args, returns);
            return self.call_frame(&Target::Address(address), &places, body.source);
        }
        if self.system(name, &places, body.source)? {
            return Ok(());
        }
        let Some(function) = self.module.functions.get(name) else { return Err(format!("call of `{name}`")) };
        if self.inlined.iter().any(|known| known == name) || body.depth == DEPTH {
            if !self.in_memory {
                self.needs_memory = true;
                return Err(format!("recursion in `{name}`"));
            }
            return self.call_frame(&Target::Name(name), &places, body.source);
        }
        let end = self.label();
        self.inlined.push(name.to_string());
        self.body(function, places, End::Label(end), body.depth + 1)?;
        self.inlined.pop();
        self.items.push(Item::Label(end));
        Ok(())
    }

    /// A call that is not inlined, with the addresses of parameters and results.
    fn call_frame(&mut self, target: &Target, places: &[Binding], source: Source) -> Result<(), String> {
        let mut list = Vec::new();
        for place in places {
            list.push(self.address(*place, source)?);
        }
        let (function, address) = match target {
            Target::Name(name) => (Some(self.callee(&self.module.functions[*name])), ZERO),
            Target::Address(address) => (None, *address),
        };
        // The frame of the function that calls; a kernel has none.
        let own = self.functions.iter().rev().find(|pending| pending.is_open());
        let frame = own.map_or(ZERO, |pending| pending.frame);
        self.lists.push(list);
        let what = Op::Call { function, list: self.lists.len() as u32 - 1 };
        self.push(Inst { args: [address, frame, ZERO, ZERO], source, ..Inst::new(what) });
        Ok(())
    }

    /// The register with the address of a parameter in local memory.
    pub(super) fn address(&mut self, place: Binding, source: Source) -> Result<Register, String> {
        let (base, offset) = self.place(place)?;
        if offset == 0 {
            return Ok(base);
        }
        let offset = self.names.constant(offset as u64);
        Ok(self.emit("add.u64", [base, offset], source))
    }

    /// Calls what the system provides, if that is its name: `printf`, a failed assertion, the device's heap.
    fn system(&mut self, name: &str, places: &[Binding], source: Source) -> Result<bool, String> {
        match (name, places) {
            ("__assertfail", [message, file, line, function, ..]) => {
                let mut args = [ZERO; 4];
                for (arg, (place, bytes)) in args.iter_mut().zip([(message, 8), (file, 8), (line, 4), (function, 8)]) {
                    *arg = self.argument(*place, bytes, source)?;
                }
                self.push(Inst { args, offset: self.assertions, source, ..Inst::new(Op::Assert) });
                self.assertions += 1;
            }
            ("vprintf", [format, arguments, printed]) => {
                let args = [self.argument(*format, 8, source)?, self.argument(*arguments, 8, source)?, ZERO, ZERO];
                self.result(Inst { args, source, ..Inst::new(Op::Print) }, *printed, 4)?;
            }
            ("malloc", [bytes, address]) => {
                let args = [self.argument(*bytes, 8, source)?, ZERO, ZERO, ZERO];
                self.result(Inst { args, source, ..Inst::new(Op::Allocate) }, *address, 8)?;
            }
            ("free", [address]) => {
                let args = [self.argument(*address, 8, source)?, ZERO, ZERO, ZERO];
                self.push(Inst { args, source, ..Inst::new(Op::Free) });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

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

    /// The functions whose address the module takes, and that could be called with `params` parameters and `returns` results.
    pub(super) fn callees_by_address(&mut self, params: usize, returns: usize) {
        let module = self.module;
        let mut names: Vec<&String> = module.functions.keys().collect();
        names.sort_unstable();
        for name in names {
            let function = &module.functions[name];
            let fits = !function.entry && (function.params.len(), function.returns.len()) == (params, returns);
            let held = |pointers: &[Pointer]| pointers.iter().any(|(_, target, _)| target == name);
            let taken = || {
                module.variables.values().any(|variable| held(&variable.pointers))
                    || self.text.as_str().contains(&format!(", {name};"))
                    || self.text.as_str().contains(&format!(",{name};"))
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
            let count = function.params.len() + function.returns.len();
            let formals: Vec<Register> = (0..count).map(|_| self.names.fresh()).collect();
            let places = formals.iter().copied().map(Binding::Formal).collect();
            let decoded = self.body(function, places, End::Caller, 1);
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
