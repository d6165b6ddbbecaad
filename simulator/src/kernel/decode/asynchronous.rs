//! Decodes copies that end later, and tests of barrier objects.

use super::Decoder;
use crate::isa::{BarrierObject, Space};
use crate::kernel::{Inst, Op, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
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
        self.push(Inst { d, args, offset: *offset, source, strong: true, acquires: true, ..Inst::new(load) });
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
}
