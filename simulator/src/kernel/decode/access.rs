//! Decodes loads, stores and vectors.

use super::Decoder;
use crate::isa::{self, Access, Action, Space, TaintRule};
use crate::kernel::operands::Binding;
use crate::kernel::{Inst, Op, Register, ZERO};
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
                let from = self.names.device_param(place, offset, access.bytes)?;
                let (sign, bits) = (if access.signed { 's' } else { 'u' }, 8 * access.bytes);
                let extend = Self::one(&format!("cvt.{sign}64.{sign}{bits}"))?;
                let taint_rule = TaintRule::Bytes(access.bytes);
                Ok(Inst { args: [from, ZERO, ZERO, ZERO], taint_rule, ..Inst::new(extend) })
            }
            _ => Err(format!("unknown parameter `{name}`")),
        }
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
            let Some(Binding::DeviceParam(place)) = self.names.variable(name) else {
                return Err(format!("unknown parameter `{name}`"));
            };
            for (index, from) in from.iter().enumerate() {
                let args = [self.value(from)?, ZERO, ZERO, ZERO];
                let offset = offset + index as i64 * i64::from(access.bytes);
                let d = self.names.device_param(place, offset, access.bytes)?;
                let taint_rule = TaintRule::Bytes(8);
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::one("mov.b64")?) });
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
}
