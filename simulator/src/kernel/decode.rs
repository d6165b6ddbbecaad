//! Decodes statements to a [`Kernel`]. Forms come from the instruction table. A form that is missing there makes the kernel
//! unsupported, by name.

mod calls;
mod comparing;
mod fusing;
mod instructions;
mod labels;
mod memory;
mod operands;
mod video;

use std::any::TypeId;
use std::collections::{BTreeSet, HashMap, HashSet};

use self::labels::Labels;
use super::arrays::Arrays;
use super::block_layout::{Item, lay_out, reverse_post_order, split};
use super::condition::{Origins, edges};
use super::names::{Binding, Names, offsets};
use super::{Callee, Inst, Kernel, MatrixInst, Op, Register, ZERO};
use crate::isa::{self, Action, Scope, Strength, TaintRule, Two};
use crate::ptx::{self, Function, Module, Operand, Source, Statement, Text};

/// How deep device functions are inlined.
const DEPTH: usize = 16;

/// Decodes the kernel `function` of `module`, whose text is `text`. `addresses` has the addresses of the module's variables.
///
/// `joined`: its arrays of shared and of local memory lie side by side. Device functions are inlined, and registers hold their parameters. That is not possible if a function calls itself, is called by
/// its address, or reads a parameter in other pieces than it was written: then memory holds all parameters.
pub fn decode(
    text: &Text,
    module: &Module,
    function: &Function,
    addresses: &HashMap<String, u64>,
    joined: bool,
) -> Result<Kernel, String> {
    let decoded = |in_memory: bool| {
        let mut decoder = Decoder::new(text, module, addresses, in_memory);
        (decoder.shared_arrays, decoder.local_arrays) = (Arrays::new(joined), Arrays::new(joined));
        let kernel = decoder.kernel(function);
        (kernel, decoder.needs_memory)
    };
    match decoded(false) {
        (Err(_), true) => decoded(true).0,
        (kernel, _) => kernel,
    }
}

pub(super) struct Decoder<'a> {
    text: &'a Text,
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
    origins: Origins,
    assertions: i64,
    branches: Vec<Source>,
    pub(super) lists: Vec<Vec<Register>>,
    pub(super) matrices: Vec<MatrixInst>,
    forms: BTreeSet<String>,
    /// The registers that hold a product that may be fused, or a copy of it.
    products: HashMap<Register, Product<'a>>,
    /// The labels behind guarded instructions.
    guards: HashSet<u32>,
    /// The sums of such products.
    fusing: Vec<fusing::Fusing>,
    /// Whether parameters of device functions are in memory, or must be.
    in_memory: bool,
    needs_memory: bool,
    /// The functions that are being inlined.
    inlined: Vec<String>,
    /// The functions that are not inlined, and the bytes of the present one's frame, if it is one of them.
    functions: Vec<calls::Pending>,
    frame: Option<u32>,
}

/// A product that a GPU may fuse with a sum.
#[derive(Clone)]
struct Product<'a> {
    opcode: &'a str,
    of: TypeId,
    /// What it is then.
    fused: Two,
    /// Its place among the items.
    at: usize,
    /// The places of the copies and negations from there to the register.
    copies: Vec<usize>,
    is_negated: bool,
}

/// Where `ret` goes.
#[derive(Clone, Copy)]
enum End {
    /// The thread ends: this is a kernel.
    Exit,
    /// Behind a function that is inlined.
    Label(u32),
    /// To where the function was called.
    Caller,
}

/// The state of decoding one function's body.
struct Body<'a> {
    function: String,
    labels: Labels<'a>,
    end: End,
    depth: usize,
    source: Source,
    /// The results that are registers of the function: where they go, and their bytes.
    results: Vec<(Register, Binding, u8)>,
}

impl<'a> Decoder<'a> {
    fn new(text: &'a Text, module: &'a Module, addresses: &'a HashMap<String, u64>, in_memory: bool) -> Self {
        Self {
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
            matrices: Vec::new(),
            forms: BTreeSet::new(),
            products: HashMap::new(),
            guards: HashSet::new(),
            fusing: Vec::new(),
            in_memory,
            needs_memory: false,
            inlined: Vec::new(),
            functions: Vec::new(),
            frame: None,
        }
    }

    fn kernel(&mut self, function: &Function) -> Result<Kernel, String> {
        let (starts, _) = offsets(&function.params);
        self.body(function, starts.into_iter().map(Binding::KernelParam).collect(), End::Exit, 0)?;
        self.functions();
        self.finish(&function.name)
    }

    /// The body of a function, whose parameters and results are at `places`.
    fn body(&mut self, function: &Function, places: Vec<Binding>, end: End, depth: usize) -> Result<(), String> {
        if function.body.is_empty() {
            return Err(format!("call of `{}`, which the module does not define", function.name));
        }
        let text = self.text;
        let line = text.line_of(function.body.start);
        let statements = ptx::body(&text.as_str()[function.body.clone()], line).map_err(|error| error.to_string())?;
        let hidden = self.names.hide();
        let labels = Labels::of(&statements, || self.label());
        let (name, source) = (function.name.clone(), Source::default());
        let mut body = Body { function: name, labels, end, depth, source, results: Vec::new() };
        let bound = self.bind(function, places, &mut body);
        let decoded = bound.and_then(|()| {
            statements.into_iter().try_for_each(|statement| self.statement(statement, &mut body))?;
            self.results(&body)
        });
        self.names.restore(hidden);
        decoded
    }

    /// Defines the parameters and results of a function.
    fn bind(&mut self, function: &Function, places: Vec<Binding>, body: &mut Body<'a>) -> Result<(), String> {
        self.names.open();
        let is_result = (0..).map(|number| number >= function.params.len());
        for ((formal, place), is_result) in function.params.iter().chain(&function.returns).zip(places).zip(is_result) {
            if !formal.in_register {
                self.names.define(&formal.name, place);
                continue;
            }
            let (register, bytes) = (self.names.fresh(), formal.bytes as u8);
            self.names.define(&formal.name, Binding::Register(register));
            if is_result {
                body.results.push((register, place, bytes));
            } else {
                self.load_argument(place, bytes, register, Source::default())?;
            }
        }
        Ok(())
    }

    /// Copies the results that are registers of a function to where its caller finds them.
    fn results(&mut self, body: &Body<'a>) -> Result<(), String> {
        for &(register, place, bytes) in &body.results {
            let inst = self.store_param(place, 0, bytes, register)?;
            self.push(Inst { source: body.source, ..inst });
        }
        Ok(())
    }

    fn statement(&mut self, statement: Statement<'a>, body: &mut Body<'a>) -> Result<(), String> {
        match statement {
            Statement::Open => {
                self.names.open();
                body.labels.open();
            }
            Statement::Close => {
                self.names.close();
                body.labels.close();
            }
            Statement::Label(name) => {
                let label = self.label_of(name, body);
                self.items.push(Item::Label(label));
            }
            Statement::Targets(..) => {}
            Statement::Registers(registers) => self.names.declare(&registers),
            Statement::Variable(space, variable) => {
                // Inlined twice, a function has its shared memory once.
                let place = format!("{} {} {}", body.function, body.labels.scope(), variable.name);
                let named = self.variable(space, &variable, &place)?;
                self.names.define(&variable.name, named);
            }
            Statement::Instruction { guard, opcode, operands, source } => {
                body.source = source;
                let form = isa::form(opcode).ok_or_else(|| opcode.to_string())?;
                self.forms.insert(opcode.to_string());
                if let (Action::Branch, [Operand::Name(label)]) = (form.action, operands.as_slice()) {
                    let to = self.label_of(label, body);
                    return self.branch(guard, to, source);
                }
                let mut operands: Vec<Operand> = operands.into_iter().map(|operand| self.whole(operand)).collect();
                if opcode.contains("L2::cache_hint") {
                    // The policy does not matter.
                    operands.pop();
                }
                let Some((negated, guard)) = guard else {
                    return self.instruction(&form, opcode, &operands, body);
                };
                // A guarded instruction becomes one with a branch around it.
                let around = self.label();
                self.guards.insert(around);
                self.branch(Some((!negated, guard)), around, source)?;
                self.instruction(&form, opcode, &operands, body)?;
                self.items.push(Item::Label(around));
            }
        }
        Ok(())
    }

    /// A vector by its elements, if the operand is the name of one.
    fn whole(&self, operand: Operand<'a>) -> Operand<'a> {
        match operand {
            Operand::Name(name) => match self.names.vector(name) {
                Some(elements) => {
                    Operand::Vector((0..elements.len()).map(|number| Operand::Element(name, number)).collect())
                }
                None => operand,
            },
            other => other,
        }
    }

    /// `brx.idx`: goes to one of the labels of a list, by its number.
    fn branch_by_number(&mut self, operands: &[Operand<'a>], body: &mut Body<'a>) -> Result<(), String> {
        let [index, Operand::Name(list)] = operands else { return Err("brx.idx with these operands".to_string()) };
        let targets = body.labels.targets(list).ok_or_else(|| format!("unknown list of targets `{list}`"))?;
        let (index, source) = (self.value(index)?, body.source);
        for (number, target) in targets.iter().enumerate() {
            let to = self.label_of(target, body);
            // The number must be that of a label (PTX ISA, brx.idx).
            if number + 1 == targets.len() {
                self.push(Inst { source, ..Inst::new(Op::Goto(to)) });
                break;
            }
            let constant = self.names.constant(number as u64);
            let is_this = self.emit("setp.eq.u32", [index, constant], source);
            self.branch_if(is_this, false, to, source);
        }
        Ok(())
    }

    fn branch(&mut self, guard: Option<(bool, &'a str)>, to: u32, source: Source) -> Result<(), String> {
        let Some((negated, guard)) = guard else {
            self.push(Inst { source, ..Inst::new(Op::Goto(to)) });
            return Ok(());
        };
        let register = self.names.register(guard).ok_or_else(|| format!("undeclared register `{guard}`"))?;
        self.branch_if(register, negated, to, source);
        Ok(())
    }

    fn branch_if(&mut self, register: Register, negated: bool, to: u32, source: Source) {
        let branch = self.branches.len() as u32;
        self.branches.push(source);
        let what = Op::If { to, negated, branch };
        self.push(Inst { source, args: [register, ZERO, ZERO, ZERO], ..Inst::new(what) });
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    fn label_of(&mut self, name: &'a str, body: &mut Body<'a>) -> u32 {
        match body.labels.find(name) {
            Some(label) => label,
            // No statement has it, so that splitting into blocks fails.
            None => self.label(),
        }
    }

    pub(super) fn push(&mut self, inst: Inst) {
        self.products.remove(&inst.d);
        self.items.push(Item::Inst(inst));
    }

    fn finish(&mut self, name: &str) -> Result<Kernel, String> {
        if let Some((name, align)) = &self.dynamic {
            let address = self.shared_arrays.place_dynamic(name, *align)?;
            let register = self.names.dynamic_shared();
            self.names.set_constant(register, address);
        }
        let frames = self.place_frames()?;
        self.fuse_products();
        let (blocks, targets) = split(std::mem::take(&mut self.items), self.labels as usize)?;
        let mut order = reverse_post_order(&blocks, 0);
        for function in &self.functions {
            order.extend(reverse_post_order(&blocks, targets[function.entry as usize]));
        }
        let assertions = if self.assertions > 0 { edges(&self.origins, &blocks, &order) } else { Vec::new() };
        let (mut code, starts) = lay_out(&blocks, &order, |label| targets[label as usize]);
        let entry = |label: u32| starts[targets[label as usize]] as u32;
        let functions: Vec<Callee> = self.functions.drain(..).map(|function| function.callee(entry)).collect();
        mark_guesses(&mut code);
        let waits = |inst: &Inst| matches!(inst.op, Op::Barrier(_) | Op::Poll) || inst.asks;
        let waits = code.iter().any(waits);
        let asks = code.iter().any(|inst| inst.asks);
        let orders = code.iter().any(|inst| self.orders(inst));
        let begins = |inst: &&Inst| matches!(inst.op, Op::Enter { .. });
        let blocks = code.iter().filter(begins).map(|inst| inst.source).collect();
        let shared_arrays = std::mem::take(&mut self.shared_arrays);
        let local_arrays = std::mem::take(&mut self.local_arrays);
        Ok(Kernel {
            name: name.to_string(),
            code,
            steady: 0,
            unset: Vec::new(),
            registers: self.names.count(),
            constants: self.names.constants(),
            specials: self.names.specials().to_vec(),
            shared: shared_arrays.bytes,
            local: local_arrays.bytes.next_multiple_of(16),
            shared_arrays,
            local_arrays,
            waits,
            asks,
            orders,
            blocks,
            branches: std::mem::take(&mut self.branches),
            functions,
            frames,
            lists: std::mem::take(&mut self.lists),
            matrices: std::mem::take(&mut self.matrices),
            forms: std::mem::take(&mut self.forms).into_iter().collect(),
            assertions,
        })
    }

    /// Whether an instruction orders accesses by more than a barrier of all threads of a block or warp.
    fn orders(&self, inst: &Inst) -> bool {
        let is = |register: Register, value: u64| self.names.constants().contains(&(register, value));
        match inst.op {
            Op::Fence(_) => true,
            // Those of a warp that name all lanes order all of them.
            Op::WarpBarrier => !is(inst.args[0], u64::from(u32::MAX)) && !is(inst.args[0], u64::MAX),
            Op::Barrier(barrier) => !barrier.waits || inst.args[1] != ZERO,
            _ => inst.strength.is_some_and(|strength| strength.acquires || strength.releases),
        }
    }
}

/// Makes the loads relaxed with which a loop around a compare and swap begins: such a load may return anything, as the swap that follows
/// fails unless it was right. It has the address of the swap, and what it loads is compared.
fn mark_guesses(code: &mut [Inst]) {
    let swaps = code.iter().filter(|inst| matches!(inst.op, Op::Atomic { .. }) && inst.asks && inst.args[2] != ZERO);
    let swaps: Vec<_> = swaps.map(|swap| (swap.args[0], swap.offset, sources(code, swap.args[1]))).collect();
    for inst in code.iter_mut().filter(|inst| matches!(inst.op, Op::Load { .. }) && inst.strength.is_none()) {
        let guesses = |(base, offset, compared): &(Register, i64, Vec<Register>)| {
            (*base, *offset) == (inst.args[0], inst.offset) && compared.contains(&inst.d)
        };
        if swaps.iter().any(guesses) {
            inst.strength = Some(Strength { scope: Scope::Device, acquires: false, releases: false });
        }
    }
}

/// The registers of which one is a copy.
fn sources(code: &[Inst], register: Register) -> Vec<Register> {
    let mut found = vec![register];
    let mut place = 0;
    while let Some(&copy) = found.get(place) {
        for inst in code
            .iter()
            .filter(|inst| inst.d == copy && inst.taint_rule == TaintRule::BITS && matches!(inst.op, Op::One(_)))
        {
            if !found.contains(&inst.args[0]) {
                found.push(inst.args[0]);
            }
        }
        place += 1;
    }
    found
}
