//! Decodes instructions on matrices: their operands are vectors of registers, kept beside the instructions.

use super::Decoder;
use crate::isa::Matrix;
use crate::kernel::{Inst, MatrixInst, Op, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
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
                return Err("a matrix in another number of registers than it has".to_string());
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
                let dense = if along { fragment.length } else { fragment.lines };
                Ok(self.names.constant(dense as u64))
            }
            (Matrix::Whole { .. }, [stride]) => self.value(stride),
            (_, []) => Ok(ZERO),
            _ => Err("a matrix instruction with these operands".to_string()),
        }
    }
}
