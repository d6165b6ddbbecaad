//! Decodes barriers of the block.

use super::Decoder;
use crate::isa::BlockBarrier;
use crate::kernel::{Inst, Op, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    /// `[d,] number [, threads] [, predicate]`
    pub(super) fn barrier(
        &mut self,
        barrier: BlockBarrier,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let (d, rest) = match (barrier.reduction, operands) {
            (Some(_), [d, rest @ ..]) => (self.destination(d)?, rest),
            _ => (SINK, operands),
        };
        let (number, threads, predicate) = match (barrier.reduction, rest) {
            (Some(_), [number, predicate]) => (number, None, Some(predicate)),
            (Some(_), [number, threads, predicate]) => (number, Some(threads), Some(predicate)),
            (None, [number]) => (number, None, None),
            (None, [number, threads]) => (number, Some(threads), None),
            _ => return Err("a barrier with these operands".to_string()),
        };
        let mut register = |operand: Option<&Operand<'a>>| operand.map_or(Ok(ZERO), |operand| self.value(operand));
        let args = [register(Some(number))?, register(threads)?, register(predicate)?, ZERO];
        self.push(Inst { d, args, source, ..Inst::new(Op::Barrier(barrier)) });
        Ok(())
    }
}
