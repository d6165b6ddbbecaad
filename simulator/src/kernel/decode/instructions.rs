//! Decodes one instruction.

use super::{Body, Decoder, End, Product};
use crate::isa::{self, Action, Form, Fusion, Results};
use crate::kernel::{CARRY, Inst, Op, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    pub(super) fn instruction(
        &mut self,
        form: &Form,
        opcode: &'a str,
        operands: &[Operand<'a>],
        body: &mut Body<'a>,
    ) -> Result<(), String> {
        let source = body.source;
        let malformed = || format!("{opcode} with these operands");
        let (what, count) = match form.action {
            Action::Move { bits } if operands.iter().any(|one| matches!(one, Operand::Vector(_))) => {
                return self.move_vector(bits, opcode, operands, source);
            }
            Action::Move { .. } => (Op::One(isa::copy), 1),
            Action::One(f) => (Op::One(f), 1),
            Action::Two(f) => (Op::Two(f), 2),
            Action::Three(f) => (Op::Three(f), 3),
            Action::Four(f) => (Op::Four(f), 4),
            Action::Carry(f) => (Op::Carry(f), operands.len().saturating_sub(1)),
            Action::Load(space, access) => return self.load(space, access, operands, source),
            Action::Store(space, access) => return self.store(space, access, operands, source),
            Action::Atomic(atomic) => return self.atomic(atomic, opcode, operands, source),
            Action::Matrix(what) => return self.matrix(what, operands, source),
            Action::Shuffle(choose) => (Op::Shuffle(choose), 4),
            Action::Gather(gather) => (Op::Gather(gather), 2),
            Action::ActiveMask => (Op::ActiveMask, 0),
            Action::WarpBarrier => {
                let [mask] = operands else { return Err(malformed()) };
                let args = [self.value(mask)?, ZERO, ZERO, ZERO];
                self.push(Inst { args, source, ..Inst::new(Op::WarpBarrier) });
                return Ok(());
            }
            Action::Barrier(barrier) => return self.barrier(barrier, operands, source),
            Action::Trap(name) => {
                self.push(Inst { source, ..Inst::new(Op::Trap(name)) });
                return Ok(());
            }
            Action::CopyAsync => return self.copy_async(operands, source),
            Action::CommitCopies => {
                self.push(Inst { source, ..Inst::new(Op::CommitCopies) });
                return Ok(());
            }
            Action::AwaitCopies => return self.await_copies(operands, source),
            Action::ArriveAfterCopies(arrive) => {
                self.await_copies(&[], source)?;
                return self.atomic(arrive, opcode, operands, source);
            }
            Action::InitBarrierObject(space) => return self.init_object(space, operands, source),
            Action::TestPhase { space, parity } => return self.test_phase(space, parity, operands, source),
            Action::IsConstant => return self.is_constant(operands, source),
            Action::Nothing => return Ok(()),
            Action::Return => {
                let what = match body.end {
                    End::Exit => Op::Exit,
                    End::Label(label) => Op::Goto(label),
                    End::Caller => Op::Return,
                };
                self.push(Inst { source, ..Inst::new(what) });
                return Ok(());
            }
            Action::Call => return self.call(operands, body),
            Action::Branch => return Err(malformed()),
        };
        self.compute(form, (what, count), opcode, operands, source)
    }

    /// An instruction with `count` sources in registers, and one or two results.
    fn compute(
        &mut self,
        form: &Form,
        (what, count): (Op, usize),
        opcode: &'a str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let malformed = || format!("{opcode} with these operands");
        if operands.len() != count + 1 {
            return Err(malformed());
        }
        let (d, d2) = match &operands[0] {
            Operand::Pair(d, d2) => (self.named(d)?, self.named(d2)?),
            one => (self.destination(one)?, SINK),
        };
        if d2 != SINK && !matches!(form.results, Results::NumberAndPredicate | Results::Comparison { .. }) {
            return Err(malformed());
        }
        let d2 = if matches!(form.action, Action::Carry(_)) { CARRY } else { d2 };
        let mut args = [ZERO; 4];
        for (arg, operand) in args.iter_mut().zip(&operands[1..]) {
            *arg = self.value(operand)?;
        }
        if form.flushes.sources {
            for arg in &mut args[..count] {
                *arg = self.emit("flush.f32", [*arg, ZERO], source);
            }
        }
        self.fuse(form, opcode, args);
        self.origins.add(form, d, args);
        self.push(Inst {
            d,
            d2,
            args,
            source,
            taint_rule: form.taint,
            arithmetic_check: form.check,
            ..Inst::new(what)
        });
        if form.flushes.result {
            self.push(Inst { d, args: [d, ZERO, ZERO, ZERO], source, ..Inst::new(Self::op("flush.f32")) });
        }
        if let Some(Fusion::Product(of, fused)) = form.fusion {
            self.products.insert(d, Product { opcode, of, fused, at: self.items.len() - 1 });
        }
        if matches!(form.results, Results::Comparison { .. }) && d2 != SINK {
            self.complement(d2, d, source);
        }
        Ok(())
    }
}
