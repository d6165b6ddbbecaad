//! Products and sums that become one instruction. `ptxas` fuses them where neither has a rounding modifier (PTX ISA 9.7.3.3) and nothing
//! but sums in the same block uses the product: that of CUDA 13.0 for `sm_90a`, as `nvdisasm` shows it, and an H200 computes the recorded
//! vectors so. Copies and negations between the two vanish, and a guarded sum is fused, too; a guarded product is not.

use super::{Decoder, Item};
use crate::isa::{Apart, ArithmeticCheck, Three, values_of};
use crate::kernel::{Inst, Op, Register, ZERO};
use std::any::TypeId;
use std::collections::{HashMap, HashSet};

/// A sum and a product that is a term of it.
pub(super) struct Fusing {
    /// The places of both among the items.
    pub product: usize,
    pub sum: usize,
    /// The places of the copies and negations between them.
    pub copies: Vec<usize>,
    /// Which term of the sum it is.
    pub term: usize,
    /// The type of both.
    pub of: TypeId,
    /// The sign bit of that type if the product is negated, or else 0.
    pub sign: u64,
    /// Computes the sum from the two factors and the other term.
    pub fused: Three,
}

impl Decoder<'_> {
    /// Fuses each product that only sums use, all of them in its block, with every one of these sums.
    pub(super) fn fuse_products(&mut self) {
        let mut uses = vec![0_usize; self.names.count()];
        let mut count = |register: &Register| uses[*register as usize] += 1;
        for item in &self.items {
            if let Item::Inst(inst) = item {
                inst.args.iter().for_each(&mut count);
            }
        }
        self.lists.iter().flatten().for_each(&mut count);
        self.matrices.iter().flat_map(|matrix| &matrix.registers).for_each(&mut count);
        let mut all = std::mem::take(&mut self.fusing);
        all.retain(|fusing| self.is_possible(fusing));
        let mut users: HashMap<usize, HashSet<usize>> = HashMap::new();
        for Fusing { product, sum, copies, .. } in &all {
            users.entry(*product).or_default().extend(copies.iter().chain([sum]));
        }
        let uses_of = |product: usize| self.inst(product).map_or(0, |product| uses[product.d as usize]);
        let copies: HashSet<usize> = all.iter().flat_map(|fusing| fusing.copies.iter().copied()).collect();
        // All uses of the product and of its copies are these.
        let is_used_by = |product: usize, users: &HashSet<usize>| {
            let held = users.intersection(&copies).chain([&product]).filter_map(|at| self.inst(*at));
            let held: HashSet<Register> = held.map(|inst| inst.d).collect();
            held.iter().map(|register| uses[*register as usize]).sum::<usize>() == users.len()
        };
        let mut fused: HashSet<usize> =
            users.iter().filter(|(product, users)| is_used_by(**product, users)).map(|(product, _)| *product).collect();
        for pair in all.windows(2) {
            let [one, other] = [pair[0].product, pair[1].product];
            if pair[0].sum == pair[1].sum && fused.contains(&one) && fused.contains(&other) {
                // Of two products, one is rounded: the one with more uses, or else the second. Twice the same is twice rounded.
                fused.remove(if uses_of(other) < uses_of(one) { &one } else { &other });
            }
        }
        let mut vanish: HashSet<usize> = fused.clone();
        for Fusing { product, sum, copies, term, of, sign, fused } in
            all.into_iter().filter(|fusing| fused.contains(&fusing.product))
        {
            vanish.extend(copies);
            let (Some(&of_product), Item::Inst(of_sum)) = (self.inst(product), &self.items[sum]) else { continue };
            let [x, y, ..] = of_product.args;
            let arithmetic_check = match (of_product.op, of_sum.op, values_of(of)) {
                (Op::Two(product), Op::Two(sum), Some(values)) => {
                    ArithmeticCheck::Fused(Apart { product, sign, sum, term, values })
                }
                _ => of_sum.arithmetic_check,
            };
            let args = [x, y, of_sum.args[1 - term], ZERO];
            self.items[sum] = Item::Inst(Inst { op: Op::Three(fused), args, arithmetic_check, ..*of_sum });
        }
        for at in vanish {
            if let Some(source) = self.inst(at).map(|inst| inst.source) {
                self.items[at] = Item::Inst(Inst { source, ..Inst::new(Op::Nothing) });
            }
        }
    }

    fn inst(&self, at: usize) -> Option<&Inst> {
        if let Item::Inst(inst) = &self.items[at] { Some(inst) } else { None }
    }

    /// True if the sum is in the block of the product, and the factors have not changed there. A guarded instruction that only computes
    /// does not end a block.
    fn is_possible(&self, fusing: &Fusing) -> bool {
        let Some([x, y, ..]) = self.inst(fusing.product).map(|product| product.args) else { return false };
        let mut guard = None;
        (fusing.product + 1..fusing.sum).all(|at| match &self.items[at] {
            Item::Label(label) => guard.take() == Some(*label),
            Item::Inst(Inst { op: Op::If { to, .. }, .. }) if self.guards.contains(to) => {
                guard = Some(*to);
                true
            }
            Item::Inst(inst) => {
                let changes_factor = [inst.d, inst.d2].iter().any(|d| [x, y].contains(d));
                let stays = if guard.is_some() {
                    computes(inst.op) && !fusing.copies.contains(&at)
                } else {
                    !ends_block(inst.op)
                };
                !changes_factor && stays
            }
        })
    }
}

fn computes(op: Op) -> bool {
    matches!(op, Op::One(_) | Op::Two(_) | Op::Three(_) | Op::Four(_))
}

fn ends_block(op: Op) -> bool {
    matches!(op, Op::Goto(_) | Op::If { .. } | Op::Call { .. } | Op::Exit | Op::Return | Op::Trap(_))
}
