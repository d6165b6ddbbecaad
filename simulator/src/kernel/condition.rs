//! What a failed assertion compared: the comparisons whose results lead to it, found while decoding, and their operands.

use std::collections::{HashMap, HashSet};

use super::block_layout::Block;
use super::{Op, Register, SINK};
use crate::fault::Note;
use crate::isa::{Action, Form, Results, Two};
use crate::lanes::{Bf16, F16, Lane, Lanes, WARP};

/// Where a predicate comes from.
#[derive(Debug)]
enum Origin {
    Compared {
        test: &'static str,
        of: &'static str,
        compare: Two,
        operands: [Register; 2],
    },
    /// Computed from other predicates by `and`, `or` or `not`.
    Of([Register; 2]),
}

/// The origins of a kernel's predicates.
#[derive(Debug, Default)]
pub struct Origins(HashMap<Register, Origin>);

impl Origins {
    /// Records an instruction of this form that writes `d`.
    pub fn add(&mut self, form: &Form, d: Register, args: [Register; 4]) {
        let operands = [args[0], args[1]];
        let origin = match (form.results, form.action) {
            (Results::Comparison { test, of }, Action::Two(compare)) => {
                Origin::Compared { test, of, compare, operands }
            }
            (Results::Combination, _) => Origin::Of(operands),
            _ => return,
        };
        self.0.insert(d, origin);
    }

    /// The comparisons that `predicate` is computed from, as far as they are unique.
    fn comparisons(&self, predicate: Register, writes: &HashMap<Register, u32>) -> Vec<Comparison> {
        let (mut found, mut pending, mut seen) = (Vec::new(), vec![predicate], HashSet::new());
        while let Some(result) = pending.pop() {
            if writes.get(&result) != Some(&1) || !seen.insert(result) {
                continue;
            }
            match self.0.get(&result) {
                Some(&Origin::Compared { test, of, compare, operands }) => {
                    found.push(Comparison { test, of, compare, operands, result });
                }
                // The first one is on top of the stack.
                Some(&Origin::Of([first, second])) => pending.extend([second, first]),
                None => {}
            }
        }
        found
    }
}

/// A branch edge that leads to an assertion's failure.
#[derive(Debug)]
pub struct Edge {
    /// The branch's predicate, and its value on this edge.
    predicate: Register,
    holds: bool,
    comparisons: Vec<Comparison>,
}

impl Edge {
    /// The registers that tell what was compared.
    pub fn registers(&self) -> impl Iterator<Item = Register> {
        let of = |comparison: &Comparison| [comparison.operands[0], comparison.operands[1], comparison.result];
        self.comparisons.iter().flat_map(of).chain([self.predicate])
    }

    /// What was compared, a line each, if `lane` took this edge.
    pub fn values_compared(&self, registers: &[Lanes], lane: usize) -> Option<Vec<Note>> {
        let went = bool::of(registers[self.predicate as usize][lane]) == self.holds;
        went.then(|| {
            self.comparisons.iter().filter_map(|comparison| comparison.values_compared(registers, lane)).collect()
        })
    }
}

#[derive(Debug)]
struct Comparison {
    test: &'static str,
    of: &'static str,
    compare: Two,
    operands: [Register; 2],
    result: Register,
}

impl Comparison {
    /// `70 < 64 is false (u64)`; `None` if the operands have changed since.
    fn values_compared(&self, registers: &[Lanes], lane: usize) -> Option<Note> {
        let [a, b] = self.operands.map(|operand| &registers[operand as usize]);
        let mut results = [0; WARP];
        (self.compare)(a, b, &mut results);
        let result = bool::of(results[lane]);
        if result != bool::of(registers[self.result as usize][lane]) {
            return None;
        }
        let (a, b) = (value(self.of, a[lane]), value(self.of, b[lane]));
        Some(format!("{a} {} {b} is {result} ({})", sign(self.test), self.of).into())
    }
}

/// The sign of a comparison; forms that hold for NaN keep their names.
fn sign(test: &str) -> &str {
    match test {
        "eq" => "==",
        "ne" => "!=",
        "lt" | "lo" => "<",
        "le" | "ls" => "<=",
        "gt" | "hi" => ">",
        "ge" | "hs" => ">=",
        other => other,
    }
}

fn value(of: &str, bits: u64) -> String {
    match of {
        "u16" => (bits as u16).to_string(),
        "s16" => (bits as i16).to_string(),
        "u32" => either((bits as u32).into(), (bits as i32).into()),
        "s32" => (bits as i32).to_string(),
        "s64" => (bits as i64).to_string(),
        "b16" => format!("{:#x}", bits as u16),
        "b32" => format!("{:#x}", bits as u32),
        "b64" => format!("{bits:#x}"),
        "f16" => format!("{:?}", F16::of(bits).0),
        "bf16" => format!("{:?}", Bf16::of(bits).0),
        "f32" => format!("{:?}", f32::of(bits)),
        "f64" => format!("{:?}", f64::of(bits)),
        _ => either(bits, bits as i64),
    }
}

/// A number that was compared as unsigned. A label of −100 was probably meant as signed.
fn either(unsigned: u64, signed: i64) -> String {
    if signed < 0 { format!("{unsigned} ({signed} if signed)") } else { unsigned.to_string() }
}

/// The branch edges to each assertion of `blocks`, by number, in the order of their tests.
pub fn edges(origins: &Origins, blocks: &[Block], order: &[usize]) -> Vec<Vec<Edge>> {
    let mut before = vec![Vec::new(); blocks.len()];
    for &from in order {
        blocks[from].next.iter().for_each(|&to| before[to].push(from));
    }
    let mut writes = HashMap::new();
    for inst in blocks.iter().flat_map(|block| &block.code) {
        let second = if matches!(inst.op, Op::Shuffle(_)) { inst.d2 } else { SINK };
        for register in [inst.d, second] {
            *writes.entry(register).or_default() += 1;
        }
    }
    let rank = |block: usize| order.iter().position(|&known| known == block);
    let mut all = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        for inst in block.code.iter().filter(|inst| matches!(inst.op, Op::Assert)) {
            let mut branches = branches_to(number, blocks, &before);
            branches.sort_by_key(|&(from, ..)| rank(from));
            let edge = |(_, predicate, holds)| {
                let comparisons = origins.comparisons(predicate, &writes);
                Edge { predicate, holds, comparisons }
            };
            all.push((inst.offset, branches.into_iter().map(edge).collect()));
        }
    }
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, edges)| edges).collect()
}

/// The last branches before a block: their blocks, their predicates, and the predicate's value on the edge towards the
/// block.
fn branches_to(block: usize, blocks: &[Block], before: &[Vec<usize>]) -> Vec<(usize, Register, bool)> {
    let (mut branches, mut pending, mut seen) = (Vec::new(), vec![block], HashSet::from([block]));
    while let Some(block) = pending.pop() {
        for &from in &before[block] {
            match blocks[from].code.last() {
                Some(last) if matches!(last.op, Op::If { .. }) => {
                    let Op::If { negated, .. } = last.op else { continue };
                    let taken = blocks[from].next.last() == Some(&block);
                    branches.push((from, last.args[0], taken != negated));
                }
                _ if seen.insert(from) => pending.push(from),
                _ => {}
            }
        }
    }
    branches
}
