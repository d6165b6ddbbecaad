//! Products and sums that become one instruction. `ptxas` fuses them where neither has a rounding modifier (PTX ISA 9.7.3.3) and nothing
//! else uses the product: an H200 computes the recorded vectors so.

use super::{Decoder, Item};
use crate::isa::Three;
use crate::kernel::{Inst, Op, Register, ZERO};

/// A sum and a product that is a term of it.
pub(super) struct Fusing {
    /// The places of both among the items.
    pub product: usize,
    pub sum: usize,
    /// Which term of the sum it is.
    pub term: usize,
    /// Computes the sum from the two factors and the other term.
    pub fused: Three,
}

impl Decoder<'_> {
    /// Fuses each product that only the sum uses, and that is computed in the same block.
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
        for Fusing { product, sum, term, fused } in std::mem::take(&mut self.fusing) {
            let (Item::Inst(of_product), Item::Inst(of_sum)) = (&self.items[product], &self.items[sum]) else {
                continue;
            };
            // A sum whose other term was fused before is no sum any more.
            let is_sum = matches!(of_sum.op, Op::Two(_));
            let [x, y, ..] = of_product.args;
            let stays = |item: &Item| match item {
                Item::Label(_) => false,
                Item::Inst(inst) => ![x, y].contains(&inst.d) && ![x, y].contains(&inst.d2) && !ends_block(inst.op),
            };
            if is_sum && uses[of_product.d as usize] == 1 && self.items[product + 1..sum].iter().all(stays) {
                let inst = Inst { op: Op::Three(fused), args: [x, y, of_sum.args[1 - term], ZERO], ..*of_sum };
                let source = of_product.source;
                self.items[sum] = Item::Inst(inst);
                self.items[product] = Item::Inst(Inst { source, ..Inst::new(Op::Nothing) });
            }
        }
    }
}

fn ends_block(op: Op) -> bool {
    matches!(op, Op::Goto(_) | Op::If { .. } | Op::Call { .. } | Op::Exit | Op::Return | Op::Trap(_))
}
