//! Decodes comparisons that combine their result with a predicate, that compare both halves of a register, or both (PTX ISA 9.7.6,
//! 9.7.7).

use super::Decoder;
use crate::isa::{Action, Comparison, Form};
use crate::kernel::{Inst, Op, Register, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    /// `p|q, a, b [, c]` of `setp`, or `d, a, b [, c]` of `set`. Of a pair, `p` is for the lower half and `q` for the upper one; otherwise
    /// `q` is for the complement of the comparison.
    pub(super) fn compare(
        &mut self,
        form: &Form,
        comparison: Comparison,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let (results, a, b, other) = match (operands, comparison.combine) {
            ([results, a, b], None) => (results, a, b, None),
            ([results, a, b, other], Some(combine)) => (results, a, b, Some((combine, other))),
            _ => return Err("a comparison with these operands".to_string()),
        };
        let (d, d2) = match (results, comparison.truth) {
            (Operand::Pair(p, q), None) => (self.named(p)?, self.named(q)?),
            (one, _) => (self.destination(one)?, SINK),
        };
        let mut sources = [self.value(a)?, self.value(b)?];
        let other = match other {
            Some((combine, operand)) => Some((combine, self.value(operand)?)),
            None => None,
        };
        let halves = if comparison.pair {
            let upper = self.names.constant(16);
            let above = sources.map(|register| self.emit("shr.b32", [register, upper], source));
            vec![sources, above]
        } else {
            vec![sources]
        };
        let mut holds = Vec::new();
        for half in halves {
            sources = half;
            if form.flushes.sources {
                sources = sources.map(|register| self.emit(form.flushes.by.form(), [register, ZERO], source));
            }
            let test = self.names.fresh();
            let args = [sources[0], sources[1], ZERO, ZERO];
            let mut single = *form;
            single.action = Action::Two(comparison.test);
            self.origins.add(&single, test, args);
            self.push(Inst { d: test, args, source, ..Inst::new(Op::Two(comparison.test)) });
            holds.push(test);
        }
        if !comparison.pair && d2 != SINK {
            let complement = self.names.fresh();
            self.complement(complement, holds[0], source);
            holds.push(complement);
        }
        if let Some((combine, other)) = other {
            holds = holds.into_iter().map(|test| self.combined(combine, [test, other], source)).collect();
        }
        match comparison.truth {
            None => {
                for (d, test) in [d, d2].into_iter().zip(holds) {
                    let args = [test, ZERO, ZERO, ZERO];
                    self.push(Inst { d, args, source, ..Inst::new(Self::op("mov.pred")) });
                }
            }
            Some(truth) => {
                let truths = [truth, truth << 16];
                let parts: Vec<Register> =
                    holds.iter().zip(truths).map(|(&test, truth)| self.chosen(truth, test, source)).collect();
                let args = [parts[0], parts.get(1).copied().unwrap_or(ZERO), ZERO, ZERO];
                self.push(Inst { d, args, source, ..Inst::new(Self::op("or.b32")) });
            }
        }
        Ok(())
    }

    /// `d|p, a, b, c, table, q`
    pub(super) fn logic3(
        &mut self,
        combine: &'static str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let [results, sources @ .., other] = operands else { return Err("lop3 with these operands".to_string()) };
        let (d, p) = match results {
            Operand::Pair(d, p) => (self.named(d)?, self.named(p)?),
            one => (SINK, self.destination(one)?),
        };
        let mut args = [ZERO; 4];
        if sources.len() != args.len() {
            return Err("lop3 with these operands".to_string());
        }
        for (arg, operand) in args.iter_mut().zip(sources) {
            *arg = self.value(operand)?;
        }
        let (other, bits) = (self.value(other)?, self.names.fresh());
        self.push(Inst { d: bits, args, source, ..Inst::new(Self::op("lop3.b32")) });
        let test = self.emit("setp.ne.b32", [bits, ZERO], source);
        let combined = self.combined(combine, [test, other], source);
        self.push(Inst { d, args: [bits, ZERO, ZERO, ZERO], source, ..Inst::new(Self::op("mov.b32")) });
        self.push(Inst { d: p, args: [combined, ZERO, ZERO, ZERO], source, ..Inst::new(Self::op("mov.pred")) });
        Ok(())
    }

    /// A predicate of two others.
    pub(super) fn combined(&mut self, form: &'static str, args: [Register; 2], source: Source) -> Register {
        let d = self.emit(form, args, source);
        self.origins.add(&super::operands::known(form), d, [args[0], args[1], ZERO, ZERO]);
        d
    }

    /// A number where a predicate holds, otherwise zero.
    fn chosen(&mut self, number: u64, holds: Register, source: Source) -> Register {
        let (d, number) = (self.names.fresh(), self.names.constant(number));
        self.push(Inst { d, args: [number, ZERO, holds, ZERO], source, ..Inst::new(Self::op("selp.b32")) });
        d
    }
}
