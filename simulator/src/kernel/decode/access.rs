//! Decodes loads, stores and vectors.

use super::Decoder;
use crate::isa::{self, Access, Action, Space, TaintRule, Update};
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
                let (sign, bits) = (if access.signed { 's' } else { 'u' }, 8 * access.bytes);
                let extend = Self::one(&format!("cvt.{sign}64.{sign}{bits}"))?;
                let taint_rule = TaintRule::Bytes(access.bytes);
                Ok(Inst { args: [from, ZERO, ZERO, ZERO], taint_rule, ..Inst::new(extend) })
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
            return Ok(Inst { d, args: [from, ZERO, ZERO, ZERO], taint_rule, ..Inst::new(Self::one("mov.b64")?) });
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
        (space, access, update): (Space, Access, Update),
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
        let what = Op::Atomic { space, bytes: access.bytes, update };
        let (offset, acquires) = (*offset, opcode.contains(".cas.") || opcode.contains(".exch."));
        self.push(Inst { d, args, offset, source, strong: true, acquires, ..Inst::new(what) });
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
        self.push(Inst { d, args, source, ..Inst::new(Self::one("mov.b64")?) });
        Ok(d)
    }

    /// `mov` between a vector and a scalar: the vector's elements are the scalar's bits, lowest first.
    pub(super) fn move_vector(&mut self, opcode: &str, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let total: u32 = opcode.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        match operands {
            [Operand::Vector(one), from] if one.len() == 1 => {
                let (d, args) = (self.destination(&one[0])?, [self.value(from)?, ZERO, ZERO, ZERO]);
                let taint_rule = TaintRule::Bytes(8);
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::one("unpack.0")?) });
                Ok(())
            }
            [to, Operand::Vector(one)] if one.len() == 1 => {
                let (d, args) = (self.destination(to)?, [self.value(&one[0])?, ZERO, ZERO, ZERO]);
                let taint_rule = TaintRule::Bytes(8);
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::one("unpack.0")?) });
                Ok(())
            }
            [Operand::Vector(none), _] | [_, Operand::Vector(none)] if none.is_empty() => {
                Err(format!("{opcode} of no parts"))
            }
            [Operand::Vector(parts), from] => {
                let from = self.value(from)?;
                let width = total / parts.len() as u32;
                for (place, part) in parts.iter().enumerate() {
                    let what = Self::one(&format!("unpack.{}", width * place as u32))?;
                    let d = self.destination(part)?;
                    let bytes = (width / 8) as u8;
                    let taint_rule = TaintRule::Unpack(bytes * place as u8, bytes);
                    self.push(Inst { d, args: [from, ZERO, ZERO, ZERO], source, taint_rule, ..Inst::new(what) });
                }
                Ok(())
            }
            [to, Operand::Vector(parts)] => {
                let d = self.destination(to)?;
                let mut parts = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>, _>>()?;
                let mut width = total / parts.len() as u32;
                while parts.len() > 1 {
                    let Some(Action::Two(pack)) = isa::form(&format!("pack.{width}")) else {
                        return Err(format!("{opcode} of {} parts", parts.len()));
                    };
                    let pairs = parts.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>();
                    parts.clear();
                    for [low, high] in pairs {
                        let d = if width * 2 == total { d } else { self.names.fresh() };
                        let (args, taint_rule) = ([low, high, ZERO, ZERO], TaintRule::Pack((width / 8) as u8));
                        self.push(Inst { d, args, source, taint_rule, ..Inst::new(Op::Two(pack)) });
                        parts.push(d);
                    }
                    width *= 2;
                }
                Ok(())
            }
            _ => Err(format!("{opcode} with these operands")),
        }
    }

    pub(super) fn one(name: &str) -> Result<Op, String> {
        match isa::form(name) {
            Some(Action::One(f)) => Ok(Op::One(f)),
            _ => Err(name.to_string()),
        }
    }

    pub(super) fn three(name: &str) -> Result<Op, String> {
        match isa::form(name) {
            Some(Action::Three(f)) => Ok(Op::Three(f)),
            _ => Err(name.to_string()),
        }
    }
}
