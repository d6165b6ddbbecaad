//! Products and sums that become one instruction. `ptxas` fuses them where neither has a rounding modifier (PTX ISA 9.7.3.3) and nothing
//! but sums in the same block uses the product: that of CUDA 13.0 for `sm_90a`, as `nvdisasm` shows it, and an H200 computes the recorded
//! vectors so. Not followed here: `neg` and `mov` between the two, sums under a predicate, and forms with `.ftz` or `.sat`.

use super::{Decoder, Item};
use crate::isa::{Apart, ArithmeticCheck, Three, value_of};
use crate::kernel::{Inst, Op, Register, ZERO};
use std::any::TypeId;
use std::collections::{HashMap, HashSet};

/// A sum and a product that is a term of it.
pub(super) struct Fusing {
    /// The places of both among the items.
    pub product: usize,
    pub sum: usize,
    /// Which term of the sum it is.
    pub term: usize,
    /// The type of both.
    pub of: TypeId,
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
        let mut sums: HashMap<usize, usize> = HashMap::new();
        for fusing in &all {
            *sums.entry(fusing.product).or_default() += 1;
        }
        let uses_of = |product: usize| self.product(product).map_or(0, |product| uses[product.d as usize]);
        let mut fused: HashSet<usize> =
            sums.into_iter().filter(|(at, sums)| uses_of(*at) == *sums).map(|(at, _)| at).collect();
        for pair in all.windows(2) {
            let [one, other] = [pair[0].product, pair[1].product];
            if pair[0].sum == pair[1].sum && fused.contains(&one) && fused.contains(&other) {
                // Of two products, one is rounded: the one with more uses, or else the second. Twice the same is twice rounded.
                fused.remove(if uses_of(other) < uses_of(one) { &one } else { &other });
            }
        }
        for Fusing { product, sum, term, of, fused } in all.into_iter().filter(|fusing| fused.contains(&fusing.product))
        {
            let (Some(&of_product), Item::Inst(of_sum)) = (self.product(product), &self.items[sum]) else { continue };
            let [x, y, ..] = of_product.args;
            let arithmetic_check = match (of_product.op, of_sum.op, value_of(of)) {
                (Op::Two(product), Op::Two(sum), Some(value)) => {
                    ArithmeticCheck::Fused(Apart { product, sum, term, value })
                }
                _ => of_sum.arithmetic_check,
            };
            let args = [x, y, of_sum.args[1 - term], ZERO];
            self.items[sum] = Item::Inst(Inst { op: Op::Three(fused), args, arithmetic_check, ..*of_sum });
        }
        for product in fused {
            if let Some(source) = self.product(product).map(|product| product.source) {
                self.items[product] = Item::Inst(Inst { source, ..Inst::new(Op::Nothing) });
            }
        }
    }

    fn product(&self, at: usize) -> Option<&Inst> {
        if let Item::Inst(inst) = &self.items[at] { Some(inst) } else { None }
    }

    /// True if the sum is in the block of the product, and the factors have not changed there.
    fn is_possible(&self, fusing: &Fusing) -> bool {
        let Some([x, y, ..]) = self.product(fusing.product).map(|product| product.args) else { return false };
        self.items[fusing.product + 1..fusing.sum].iter().all(|item| match item {
            Item::Label(_) => false,
            Item::Inst(inst) => ![x, y].contains(&inst.d) && ![x, y].contains(&inst.d2) && !ends_block(inst.op),
        })
    }
}

fn ends_block(op: Op) -> bool {
    matches!(op, Op::Goto(_) | Op::If { .. } | Op::Call { .. } | Op::Exit | Op::Return | Op::Trap(_))
}
