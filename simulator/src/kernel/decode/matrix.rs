//! Decodes instructions on matrices: their operands are vectors of registers, kept in lists.

use super::Decoder;
use crate::kernel::{Inst, Op, Register, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    pub(super) fn load_matrix(&mut self, count: u8, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let [Operand::Vector(to), Operand::Address(base, offset)] = operands else {
            return Err("ldmatrix with these operands".to_string());
        };
        let list = self.list(&[to], &[usize::from(count)])?;
        let args = [self.value(base)?, ZERO, ZERO, ZERO];
        self.push(Inst { args, offset: *offset, source, ..Inst::new(Op::LoadMatrix { list }) });
        Ok(())
    }

    /// `d, a, b, c`, of which `a` and `b` have a register for every 8 and 16 of the inner dimension.
    pub(super) fn multiply(&mut self, depth: u8, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let [Operand::Vector(d), Operand::Vector(a), Operand::Vector(b), Operand::Vector(c)] = operands else {
            return Err("mma with these operands".to_string());
        };
        let deep = usize::from(depth);
        let list = self.list(&[d, a, b, c], &[4, deep / 8, deep / 16, 4])?;
        self.push(Inst { source, ..Inst::new(Op::Multiply { depth, list }) });
        Ok(())
    }

    /// A new list of the registers of `vectors`, which have these lengths.
    fn list(&mut self, vectors: &[&Vec<Operand<'a>>], lengths: &[usize]) -> Result<u32, String> {
        if vectors.iter().zip(lengths).any(|(vector, &length)| vector.len() != length) {
            return Err("a matrix in another number of registers than it has".to_string());
        }
        let registers = vectors.iter().flat_map(|vector| vector.iter()).map(|operand| self.value(operand));
        let registers = registers.collect::<Result<Vec<Register>, _>>()?;
        self.lists.push(registers);
        Ok(self.lists.len() as u32 - 1)
    }
}
