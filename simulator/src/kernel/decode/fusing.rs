//! Sums that a GPU may fuse with a product.

use super::{Decoder, Item};
use crate::isa::{Form, Fusion};
use crate::kernel::{Op, Register};

impl Decoder<'_> {
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
}
