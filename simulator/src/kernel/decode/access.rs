//! Decodes loads, stores and vectors.

use super::Decoder;
use crate::isa::{self, Access, Atomic, Space, TaintRule};
use crate::kernel::operands::Binding;
use crate::kernel::{FRAME, Inst, Op, Register, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    pub(super) fn load(
        &mut self,
        space: Space,
        access: Access,
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
            let (args, strong) = ([address, ZERO, ZERO, ZERO], access.strong);
            self.push(Inst { d, args, offset, source, strong, acquires: strong, ..Inst::new(what) });
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
            Some(Binding::DeviceParam(place)) => {
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
                let taint_rule = TaintRule::Bytes(access.bytes);
                Ok(Inst { args: [from, ZERO, ZERO, ZERO], taint_rule, ..Inst::new(Self::op(extend)) })
            }
            Some(place) => {
                let (base, at) = self.place(place)?;
                let what = Op::Load { space: Space::Local, bytes: access.bytes, signed: access.signed };
                Ok(Inst { args: [base, ZERO, ZERO, ZERO], offset: at + offset, ..Inst::new(what) })
            }
            None => Err(format!("unknown parameter `{name}`")),
        }
    }

    fn store_param(&mut self, place: Binding, offset: i64, bytes: u8, from: Register) -> Result<Inst, String> {
        if let Binding::DeviceParam(place) = place {
            let d = self.param_register(place, offset, bytes)?;
            let taint_rule = TaintRule::Bytes(8);
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
            Binding::KernelParam(_) | Binding::DeviceParam(_) => {
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
            self.push(Inst { args, offset, source, strong: access.strong, ..Inst::new(what) });
        }
        Ok(())
    }

    /// `[d,] [address] [, operand [, other operand]]`. An arrival at a barrier object counts once if no operand says otherwise.
    pub(super) fn atomic(
        &mut self,
        Atomic { space, bytes, update, acquires }: Atomic,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let (d, rest) = match operands {
            [Operand::Address(..), ..] => (SINK, operands),
            [d, rest @ ..] => (self.destination(d)?, rest),
            [] => (SINK, operands),
        };
        let [Operand::Address(base, offset), rest @ ..] = rest else {
            return Err(format!("{opcode} with these operands"));
        };
        let mut args = [self.value(base)?, self.names.constant(1), ZERO, ZERO];
        for (arg, operand) in args[1..].iter_mut().zip(rest) {
            *arg = self.value(operand)?;
        }
        let what = Op::Atomic { space, bytes, update };
        self.push(Inst { d, args, offset: *offset, source, strong: true, acquires, ..Inst::new(what) });
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

    /// `mov` between a vector and a scalar of `bits` bits: the vector's elements are the scalar's bits, lowest first.
    pub(super) fn move_vector(
        &mut self,
        bits: u32,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let moved = match operands {
            [Operand::Vector(one), from] if one.len() == 1 => self.copy(&one[0], from, source)?,
            [to, Operand::Vector(one)] if one.len() == 1 => self.copy(to, &one[0], source)?,
            [Operand::Vector(parts), from] => self.unpack(bits, parts, from, source)?,
            [to, Operand::Vector(parts)] => self.pack(bits, to, parts, source)?,
            _ => None,
        };
        moved.ok_or_else(|| format!("{opcode} with these operands"))
    }

    fn copy(&mut self, to: &Operand<'a>, from: &Operand<'a>, source: Source) -> Result<Option<()>, String> {
        let (d, args, taint_rule) = (self.destination(to)?, [self.value(from)?, ZERO, ZERO, ZERO], TaintRule::Bytes(8));
        self.push(Inst { d, args, source, taint_rule, ..Inst::new(Op::One(isa::copy)) });
        Ok(Some(()))
    }

    /// `None` if it is of another number of parts than 2, 4 or 8, or if those are no bytes.
    fn unpack(
        &mut self,
        bits: u32,
        parts: &[Operand<'a>],
        from: &Operand<'a>,
        source: Source,
    ) -> Result<Option<()>, String> {
        let args = [self.value(from)?, ZERO, ZERO, ZERO];
        let width = bits / parts.len().max(1) as u32;
        for (place, part) in parts.iter().enumerate() {
            let unpack = match width * place as u32 {
                _ if !width.is_multiple_of(8) => return Ok(None),
                0 => "unpack.0",
                8 => "unpack.8",
                16 => "unpack.16",
                24 => "unpack.24",
                32 => "unpack.32",
                48 => "unpack.48",
                _ => return Ok(None),
            };
            let (d, bytes) = (self.destination(part)?, (width / 8) as u8);
            let taint_rule = TaintRule::Unpack(bytes * place as u8, bytes);
            self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::op(unpack)) });
        }
        Ok(Some(()).filter(|()| !parts.is_empty()))
    }

    fn pack(
        &mut self,
        bits: u32,
        to: &Operand<'a>,
        parts: &[Operand<'a>],
        source: Source,
    ) -> Result<Option<()>, String> {
        let d = self.destination(to)?;
        let mut parts = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>, _>>()?;
        while parts.len() > 1 {
            let width = bits / parts.len() as u32;
            let pack = match width {
                8 => "pack.8",
                16 => "pack.16",
                32 => "pack.32",
                _ => return Ok(None),
            };
            let pairs = parts.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>();
            parts.clear();
            for [low, high] in pairs {
                let d = if width * 2 == bits { d } else { self.names.fresh() };
                let (args, taint_rule) = ([low, high, ZERO, ZERO], TaintRule::Pack((width / 8) as u8));
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::op(pack)) });
                parts.push(d);
            }
        }
        Ok(Some(()).filter(|()| !parts.is_empty()))
    }
}
