//! The code of a kernel that only further rounds of a loop over the grid can execute, by its code alone.

use super::equivalent::{following, reached};
use crate::kernel::{Kernel, Op, SINK, Special};

/// For each instruction, whether every way to it goes through a branch that depends on the size of the grid (`%nctaid`). Whether
/// a thread has a first element depends on its own position alone; whether it has another one depends on how many threads there
/// are.
pub fn only_in_further_rounds(kernel: &Kernel) -> Vec<bool> {
    let depends = dependent_registers(kernel);
    let count = kernel.code.len();
    let edges: Vec<Vec<usize>> = (0..count)
        .map(|at| match kernel.code[at].op {
            Op::If { .. } if depends[kernel.code[at].args[0] as usize] => Vec::new(),
            _ => following(kernel, at),
        })
        .collect();
    let mut only = vec![true; count];
    std::iter::once(0).chain(reached(&edges, 0)).filter(|at| *at < count).for_each(|at| only[at] = false);
    only
}

/// Which registers hold something that was computed from the size of the grid.
fn dependent_registers(kernel: &Kernel) -> Vec<bool> {
    let mut depends = vec![false; kernel.registers];
    for (register, special) in &kernel.specials {
        depends[*register as usize] |= matches!(special, Special::GridSize(_));
    }
    loop {
        let mut grows = false;
        for inst in &kernel.code {
            if inst.args.iter().any(|register| depends[*register as usize]) {
                for register in [inst.d, inst.d2] {
                    // What is never read carries nothing on.
                    grows |= register != SINK && !std::mem::replace(&mut depends[register as usize], true);
                }
            }
        }
        if !grows {
            return depends;
        }
    }
}
