//! Decodes one instruction.

use super::{Body, Decoder, End};
use crate::isa::{self, Action, ArithmeticCheck, Space, TaintRule};
use crate::kernel::{CARRY, Inst, Op, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    pub(super) fn instruction(
        &mut self,
        form: Action,
        opcode: &'a str,
        operands: &[Operand<'a>],
        body: &mut Body<'a>,
    ) -> Result<(), String> {
        let source = body.source;
        let malformed = || format!("{opcode} with these operands");
        let (what, count) = match form {
            Action::One(_)
                if opcode.starts_with("mov.") && operands.iter().any(|one| matches!(one, Operand::Vector(_))) =>
            {
                return self.move_vector(opcode, operands, source);
            }
            Action::One(f) => (Op::One(f), 1),
            Action::Two(f) => (Op::Two(f), 2),
            Action::Three(f) => (Op::Three(f), 3),
            Action::Four(f) => (Op::Four(f), 4),
            Action::Carry(f) => (Op::Carry(f), operands.len().saturating_sub(1)),
            Action::Load(space, access) => return self.load(space, access, operands, source),
            Action::Store(space, access) => return self.store(space, access, operands, source),
            Action::Atomic(space, access, update) => {
                return self.atomic((space, access, update), opcode, operands, source);
            }
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
            Action::ArriveAfterCopies(space) => {
                self.await_copies(&[], source)?;
                let arrive = format!("mbarrier.arrive{}.b64", if space == Space::Shared { ".shared" } else { "" });
                let form = isa::form(&arrive).ok_or(arrive)?;
                return self.instruction(form, "mbarrier.arrive", operands, body);
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

    /// An instruction with so many sources in registers, and one or two results.
    fn compute(
        &mut self,
        form: Action,
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
        let paired = matches!(form, Action::Shuffle(_) | Action::Gather(_)) || opcode.starts_with("setp.");
        if d2 != SINK && !paired {
            return Err(malformed());
        }
        let d2 = if matches!(form, Action::Carry(_)) { CARRY } else { d2 };
        let mut args = [ZERO; 4];
        for (arg, operand) in args.iter_mut().zip(&operands[1..]) {
            *arg = self.value(operand)?;
        }
        let (flushes_sources, flushes_result) = isa::flushes(opcode);
        if flushes_sources {
            for arg in &mut args[..count] {
                *arg = self.emit("flush.f32", [*arg, ZERO], source)?;
            }
        }
        self.fuse(opcode, args);
        self.origins.add(opcode, what, d, args);
        let (taint_rule, arithmetic_check) = (TaintRule::of(opcode), ArithmeticCheck::of(opcode));
        self.push(Inst { d, d2, args, source, taint_rule, arithmetic_check, ..Inst::new(what) });
        if flushes_result {
            self.push(Inst { d, args: [d, ZERO, ZERO, ZERO], source, ..Inst::new(Self::one("flush.f32")?) });
        }
        if isa::fusible(opcode).is_some() {
            self.products.insert(d, (opcode, self.items.len() - 1));
        }
        if opcode.starts_with("setp.") && d2 != SINK {
            // The second result of a comparison is the first one's complement.
            self.complement(d2, d, source)?;
        }
        Ok(())
    }
}
