//! Decodes statements to a [`Kernel`]. Forms come from the instruction table. A form that is missing there makes the kernel
//! unsupported, by name.

mod access;
mod barriers;
mod calls;
mod fusing;
mod matrix;
mod values;

use std::collections::{BTreeSet, HashMap};

use super::arrays::Arrays;
use super::block_layout::{Item, lay_out, reverse_post_order, split};
use super::condition::{Origins, edges};
use super::operands::{Binding, Names, offsets};
use super::{CARRY, Inst, Kernel, Op, Register, SINK, ZERO};
use crate::isa::{self, Action, ArithmeticCheck, TaintRule};
use crate::ptx::{self, Function, Module, Operand, Source, Statement};

/// How deep device functions may call each other. They are inlined, so that a recursion would not end.
const DEPTH: usize = 16;

/// Decodes the kernel `function` of `module`, whose text is `text`. `addresses` has the addresses of the module's variables.
pub fn decode(
    text: &str,
    module: &Module,
    function: &Function,
    addresses: &HashMap<String, u64>,
) -> Result<Kernel, String> {
    let mut decoder = Decoder {
        text,
        module,
        addresses,
        names: Names::new(),
        items: Vec::new(),
        labels: 0,
        shared: HashMap::new(),
        shared_arrays: Arrays::default(),
        dynamic: None,
        local_arrays: Arrays::default(),
        origins: Origins::default(),
        assertions: 0,
        branches: Vec::new(),
        lists: Vec::new(),
        forms: BTreeSet::new(),
        products: HashMap::new(),
    };
    let (starts, _) = offsets(&function.params);
    let params = function.params.iter().zip(starts).map(|(param, at)| (param.name.clone(), Binding::KernelParam(at)));
    decoder.function(function, params.collect(), 0)?;
    decoder.finish(&function.name)
}

pub(super) struct Decoder<'a> {
    text: &'a str,
    pub(super) module: &'a Module,
    addresses: &'a HashMap<String, u64>,
    pub(super) names: Names<'a>,
    items: Vec<Item>,
    labels: u32,
    pub(super) shared: HashMap<String, u64>,
    pub(super) shared_arrays: Arrays,
    /// Name and alignment of dynamic shared memory, if the kernel uses it.
    pub(super) dynamic: Option<(String, u32)>,
    pub(super) local_arrays: Arrays,
    origins: Origins<'a>,
    assertions: i64,
    branches: Vec<Source>,
    pub(super) lists: Vec<Vec<Register>>,
    forms: BTreeSet<String>,
    /// The registers that hold a product without a rounding modifier: its form, and its place among the items.
    products: HashMap<Register, (&'a str, usize)>,
}

/// The state of decoding one function's body.
struct Body<'a> {
    labels: HashMap<&'a str, u32>,
    /// Where `ret` goes; `None` in a kernel, whose threads end.
    end: Option<u32>,
    depth: usize,
    source: Source,
}

impl<'a> Decoder<'a> {
    fn function(&mut self, function: &Function, bound: Vec<(String, Binding)>, depth: usize) -> Result<(), String> {
        if function.body.is_empty() {
            return Err(format!("call of `{}`, which the module does not define", function.name));
        }
        if depth > DEPTH {
            return Err(format!("recursion in `{}`", function.name));
        }
        let text = self.text;
        let line = ptx::line_of(text, function.body.start);
        let statements = ptx::body(&text[function.body.clone()], line).map_err(|error| error.to_string())?;
        let hidden = self.names.hide();
        self.names.open();
        for (name, named) in bound {
            self.names.define(&name, named);
        }
        let end = (depth > 0).then(|| self.label());
        let mut body = Body { labels: HashMap::new(), end, depth, source: Source::default() };
        for statement in statements {
            self.statement(statement, &mut body)?;
        }
        self.items.extend(end.map(Item::Label));
        self.names.restore(hidden);
        Ok(())
    }

    fn statement(&mut self, statement: Statement<'a>, body: &mut Body<'a>) -> Result<(), String> {
        match statement {
            Statement::Open => self.names.open(),
            Statement::Close => self.names.close(),
            Statement::Label(name) => {
                let label = self.label_of(name, body);
                self.items.push(Item::Label(label));
            }
            Statement::Registers(names) => self.names.declare(&names),
            Statement::Variable(space, variable) => {
                let named = self.variable(space, &variable)?;
                self.names.define(&variable.name, named);
            }
            Statement::Instruction { guard, opcode, operands, source } => {
                body.source = source;
                let form = isa::form(opcode).ok_or_else(|| opcode.to_string())?;
                self.forms.insert(opcode.to_string());
                if let (Action::Branch, [Operand::Name(label)]) = (form, operands.as_slice()) {
                    let to = self.label_of(label, body);
                    return self.branch(guard, to, source);
                }
                let Some((negated, guard)) = guard else {
                    return self.instruction(form, opcode, &operands, body);
                };
                // A guarded instruction becomes one with a branch around it.
                let around = self.label();
                self.branch(Some((!negated, guard)), around, source)?;
                self.instruction(form, opcode, &operands, body)?;
                self.items.push(Item::Label(around));
            }
        }
        Ok(())
    }

    fn branch(&mut self, guard: Option<(bool, &'a str)>, to: u32, source: Source) -> Result<(), String> {
        let Some((negated, guard)) = guard else {
            self.push(Inst { source, ..Inst::new(Op::Goto(to)) });
            return Ok(());
        };
        let register = self.names.register(guard).ok_or_else(|| format!("undeclared register `{guard}`"))?;
        let branch = self.branches.len() as u32;
        self.branches.push(source);
        let what = Op::If { to, negated, branch };
        self.push(Inst { source, args: [register, ZERO, ZERO, ZERO], ..Inst::new(what) });
        Ok(())
    }

    fn instruction(
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
                let [d, Operand::Address(base, offset), rest @ ..] = operands else { return Err(malformed()) };
                let mut args = [self.value(base)?, ZERO, ZERO, ZERO];
                for (arg, operand) in args[1..].iter_mut().zip(rest) {
                    *arg = self.value(operand)?;
                }
                let what = Op::Atomic { space, bytes: access.bytes, update };
                let d = self.destination(d)?;
                let (offset, acquires) = (*offset, opcode.contains(".cas.") || opcode.contains(".exch."));
                self.push(Inst { d, args, offset, source, strong: true, acquires, ..Inst::new(what) });
                return Ok(());
            }
            Action::LoadMatrix(count) => return self.load_matrix(count, operands, source),
            Action::Multiply(depth) => return self.multiply(depth, operands, source),
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
            Action::Trap => {
                self.push(Inst { source, ..Inst::new(Op::Trap) });
                return Ok(());
            }
            Action::Nothing => return Ok(()),
            Action::Return => {
                let what = body.end.map_or(Op::Exit, Op::Goto);
                self.push(Inst { source, ..Inst::new(what) });
                return Ok(());
            }
            Action::Call => return self.call(operands, body),
            Action::Branch => return Err(malformed()),
        };
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
        self.fuse(opcode, args);
        self.origins.add(opcode, what, d, args);
        let (taint_rule, arithmetic_check) = (TaintRule::of(opcode), ArithmeticCheck::of(opcode));
        self.push(Inst { d, d2, args, source, taint_rule, arithmetic_check, ..Inst::new(what) });
        if isa::fusible(opcode).is_some() {
            self.products.insert(d, (opcode, self.items.len() - 1));
        }
        if opcode.starts_with("setp.") && d2 != SINK {
            // The second result of a comparison is the first one's complement.
            self.complement(d2, d, source)?;
        }
        Ok(())
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    fn label_of(&mut self, name: &'a str, body: &mut Body<'a>) -> u32 {
        if let Some(&label) = body.labels.get(name) {
            return label;
        }
        let label = self.label();
        body.labels.insert(name, label);
        label
    }

    pub(super) fn push(&mut self, inst: Inst) {
        self.products.remove(&inst.d);
        self.items.push(Item::Inst(inst));
    }

    fn finish(mut self, name: &str) -> Result<Kernel, String> {
        let dynamic = match &self.dynamic {
            Some((name, align)) => self.shared_arrays.place_dynamic(name, *align)?,
            None => 0,
        };
        let (blocks, targets) = split(self.items, self.labels as usize)?;
        let order = reverse_post_order(&blocks);
        let assertions = if self.assertions > 0 { edges(&self.origins, &blocks, &order) } else { Vec::new() };
        let code = lay_out(&blocks, &order, |label| targets[label as usize]);
        let barriers = code.iter().any(|inst| matches!(inst.op, Op::Barrier(_)));
        let begins = |inst: &Inst| matches!(inst.op, Op::Enter { .. });
        let blocks = code.iter().filter(|inst| begins(inst)).map(|inst| inst.source).collect();
        Ok(Kernel {
            name: name.to_string(),
            code,
            registers: self.names.count(),
            constants: self.names.constants(dynamic),
            specials: self.names.specials().to_vec(),
            shared: self.shared_arrays.bytes,
            local: self.local_arrays.bytes.next_multiple_of(16),
            shared_arrays: self.shared_arrays,
            local_arrays: self.local_arrays,
            barriers,
            blocks,
            branches: self.branches,
            lists: self.lists,
            forms: self.forms.into_iter().collect(),
            assertions,
        })
    }
}
