//! Decodes one instruction.

use std::collections::BTreeMap;

use super::{Body, Decoder, End, Item, Product};
use crate::isa::{self, Action, BlockBarrier, Form, Fusion, Results, TaintRule};
use crate::kernel::{CARRY, Inst, Op, Register, SINK, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    pub(super) fn instruction(
        &mut self,
        form: &Form,
        opcode: &'a str,
        operands: &[Operand<'a>],
        body: &Body<'a>,
    ) -> Result<(), String> {
        let source = body.source;
        let mut compute = |op, sources| self.compute(form, (op, sources), opcode, operands, source);
        match form.action {
            Action::Move { bits } if operands.iter().any(|one| matches!(one, Operand::Vector(_))) => {
                self.move_vector(bits, opcode, operands, source)
            }
            Action::Move { .. } => compute(Op::One(isa::copy), 1),
            Action::One(f) => compute(Op::One(f), 1),
            Action::Two(f) => compute(Op::Two(f), 2),
            Action::Three(f) => compute(Op::Three(f), 3),
            Action::Four(f) => compute(Op::Four(f), 4),
            Action::Carry(f) => compute(Op::Carry(f), operands.len().saturating_sub(1)),
            Action::Shuffle(choose) => compute(Op::Shuffle(choose), 4),
            Action::Gather(gather) => compute(Op::Gather(gather), 2),
            Action::ActiveMask => compute(Op::ActiveMask, 0),
            Action::Load(space, access) => self.load(space, access, operands, source),
            Action::Store(space, access) => self.store(space, access, operands, source),
            Action::Atomic(atomic) => self.atomic(atomic, opcode, operands, source),
            Action::Matrix(what) => self.matrix(what, operands, source),
            Action::CopyAsync => self.copy_async(operands, source),
            Action::AwaitCopies => self.await_copies(operands, source),
            Action::ArriveAfterCopies(arrive) => {
                self.await_copies(&[], source)?;
                self.atomic(arrive, opcode, operands, source)
            }
            Action::InitBarrierObject(space) => self.init_object(space, operands, source),
            Action::TestPhase { space, parity } => self.test_phase(space, parity, operands, source),
            Action::WarpBarrier => {
                let [mask] = operands else { return Err(format!("{opcode} with these operands")) };
                let args = [self.value(mask)?, ZERO, ZERO, ZERO];
                self.push(Inst { args, source, ..Inst::new(Op::WarpBarrier) });
                Ok(())
            }
            Action::Barrier(barrier) => self.barrier(barrier, operands, source),
            Action::IsConstant => self.is_constant(operands, source),
            Action::Nothing => Ok(()),
            Action::CommitCopies | Action::Trap(_) | Action::Return => {
                let op = match (form.action, body.end) {
                    (Action::CommitCopies, _) => Op::CommitCopies,
                    (Action::Trap(name), _) => Op::Trap(name),
                    (_, End::Exit) => Op::Exit,
                    (_, End::Label(label)) => Op::Goto(label),
                    (_, End::Caller) => Op::Return,
                };
                self.push(Inst { source, ..Inst::new(op) });
                Ok(())
            }
            Action::Call => self.call(operands, body),
            Action::Branch => Err(format!("{opcode} with these operands")),
        }
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

    /// If this is a sum that may be fused: fuses the products that it uses.
    pub(super) fn fuse(&mut self, form: &Form, sum: &str, args: [Register; 4]) {
        let Some(Fusion::Sum(of)) = form.fusion else { return };
        for product in args.iter().filter_map(|arg| self.products.get(arg)).filter(|product| product.of == of) {
            if let Item::Inst(inst) = &mut self.items[product.at] {
                inst.op = Op::Two(product.fused);
                self.forms.insert(format!("{}+{sum}", product.opcode));
            }
        }
    }

    /// `mov` between a vector and a scalar of `bits` bits: the vector's elements are the scalar's bits, lowest first.
    pub(super) fn move_vector(
        &mut self,
        bits: u32,
        opcode: &str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        let moved = match operands {
            [Operand::Vector(one), from] if one.len() == 1 => self.copy(&one[0], from, source)?,
            [to, Operand::Vector(one)] if one.len() == 1 => self.copy(to, &one[0], source)?,
            [Operand::Vector(parts), from] => self.unpack(bits, parts, from, source)?,
            [to, Operand::Vector(parts)] => self.pack(bits, to, parts, source)?,
            _ => None,
        };
        moved.ok_or_else(|| format!("{opcode} with these operands"))
    }

    fn copy(&mut self, to: &Operand<'a>, from: &Operand<'a>, source: Source) -> Result<Option<()>, String> {
        let (d, args, taint_rule) = (self.destination(to)?, [self.value(from)?, ZERO, ZERO, ZERO], TaintRule::Bytes(8));
        self.push(Inst { d, args, source, taint_rule, ..Inst::new(Op::One(isa::copy)) });
        Ok(Some(()))
    }

    /// `None` if it is of another number of parts than 2, 4 or 8, or if those are no bytes.
    fn unpack(
        &mut self,
        bits: u32,
        parts: &[Operand<'a>],
        from: &Operand<'a>,
        source: Source,
    ) -> Result<Option<()>, String> {
        let args = [self.value(from)?, ZERO, ZERO, ZERO];
        let width = bits / parts.len().max(1) as u32;
        for (place, part) in parts.iter().enumerate() {
            let unpack = match width * place as u32 {
                _ if !width.is_multiple_of(8) => return Ok(None),
                0 => "unpack.0",
                8 => "unpack.8",
                16 => "unpack.16",
                24 => "unpack.24",
                32 => "unpack.32",
                48 => "unpack.48",
                _ => return Ok(None),
            };
            let (d, bytes) = (self.destination(part)?, (width / 8) as u8);
            let taint_rule = TaintRule::Unpack(bytes * place as u8, bytes);
            self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::op(unpack)) });
        }
        Ok(Some(()).filter(|()| !parts.is_empty()))
    }

    fn pack(
        &mut self,
        bits: u32,
        to: &Operand<'a>,
        parts: &[Operand<'a>],
        source: Source,
    ) -> Result<Option<()>, String> {
        let d = self.destination(to)?;
        let mut parts = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>, _>>()?;
        while parts.len() > 1 {
            let width = bits / parts.len() as u32;
            let pack = match width {
                8 => "pack.8",
                16 => "pack.16",
                32 => "pack.32",
                _ => return Ok(None),
            };
            let pairs = parts.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>();
            parts.clear();
            for [low, high] in pairs {
                let d = if width * 2 == bits { d } else { self.names.fresh() };
                let (args, taint_rule) = ([low, high, ZERO, ZERO], TaintRule::Pack((width / 8) as u8));
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::op(pack)) });
                parts.push(d);
            }
        }
        Ok(Some(()).filter(|()| !parts.is_empty()))
    }

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

    /// `isspacep.const`: whether an address is that of a constant variable of the module.
    pub(super) fn is_constant(&mut self, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let [d, address] = operands else { return Err("isspacep with these operands".to_string()) };
        let (d, address) = (self.destination(d)?, self.value(address)?);
        let mut found = ZERO;
        let constants = self.module.variables.iter().filter(|(_, variable)| variable.space == ".const");
        let constants: BTreeMap<_, _> = constants.collect();
        for (name, variable) in constants {
            let base = *self.addresses.get(name).ok_or_else(|| format!("unknown name `{name}`"))?;
            let (base, bytes) = (self.names.constant(base), self.names.constant(variable.bytes.into()));
            let distance = self.emit("sub.u64", [address, base], source);
            let inside = self.emit("setp.lo.u64", [distance, bytes], source);
            found = self.emit("or.pred", [found, inside], source);
        }
        self.push(Inst { d, args: [found, ZERO, ZERO, ZERO], source, ..Inst::new(Self::op("mov.pred")) });
        Ok(())
    }
}
