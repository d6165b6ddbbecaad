//! Decodes one instruction.

use std::collections::BTreeMap;

use super::fusing::Fusing;
use super::{Body, Decoder, End, Item, Product};
use crate::isa::{self, Action, BlockBarrier, FloatTypes, Form, Fusion, Results, TaintRule};
use crate::kernel::{CARRY, Inst, Op, Register, SINK, ZERO};
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
        let mut compute = |op, sources| self.compute(form, (op, sources), opcode, operands, source);
        match form.action {
            Action::Move { bytes } if operands.iter().any(|one| matches!(one, Operand::Vector(_))) => {
                self.move_vector(bytes, opcode, operands, source)
            }
            Action::Move { .. } => compute(Op::One(isa::copy), 1),
            Action::One(f) => compute(Op::One(f), 1),
            // The least or greatest of three is that of two and the third.
            Action::Two(f) if operands.len() == 4 && ["min", "max"].contains(&&opcode[..opcode.len().min(3)]) => {
                let first = [Operand::Register(self.names.fresh()), operands[1].clone(), operands[2].clone()];
                self.compute(form, (Op::Two(f), 2), opcode, &first, source)?;
                let [first, ..] = first;
                let second = [operands[0].clone(), first, operands[3].clone()];
                self.compute(form, (Op::Two(f), 2), opcode, &second, source)
            }
            Action::Two(f) => compute(Op::Two(f), 2),
            Action::Video(video) => self.video(video, operands, source),
            Action::Logic3(combine) => self.logic3(combine, operands, source),
            Action::Compare(comparison) => self.compare(form, comparison, operands, source),
            Action::Three(f) => compute(Op::Three(f), 3),
            Action::Four(f) => compute(Op::Four(f), 4),
            Action::Carry(f) => compute(Op::Carry(f), operands.len().saturating_sub(1)),
            Action::Shuffle(choose) => self.exchange(form, (Op::Shuffle(choose), 4), opcode, operands, source),
            Action::Gather(gather) => self.exchange(form, (Op::Gather(gather), 2), opcode, operands, source),
            Action::Elect(gather) => {
                let [results, members] = operands else { return Err(format!("{opcode} with these operands")) };
                let operands = [results.clone(), Operand::Number(0), members.clone()];
                self.compute(form, (Op::Gather(gather), 2), opcode, &operands, source)
            }
            Action::Policy => {
                let [d, ..] = operands else { return Err(format!("{opcode} with these operands")) };
                let d = self.destination(d)?;
                self.push(Inst { d, source, ..Inst::new(Self::op("mov.b64")) });
                Ok(())
            }
            Action::ActiveMask => compute(Op::ActiveMask, 0),
            Action::Load(space, access) => self.load(space, access, opcode, operands, source),
            Action::Store(space, access) => self.store(space, access, opcode, operands, source),
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
            Action::Fence(scope) => {
                self.push(Inst { source, ..Inst::new(Op::Fence(scope)) });
                Ok(())
            }
            Action::Barrier(barrier) => self.barrier(barrier, operands, source),
            Action::IsConstant => self.is_constant(operands, source),
            Action::Nothing => Ok(()),
            Action::CommitCopies | Action::Trap(_) | Action::Exit | Action::Return => {
                if matches!(form.action, Action::Return) {
                    self.results(body)?;
                }
                let op = match (form.action, body.end) {
                    (Action::CommitCopies, _) => Op::CommitCopies,
                    (Action::Trap(name), _) => Op::Trap(name),
                    (Action::Exit, _) | (_, End::Exit) => Op::Exit,
                    (_, End::Label(label)) => Op::Goto(label),
                    (_, End::Caller) => Op::Return,
                };
                self.push(Inst { source, ..Inst::new(op) });
                Ok(())
            }
            Action::Call => self.call(operands, body),
            Action::Branch => Err(format!("{opcode} with these operands")),
            Action::BranchByNumber => self.branch_by_number(operands, body),
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
            // The second result is made of the first.
            Operand::Pair("_", d2) => (self.names.fresh(), self.named(d2)?),
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
                *arg = self.emit(form.flushes.by.form(), [*arg, ZERO], source);
            }
        }
        let fusing = self.fuse(form, opcode, args);
        let product = self.product(form, opcode, args);
        self.origins.add(form, d, args);
        let (taint_rule, arithmetic_check) = (form.taint, form.check);
        let floats = FloatTypes::of(opcode);
        self.push(Inst { d, d2, args, source, taint_rule, arithmetic_check, floats, ..Inst::new(what) });
        self.fusing.extend(fusing);
        let flush = form.flushes.result.then_some(form.flushes.by);
        for after in flush.into_iter().chain(form.limit) {
            self.push(Inst { d, args: [d, ZERO, ZERO, ZERO], source, ..Inst::new(Self::op(after.form())) });
        }
        if let Some(product) = product {
            self.products.insert(d, product);
        }
        if matches!(form.results, Results::Comparison { .. }) && d2 != SINK {
            self.complement(d2, d, source);
        }
        Ok(())
    }

    /// An exchange between lanes. If it has no member mask, the lanes that execute it take part.
    fn exchange(
        &mut self,
        form: &Form,
        what: (Op, usize),
        opcode: &'a str,
        operands: &[Operand<'a>],
        source: Source,
    ) -> Result<(), String> {
        if opcode.contains(".sync") || operands.len() > what.1 {
            return self.compute(form, what, opcode, operands, source);
        }
        let members = self.names.fresh();
        self.push(Inst { d: members, source, ..Inst::new(Op::ActiveMask) });
        let mut operands = operands.to_vec();
        operands.push(Operand::Register(members));
        self.compute(form, what, opcode, &operands, source)
    }

    /// The product that the next instruction computes, copies or negates.
    fn product(&self, form: &Form, opcode: &'a str, args: [Register; 4]) -> Option<Product<'a>> {
        let at = self.items.len();
        let copied = self.products.get(&args[0]).cloned();
        let negates = match form.fusion? {
            Fusion::Product(of, fused) => {
                return Some(Product { opcode, of, fused, at, copies: Vec::new(), is_negated: false });
            }
            Fusion::Copy => false,
            Fusion::Negation(is_between) if copied.as_ref().is_some_and(|product| is_between(product.of)) => true,
            Fusion::Negation(_) | Fusion::Sum(..) => return None,
        };
        let mut product = copied?;
        product.copies.push(at);
        product.is_negated ^= negates;
        Some(product)
    }

    /// If the next instruction is a sum that may be fused: the products that it uses may not be rounded. Returns those of its terms.
    fn fuse(&mut self, form: &Form, sum: &str, args: [Register; 4]) -> Vec<Fusing> {
        let Some(Fusion::Sum(of, fused)) = form.fusion else { return Vec::new() };
        let mut found = Vec::new();
        for (term, fused) in fused.into_iter().enumerate() {
            let Some(product) = self.products.get(&args[term]).filter(|product| product.of == of) else { continue };
            if let Item::Inst(inst) = &mut self.items[product.at] {
                inst.op = Op::Two(product.fused);
                self.forms.insert(format!("{}+{sum}", product.opcode));
                let sign = if product.is_negated { 1 << (8 * u32::from(form.source.1) - 1) } else { 0 };
                let (sum, fused) = (self.items.len(), fused[usize::from(product.is_negated)]);
                found.push(Fusing { product: product.at, copies: product.copies.clone(), sum, term, of, sign, fused });
            }
        }
        found
    }

    /// `mov` between a vector and a scalar of `bytes` bytes: the vector's elements are the scalar's bytes, lowest first.
    fn move_vector(&mut self, bytes: u8, opcode: &str, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let (parts, whole, unpacks) = match operands {
            [Operand::Vector(parts), whole] => (parts, whole, true),
            [whole, Operand::Vector(parts)] => (parts, whole, false),
            _ => return Err(format!("{opcode} with these operands")),
        };
        let each = (usize::from(bytes) / parts.len().max(1)) as u8;
        match parts.as_slice() {
            [part] => {
                let (to, from) = if unpacks { (part, whole) } else { (whole, part) };
                let (d, args) = (self.destination(to)?, [self.value(from)?, ZERO, ZERO, ZERO]);
                let taint_rule = TaintRule::BITS;
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Op::One(isa::copy)) });
                Ok(())
            }
            [_, _] | [_, _, _, _] if each == 0 => Err(format!("{opcode} of parts of a byte")),
            [_, _] | [_, _, _, _] if unpacks => self.unpack(each, parts, whole, source),
            [_, _] | [_, _, _, _] => self.pack(each, whole, parts, source),
            _ => Err(format!("{opcode} of {} parts", parts.len())),
        }
    }

    fn unpack(&mut self, each: u8, parts: &[Operand<'a>], from: &Operand<'a>, source: Source) -> Result<(), String> {
        let args = [self.value(from)?, ZERO, ZERO, ZERO];
        for (part, at) in parts.iter().zip((0..).step_by(each.into())) {
            let unpack = match at {
                0 => "unpack.0",
                1 => "unpack.8",
                2 => "unpack.16",
                3 => "unpack.24",
                4 => "unpack.32",
                _ => "unpack.48",
            };
            let (d, taint_rule) = (self.destination(part)?, TaintRule::Part(each));
            self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::op(unpack)) });
        }
        Ok(())
    }

    /// Packs pairs, then pairs of these.
    fn pack(&mut self, each: u8, to: &Operand<'a>, parts: &[Operand<'a>], source: Source) -> Result<(), String> {
        let to = self.destination(to)?;
        let mut parts = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>, _>>()?;
        let mut bytes = each;
        while parts.len() > 1 {
            let pack = match bytes {
                1 => "pack.8",
                2 => "pack.16",
                _ => "pack.32",
            };
            let mut packed = Vec::new();
            for pair in parts.chunks_exact(2) {
                let d = if parts.len() == 2 { to } else { self.names.fresh() };
                let (args, taint_rule) = ([pair[0], pair[1], ZERO, ZERO], TaintRule::BITS);
                self.push(Inst { d, args, source, taint_rule, ..Inst::new(Self::op(pack)) });
                packed.push(d);
            }
            (parts, bytes) = (packed, 2 * bytes);
        }
        Ok(())
    }

    /// `[d,] number [, threads] [, predicate]`
    fn barrier(&mut self, barrier: BlockBarrier, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
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
    fn is_constant(&mut self, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
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
