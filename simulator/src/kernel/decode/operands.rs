//! The registers of operands: sources, destinations, special registers, and the variables of shared and local memory. Makes
//! instructions of its own where one must be computed.

use super::{Decoder, Inst};
use crate::isa::{self, Action, Form};
use crate::kernel::arrays::{MOST_LOCAL, MOST_SHARED};
use crate::kernel::names::Binding;
use crate::kernel::{Op, Register, ZERO};
use crate::ptx::{Operand, Parameter, Source};

/// Bytes of shared memory that the system reserves for each block, for the use of libraries.
const RESERVED: u32 = 1024;
const RESERVED_NAME: &str = "reserved";

impl<'a> Decoder<'a> {
    pub(super) fn destination(&mut self, operand: &Operand<'a>) -> Result<Register, String> {
        match operand {
            Operand::Name(name) => self.named(name),
            Operand::Element(vector, number) => self.element(vector, *number),
            Operand::Register(register) => Ok(*register),
            other => Err(format!("a result in {other:?}")),
        }
    }

    pub(super) fn named(&mut self, name: &'a str) -> Result<Register, String> {
        self.names.register(name).ok_or_else(|| format!("undeclared register `{name}`"))
    }

    fn element(&mut self, vector: &str, number: usize) -> Result<Register, String> {
        let elements = self.names.vector(vector).and_then(|elements| elements.get(number));
        elements.copied().ok_or_else(|| format!("undeclared vector `{vector}`"))
    }

    /// The register of a source: a register, a number, or the address of a variable.
    pub(super) fn value(&mut self, operand: &Operand<'a>) -> Result<Register, String> {
        let name = match operand {
            Operand::Number(number) => return Ok(self.names.constant(*number)),
            Operand::Name(name) => *name,
            Operand::Element(vector, number) => return self.element(vector, *number),
            Operand::Register(register) => return Ok(*register),
            Operand::Sum(name, offset) => {
                let base = self.value(&Operand::Name(name))?;
                let offset = self.names.constant(*offset as u64);
                return Ok(self.emit("add.u64", [base, offset], Source::default()));
            }
            Operand::Not(name) => {
                let (d, from) = (self.names.fresh(), self.named(name)?);
                self.complement(d, from, Source::default());
                return Ok(d);
            }
            other => return Err(format!("{other:?} as a value")),
        };
        if let Some(register) = self.names.register(name) {
            return Ok(register);
        }
        if let Some(register) = self.computed(name)? {
            return Ok(register);
        }
        match self.names.variable(name) {
            Some(Binding::Address(address)) => return Ok(self.names.constant(address)),
            // Within the parameters, as `ld.param` takes it.
            Some(Binding::KernelParam(at)) => return Ok(self.names.constant(at.into())),
            Some(place @ (Binding::Formal(_) | Binding::Frame(_))) => return self.address(place, Source::default()),
            _ => {}
        }
        if let Some(&address) = self.addresses.get(name) {
            return Ok(self.names.constant(address));
        }
        if let Some(address) = self.module.address_of(name) {
            return Ok(self.names.constant(address));
        }
        self.module_shared(name)?.ok_or_else(|| format!("unknown name `{name}`"))
    }

    /// Declares a variable of a body. `place` is a name for it that no other has.
    pub(super) fn variable(&mut self, space: &str, variable: &Parameter, place: &str) -> Result<Binding, String> {
        let in_local = space == ".local" || space == ".param" && self.in_memory;
        if in_local && let Some(place) = self.in_frame(variable)? {
            return Ok(place);
        }
        let Parameter { name, bytes, align, .. } = variable;
        match space {
            ".shared" => {
                if let Some(&at) = self.shared.get(place) {
                    return Ok(Binding::Address(at));
                }
                let at = self.shared_arrays.place(name, *bytes, *align, MOST_SHARED)?;
                self.shared.insert(place.to_string(), at);
                Ok(Binding::Address(at))
            }
            _ if in_local => Ok(Binding::Address(self.local_arrays.place(name, *bytes, *align, MOST_LOCAL)?)),
            _ => Ok(Binding::DeviceParam(self.names.new_device_param())),
        }
    }

    /// The register with the address of a shared variable that the module declares. An array without a size is the launch's
    /// dynamic memory, which comes after all others.
    pub(super) fn module_shared(&mut self, name: &str) -> Result<Option<Register>, String> {
        let shared = self.module.variables.get(name).filter(|variable| variable.space == ".shared");
        let Some(variable) = shared else { return Ok(None) };
        if variable.bytes == 0 {
            let (_, align) = self.dynamic.get_or_insert_with(|| (name.to_string(), 1));
            *align = variable.align.max(*align);
            return Ok(Some(self.names.dynamic_shared()));
        }
        let at = match self.shared.get(name) {
            Some(&at) => at,
            None => self.shared_arrays.place(name, variable.bytes, variable.align, MOST_SHARED)?,
        };
        self.shared.insert(name.to_string(), at);
        Ok(Some(self.names.constant(at)))
    }

    /// Makes `d` the complement of `from`.
    pub(super) fn complement(&mut self, d: Register, from: Register, source: Source) {
        let args = [from, ZERO, ZERO, ZERO];
        self.origins.add(&known("not.pred"), d, args);
        self.push(Inst { d, args, source, ..Inst::new(Self::op("not.pred")) });
    }

    /// Adds an instruction with a result in a new register.
    pub(super) fn emit(&mut self, form: &'static str, [a, b]: [Register; 2], source: Source) -> Register {
        let d = self.names.fresh();
        self.push(Inst { d, args: [a, b, ZERO, ZERO], source, ..Inst::new(Self::op(form)) });
        d
    }

    /// What a form does that the decoder itself makes instructions of.
    pub(super) fn op(form: &'static str) -> Op {
        match known(form).action {
            Action::One(f) => Op::One(f),
            Action::Two(f) => Op::Two(f),
            Action::Three(f) => Op::Three(f),
            Action::Four(f) => Op::Four(f),
            Action::Move { .. } => Op::One(isa::copy),
            _ => unreachable!("{form} is not a function of lanes"),
        }
    }

    /// The register with the present value of a special register, if that is its name.
    pub(super) fn computed(&mut self, name: &str) -> Result<Option<Register>, String> {
        let half = match name {
            "%clock64" | "%globaltimer" => "mov.u64",
            "%clock" | "%globaltimer_lo" => "cvt.u32.u64",
            "%clock_hi" | "%globaltimer_hi" => "unpack.32",
            _ => return self.reserved(name),
        };
        let time = self.names.fresh();
        self.push(Inst { d: time, ..Inst::new(Op::Clock) });
        Ok(Some(self.emit(half, [time, ZERO], Source::default())))
    }

    /// Places in the shared memory that the system reserves: its beginning, two parts, and its end.
    fn reserved(&mut self, name: &str) -> Result<Option<Register>, String> {
        let offset = match name.strip_prefix("%reserved_smem_offset_") {
            Some("begin" | "0") => 0,
            Some("1") => RESERVED / 2,
            Some("cap" | "end") => RESERVED,
            _ => return Ok(None),
        };
        let at = match self.shared.get(RESERVED_NAME) {
            Some(&at) => at,
            None => self.shared_arrays.place(RESERVED_NAME, RESERVED, 128, MOST_SHARED)?,
        };
        self.shared.insert(RESERVED_NAME.to_string(), at);
        Ok(Some(self.names.constant(at + u64::from(offset))))
    }
}

pub(super) fn known(form: &'static str) -> Form {
    isa::form(form).unwrap_or_else(|| unreachable!("{form} is in the table"))
}
