//! Sums that a GPU may fuse with a product.

use super::{Decoder, Item};
use crate::isa::{self, Action};
use crate::kernel::{Op, Register};

impl Decoder<'_> {
    /// Notes that a sum without a rounding modifier may be fused with the products that it uses.
    pub(super) fn fuse(&mut self, sum: &str, args: [Register; 4]) {
        let Some(("add" | "sub", of)) = sum.split_once('.') else { return };
        for arg in args {
            let product = self.products.get(&arg).filter(|(product, _)| product.strip_prefix("mul.") == Some(of));
            if let Some(&(product, place)) = product
                && let (Some(Action::Two(f)), Item::Inst(inst)) = (isa::fusible(product), &mut self.items[place])
            {
                inst.op = Op::Two(f);
                self.forms.insert(format!("{product}+{sum}"));
            }
        }
    }
}
