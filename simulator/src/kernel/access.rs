//! Loads and stores: addresses, vectors, and parameters that are registers.

use super::decode::Decoder;
use super::operands::Named;
use super::{Do, Inst, Register, ZERO};
use crate::isa::{Access, Space};
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
        if let (Space::Param, Operand::Name(name)) = (space, &**base) {
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
            let what = Do::Load { space, bytes: access.bytes, signed: access.signed };
            self.push(Inst { d, args: [address, ZERO, ZERO, ZERO], offset, source, ..Inst::new(what) });
        }
        Ok(())
    }

    fn load_param(&mut self, name: &str, offset: i64, access: Access) -> Result<Inst, String> {
        match self.names.variable(name) {
            Some(Named::Param(at)) => {
                let what = Do::Param { bytes: access.bytes, signed: access.signed };
                Ok(Inst { offset: offset + i64::from(at), ..Inst::new(what) })
            }
            Some(Named::Place(place)) => {
                let from = self.names.at_place(place, offset);
                Ok(Inst { args: [from, ZERO, ZERO, ZERO], ..Inst::new(Self::one("mov.b64")?) })
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
            let Some(Named::Place(place)) = self.names.variable(name) else {
                return Err(format!("unknown parameter `{name}`"));
            };
            for (index, from) in from.iter().enumerate() {
                let args = [self.value(from)?, ZERO, ZERO, ZERO];
                let d = self.names.at_place(place, offset + index as i64 * i64::from(access.bytes));
                self.push(Inst { d, args, source, ..Inst::new(Self::one("mov.b64")?) });
            }
            return Ok(());
        }
        let address = self.vector_base(space, access, base, *offset, source)?;
        for (place, from) in from.iter().enumerate() {
            let args = [address, self.value(from)?, ZERO, ZERO];
            let offset = offset + place as i64 * i64::from(access.bytes);
            self.push(Inst { args, offset, source, ..Inst::new(Do::Store { space, bytes: access.bytes }) });
        }
        Ok(())
    }

    /// The register of an address. A vector's is checked as a whole, and kept aside: loading the first element may
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
        self.push(Inst {
            args,
            offset,
            source,
            ..Inst::new(Do::Align { space, bytes: access.bytes * access.elements })
        });
        self.push(Inst { d, args, source, ..Inst::new(Self::one("mov.b64")?) });
        Ok(d)
    }
}
