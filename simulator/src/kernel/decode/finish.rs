//! The last step: blocks, their order, and what the launch must know.

use super::Decoder;
use crate::kernel::block_layout::{lay_out, reverse_post_order, split};
use crate::kernel::condition::edges;
use crate::kernel::{Callee, Inst, Kernel, Op};

impl Decoder<'_> {
    pub(super) fn finish(&mut self, name: &str) -> Result<Kernel, String> {
        if let Some((name, align)) = &self.dynamic {
            let address = self.shared_arrays.place_dynamic(name, *align)?;
            let register = self.names.dynamic_shared();
            self.names.set_constant(register, address);
        }
        let frames = self.place_frames()?;
        let (blocks, targets) = split(std::mem::take(&mut self.items), self.labels as usize)?;
        let mut order = reverse_post_order(&blocks, 0);
        for function in &self.functions {
            order.extend(reverse_post_order(&blocks, targets[function.entry as usize]));
        }
        let assertions = if self.assertions > 0 { edges(&self.origins, &blocks, &order) } else { Vec::new() };
        let (code, starts) = lay_out(&blocks, &order, |label| targets[label as usize]);
        let entry = |label: u32| starts[targets[label as usize]] as u32;
        let functions: Vec<Callee> = self.functions.drain(..).map(|function| function.callee(entry)).collect();
        let waits = |inst: &Inst| matches!(inst.op, Op::Barrier(_) | Op::Poll) || inst.acquires;
        let waits = code.iter().any(waits);
        let begins = |inst: &&Inst| matches!(inst.op, Op::Enter { .. });
        let blocks = code.iter().filter(begins).map(|inst| inst.source).collect();
        let shared_arrays = std::mem::take(&mut self.shared_arrays);
        let local_arrays = std::mem::take(&mut self.local_arrays);
        Ok(Kernel {
            name: name.to_string(),
            code,
            registers: self.names.count(),
            constants: self.names.constants(),
            specials: self.names.specials().to_vec(),
            shared: shared_arrays.bytes,
            local: local_arrays.bytes.next_multiple_of(16),
            shared_arrays,
            local_arrays,
            waits,
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
}
