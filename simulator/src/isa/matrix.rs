//! Matrices spread over the lanes of a warp (PTX ISA 9.7.15): the forms that integer products of quantized weights use.

use super::{Action, Table};

pub(super) fn forms(table: &mut Table) {
    table.group("Matrices (9.7.15)");
    for count in [1, 2, 4] {
        table.add(format!("ldmatrix.sync.aligned.m8n8.x{count}.b16"), Action::LoadMatrix(count));
        table.add(format!("ldmatrix.sync.aligned.m8n8.x{count}.shared.b16"), Action::LoadMatrix(count));
    }
    for depth in [16, 32] {
        table.add(format!("mma.sync.aligned.m16n8k{depth}.row.col.s32.s8.s8.s32"), Action::Multiply(depth));
    }
}
