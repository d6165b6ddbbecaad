//! Decodes what accesses memory: loads, stores and atomics, copies that end later, tests of barrier objects, and matrices.

use super::Decoder;
use crate::isa::{Access, Atomic, BarrierObject, Matrix, Scope, Space, Strength, TaintRule};
use crate::kernel::names::Binding;
use crate::kernel::{FRAME, Inst, MatrixInst, Op, Register, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    pub(super) fn load(
        &mut self,
        space: Space,
        access: Access,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let [to, Operand::Address(base, offset)] = operands else { return Err("a load from no address".to_string()) };
        let to: Vec<&Operand> = if let Operand::Vector(parts) = to { parts.iter().collect() } else { vec![to] };
        if let (Space::Param, Operand::Name(name)) = (space, &**base)
            && self.names.register(name).is_none()
        {
            for (place, to) in to.iter().enumerate() {
                let d = self.destination(to)?;
                let offset = offset + place as i64 * i64::from(access.bytes);
                let inst = self.load_param(name, offset, access)?;
                self.push(Inst { d, source, ..inst });
            }
            return Ok(());
        }
        let address = self.vector_base(space, access, base, *offset, source)?;
        for (place, to) in to.iter().enumerate() {
            let d = self.destination(to)?;
            let offset = offset + place as i64 * i64::from(access.bytes);
            let what = match space {
                Space::Param => Op::Param { bytes: access.bytes, signed: access.signed },
                _ => Op::Load { space, bytes: access.bytes, signed: access.signed },
            };
            let (args, strength) = ([address, ZERO, ZERO, ZERO], Strength::of(opcode));
            self.push(Inst { d, args, offset, source, strength, asks: strength.is_some(), ..Inst::new(what) });
        }
        Ok(())
    }

    fn load_param(&mut self, name: &str, offset: i64, access: Access) -> Result<Inst, String> {
        match self.names.variable(name) {
            Some(Binding::KernelParam(_)) if offset < 0 => Err(format!("a parameter at byte {offset}")),
            Some(Binding::KernelParam(at)) => {
                let what = Op::Param { bytes: access.bytes, signed: access.signed };
                Ok(Inst { offset: offset + i64::from(at), ..Inst::new(what) })
            }
            Some(place) => self.load_place(place, offset, access),
            None => Err(format!("unknown parameter `{name}`")),
        }
    }

    /// A load from a parameter of a device function.
    fn load_place(&mut self, place: Binding, offset: i64, access: Access) -> Result<Inst, String> {
        if let Binding::DeviceParam(place) = place {
            let from = self.param_register(place, offset, access.bytes)?;
            let extend = match (access.signed, access.bytes) {
                (false, 1) => "cvt.u64.u8",
                (false, 2) => "cvt.u64.u16",
                (false, 4) => "cvt.u64.u32",
                (true, 1) => "cvt.s64.s8",
                (true, 2) => "cvt.s64.s16",
                (true, 4) => "cvt.s64.s32",
                _ => "mov.b64",
            };
            let taint_rule = TaintRule::BITS;
            return Ok(Inst { args: [from, ZERO, ZERO, ZERO], taint_rule, ..Inst::new(Self::op(extend)) });
        }
        let (base, at) = self.place(place)?;
        let what = Op::Load { space: Space::Local, bytes: access.bytes, signed: access.signed };
        Ok(Inst { args: [base, ZERO, ZERO, ZERO], offset: at + offset, ..Inst::new(what) })
    }

    /// Loads the whole of a parameter to a register.
    pub(super) fn load_argument(
        &mut self,
        place: Binding,
        bytes: u8,
        to: Register,
        source: Source,
    ) -> Result<(), String> {
        let access = Access { bytes, signed: false, elements: 1 };
        let inst = self.load_place(place, 0, access)?;
        self.push(Inst { d: to, source, ..inst });
        Ok(())
    }

    pub(super) fn store_param(
        &mut self,
        place: Binding,
        offset: i64,
        bytes: u8,
        from: Register,
    ) -> Result<Inst, String> {
        if let Binding::DeviceParam(place) = place {
            let d = self.param_register(place, offset, bytes)?;
            let taint_rule = TaintRule::BITS;
            return Ok(Inst { d, args: [from, ZERO, ZERO, ZERO], taint_rule, ..Inst::new(Self::op("mov.b64")) });
        }
        let (base, at) = self.place(place)?;
        let what = Op::Store { space: Space::Local, bytes };
        Ok(Inst { args: [base, from, ZERO, ZERO], offset: at + offset, ..Inst::new(what) })
    }

    /// The register that holds a piece of a parameter.
    fn param_register(&mut self, place: u32, offset: i64, bytes: u8) -> Result<Register, String> {
        let register = self.names.device_param(place, offset, bytes);
        self.needs_memory |= register.is_err();
        register
    }

    /// A base register, and an offset from it, of a parameter in local memory.
    pub(super) fn place(&mut self, place: Binding) -> Result<(Register, i64), String> {
        Ok(match place {
            Binding::Formal(register) => (register, 0),
            Binding::Frame(at) => (FRAME, at.into()),
            Binding::Address(address) => (self.names.constant(address), 0),
            Binding::KernelParam(_) | Binding::DeviceParam(_) | Binding::Register(_) => {
                return Err("a parameter that is not in memory".to_string());
            }
        })
    }

    /// The register with an argument of a call of the system's.
    pub(super) fn argument(&mut self, place: Binding, bytes: u8, source: Source) -> Result<Register, String> {
        if let Binding::DeviceParam(place) = place {
            return self.param_register(place, 0, bytes);
        }
        let (d, (base, offset)) = (self.names.fresh(), self.place(place)?);
        let what = Op::Load { space: Space::Local, bytes, signed: false };
        self.push(Inst { d, args: [base, ZERO, ZERO, ZERO], offset, source, ..Inst::new(what) });
        Ok(d)
    }

    /// Adds a call of the system's, whose result goes to a parameter.
    pub(super) fn result(&mut self, call: Inst, place: Binding, bytes: u8) -> Result<(), String> {
        let d = self.names.fresh();
        self.push(Inst { d, ..call });
        let store = self.store_param(place, 0, bytes, d)?;
        self.push(Inst { source: call.source, ..store });
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        space: Space,
        access: Access,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let [Operand::Address(base, offset), from] = operands else { return Err("a store to no address".to_string()) };
        let from: Vec<&Operand> = if let Operand::Vector(parts) = from { parts.iter().collect() } else { vec![from] };
        if space == Space::Param {
            let Operand::Name(name) = **base else { return Err("a parameter without a name".to_string()) };
            let place = self.names.variable(name).filter(|place| !matches!(place, Binding::KernelParam(_)));
            let place = place.ok_or_else(|| format!("unknown parameter `{name}`"))?;
            for (index, from) in from.iter().enumerate() {
                let from = self.value(from)?;
                let offset = offset + index as i64 * i64::from(access.bytes);
                let inst = self.store_param(place, offset, access.bytes, from)?;
                self.push(Inst { source, ..inst });
            }
            return Ok(());
        }
        let address = self.vector_base(space, access, base, *offset, source)?;
        for (place, from) in from.iter().enumerate() {
            let args = [address, self.value(from)?, ZERO, ZERO];
            let offset = offset + place as i64 * i64::from(access.bytes);
            let what = Op::Store { space, bytes: access.bytes };
            self.push(Inst { args, offset, source, strength: Strength::of(opcode), ..Inst::new(what) });
        }
        Ok(())
    }

    /// `[d,] [address] [, operand [, other operand]]`. An arrival at a barrier object counts once if no operand says otherwise.
    pub(super) fn atomic(
        &mut self,
        Atomic { space, bytes, update, asks }: Atomic,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let (d, rest) = match operands {
            [Operand::Address(..), ..] => (SINK, operands),
            [Operand::Vector(_), rest @ ..] => (SINK, rest),
            [d, rest @ ..] => (self.destination(d)?, rest),
            [] => (SINK, operands),
        };
        let [Operand::Address(base, offset), rest @ ..] = rest else {
            return Err(format!("{opcode} with these operands"));
        };
        if let [Operand::Vector(_)] = rest {
            return self.atomic_vector(Atomic { space, bytes, update, asks }, opcode, operands, source);
        }
        let mut args = [self.value(base)?, self.names.constant(1), ZERO, ZERO];
        for (arg, operand) in args[1..].iter_mut().zip(rest) {
            *arg = self.value(operand)?;
        }
        let what = Op::Atomic { space, bytes, update };
        let strength = Strength::of(opcode);
        self.push(Inst { d, args, offset: *offset, source, strength, asks, ..Inst::new(what) });
        Ok(())
    }

    /// `[d,] [address], {…}`: each element on its own.
    fn atomic_vector(
        &mut self,
        atomic: Atomic,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let malformed = || format!("{opcode} with these operands");
        let (d, base, offset, from) = match operands {
            [Operand::Address(base, offset), Operand::Vector(from)] => (None, base, offset, from),
            [Operand::Vector(d), Operand::Address(base, offset), Operand::Vector(from)] => {
                (Some(d), base, offset, from)
            }
            _ => return Err(malformed()),
        };
        let bytes = from.len() as u8 * atomic.bytes;
        let args = [self.value(base)?, ZERO, ZERO, ZERO];
        self.push(Inst { args, offset: *offset, source, ..Inst::new(Op::Align { space: atomic.space, bytes }) });
        for (number, from) in from.iter().enumerate() {
            let address = Operand::Address(base.clone(), offset + number as i64 * i64::from(atomic.bytes));
            let operands = match d {
                Some(d) => vec![d.get(number).cloned().ok_or_else(malformed)?, address, from.clone()],
                None => vec![address, from.clone()],
            };
            self.atomic(atomic, opcode, &operands, source)?;
        }
        Ok(())
    }

    /// The register of an address. A vector's address is checked as a whole and copied, as loading the first element may
    /// overwrite it.
    fn vector_base(
        &mut self,
        space: Space,
        access: Access,
        base: &Operand<'a>,
        offset: i64,
        source: Source,
    ) -> Result<Register, String> {
        let address = self.value(base)?;
        if access.elements == 1 {
            return Ok(address);
        }
        let d = self.names.fresh();
        let args = [address, ZERO, ZERO, ZERO];
        // Parameters are bytes of the launch's buffer.
        if space != Space::Param {
            let align = Op::Align { space, bytes: access.bytes * access.elements };
            self.push(Inst { args, offset, source, ..Inst::new(align) });
        }
        self.push(Inst { d, args, source, ..Inst::new(Self::op("mov.b64")) });
        Ok(d)
    }

    /// `[to], [from], bytes [, bytes of the source | whether to ignore it]`
    pub(super) fn copy_async(&mut self, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let [Operand::Address(to, to_offset), Operand::Address(from, offset), Operand::Number(bytes), rest @ ..] =
            operands
        else {
            return Err("cp.async with these operands".to_string());
        };
        let (bytes, offset) = (*bytes as u8, *offset);
        if ![4, 8, 16].contains(&bytes) || rest.len() > 1 {
            return Err(format!("cp.async of {bytes} bytes with {} operands", operands.len()));
        }
        let displacement = self.names.constant(u64::from(*to_offset as u32));
        let to = self.value(to)?;
        let to = self.emit("add.u32", [to, displacement], source);
        let from = self.value(from)?;
        let (zero, whole) = (ZERO, self.names.constant(bytes.into()));
        let length = match rest {
            [Operand::Name(name)] if self.names.is_predicate(name) => {
                let ignored = self.named(name)?;
                let d = self.names.fresh();
                let choose = Self::op("selp.b32");
                self.push(Inst { d, args: [zero, whole, ignored, ZERO], source, ..Inst::new(choose) });
                d
            }
            [length] => self.value(length)?,
            _ => whole,
        };
        let align = |space| Op::Align { space, bytes };
        self.push(Inst { args: [to, ZERO, ZERO, ZERO], source, ..Inst::new(align(Space::Shared)) });
        self.push(Inst { args: [from, ZERO, ZERO, ZERO], offset, source, ..Inst::new(align(Space::Global)) });
        let (d, d2) = (self.names.fresh(), self.names.fresh());
        self.push(Inst { d, d2, args: [to, from, length, ZERO], offset, source, ..Inst::new(Op::CopyAsync { bytes }) });
        Ok(())
    }

    pub(super) fn await_copies(&mut self, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let but = operands.first().map_or(Ok(ZERO), |operand| self.value(operand))?;
        let all = operands.is_empty();
        self.push(Inst { args: [but, ZERO, ZERO, ZERO], source, ..Inst::new(Op::AwaitCopies { all }) });
        Ok(())
    }

    /// `[object] [, arrivals]`
    pub(super) fn init_object(&mut self, space: Space, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let [Operand::Address(base, offset), rest @ ..] = operands else {
            return Err("a barrier object with these operands".to_string());
        };
        let base = self.value(base)?;
        let count = rest.first().map_or(Ok(ZERO), |count| self.value(count))?;
        let one = self.names.constant(BarrierObject::ONE);
        let object = self.emit("mul.lo.u64", [count, one], source);
        let args = [base, object, ZERO, ZERO];
        self.push(Inst { args, offset: *offset, source, ..Inst::new(Op::Store { space, bytes: 8 }) });
        Ok(())
    }

    /// `p, [object], state or parity [, how long to wait]`
    pub(super) fn test_phase(
        &mut self,
        space: Space,
        parity: bool,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let [p, Operand::Address(base, offset), phase, ..] = operands else {
            return Err("a test of a barrier object with these operands".to_string());
        };
        let (p, base, phase) = (self.destination(p)?, self.value(base)?, self.value(phase)?);
        let d = self.names.fresh();
        let load = Op::Load { space, bytes: 8, signed: false };
        let args = [base, ZERO, ZERO, ZERO];
        let strength = Some(Strength { scope: Scope::Block, acquires: true, releases: false });
        self.push(Inst { d, args, offset: *offset, source, strength, asks: true, ..Inst::new(load) });
        // The top bit of an object's state is its phase's parity.
        let (top, one) = (self.names.constant(63), self.names.constant(1));
        let present = self.emit("shr.u64", [d, top], source);
        let asked = if parity { ("and.b32", one) } else { ("shr.u64", top) };
        let asked = self.emit(asked.0, [phase, asked.1], source);
        let ended = self.emit("setp.ne.u32", [present, asked], source);
        let args = [ended, ZERO, ZERO, ZERO];
        self.push(Inst { d: p, args, source, ..Inst::new(Self::op("mov.pred")) });
        self.push(Inst { d: SINK, args, source, ..Inst::new(Op::Poll) });
        Ok(())
    }

    pub(super) fn matrix(&mut self, what: Matrix, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let (address, vectors, stride) = match (what.access(), operands) {
            (Some((_, false)), [to, address, stride @ ..]) => (Some(address), vec![to], stride),
            (Some((_, true)), [address, from, stride @ ..]) => (Some(address), vec![from], stride),
            _ => (None, operands.iter().collect(), &[][..]),
        };
        let mut inst = Inst { source, ..Inst::new(Op::Matrix(self.matrices.len() as u32)) };
        if let Some(address) = address {
            let Operand::Address(base, offset) = address else { return Err("a matrix at no address".to_string()) };
            // One part of a register at a time is loaded to `d`, or stored from it.
            inst.d = self.names.fresh();
            inst.args = [self.value(base)?, self.stride(what, stride)?, ZERO, ZERO];
            inst.offset = *offset;
        }
        let mut registers = Vec::new();
        if vectors.len() != what.registers().len() {
            return Err("a matrix instruction with these operands".to_string());
        }
        let stores = what.access().is_some_and(|(_, writes)| writes);
        for (number, (vector, count)) in vectors.into_iter().zip(what.registers()).enumerate() {
            let parts = if let Operand::Vector(parts) = vector { parts } else { std::slice::from_ref(vector) };
            if parts.len() != count {
                return Err("a matrix in the wrong number of registers".to_string());
            }
            for part in parts {
                let is_result = number == 0 && !stores;
                let register = if is_result { self.destination(part)? } else { self.value(part)? };
                self.products.remove(&register);
                registers.push(register);
            }
        }
        self.matrices.push(MatrixInst { what, registers });
        self.push(inst);
        Ok(())
    }

    /// The register with the distance of lines, or of the elements of a line, if those are not side by side.
    fn stride(&mut self, what: Matrix, operands: &[Operand<'a>]) -> Result<u32, String> {
        match (what, operands) {
            (Matrix::Whole { fragment, along, .. }, []) => {
                let dense = if along { fragment.length() } else { fragment.lines() };
                Ok(self.names.constant(dense as u64))
            }
            (Matrix::Whole { .. }, [stride]) => self.value(stride),
            (_, []) => Ok(ZERO),
            _ => Err("a matrix instruction with these operands".to_string()),
        }
    }
}
