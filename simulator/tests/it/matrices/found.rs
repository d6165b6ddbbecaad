//! Which lane holds which element of a matrix of `wmma`. The ISA does not say; devices of compute capability 8.0 were found to
//! have f16 and tf32 as here (`wmma_extension` by H. Ootomo, `detail/sm_80.hpp` and `detail/sm_80_tf32.hpp`).

use crate::machine::{HEADER, Shape, run, words};

/// A load of a matrix by rows, and row and column of a lane's element `x`.
struct Found {
    load: &'static str,
    columns: usize,
    registers: usize,
    /// Elements of a register.
    each: usize,
    place: fn(usize, usize) -> (usize, usize),
}

const FOUND: [Found; 5] = [
    Found {
        load: "wmma.load.a.sync.aligned.row.m16n16k16.f16",
        columns: 16,
        registers: 8,
        each: 2,
        place: |lane, x| (lane / 4 + (x & 2) * 4, lane % 4 * 2 + (x & 1) + (x & 4) * 2),
    },
    Found {
        load: "wmma.load.b.sync.aligned.row.m16n16k16.f16",
        columns: 16,
        registers: 8,
        each: 2,
        place: |lane, x| (lane % 4 * 2 + (x & 1) + (x & 2) * 4, lane / 4 + (x & 4) * 2),
    },
    Found {
        load: "wmma.load.c.sync.aligned.row.m16n16k16.f32",
        columns: 16,
        registers: 8,
        each: 1,
        place: |lane, x| (lane / 4 + (x & 2) * 4, lane % 4 * 2 + (x & 4) * 2 + (x & 1)),
    },
    Found {
        load: "wmma.load.a.sync.aligned.row.m16n16k8.tf32",
        columns: 8,
        registers: 4,
        each: 1,
        place: |lane, x| (lane / 4 + (x & 1) * 8, lane % 4 + (x & 2) * 2),
    },
    Found {
        load: "wmma.load.b.sync.aligned.row.m16n16k8.tf32",
        columns: 16,
        registers: 4,
        each: 1,
        place: |lane, x| (lane % 4 + (x & 1) * 4, lane / 4 + (x & 2) * 4),
    },
];

#[test]
fn matrices_of_wmma_are_spread_as_on_devices() {
    for Found { load, columns, registers, each, place } in FOUND {
        let names: Vec<String> = (0..registers).map(|number| format!("%r{number}")).collect();
        let mut text = format!(
            "{HEADER}.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n.reg .b32 %i, %r<8>;\n.reg .b64 %l<3>;\n\
             ld.param.u64 %l0, [from];\nld.param.u64 %l1, [to];\nmov.u32 %i, %tid.x;\nmul.wide.u32 %l2, %i, 32;\n\
             add.s64 %l1, %l1, %l2;\n{load} {{{}}}, [%l0];\n",
            names.join(", ")
        );
        for (number, name) in names.iter().enumerate() {
            text += &format!("st.global.b32 [%l1+{}], {name};\n", 4 * number);
        }
        // Each element is its own number.
        let numbers = (0..256u32).flat_map(|number| number.to_le_bytes()[..4 / each].to_vec()).collect();
        let mut buffers = [numbers, vec![0; 32 * 32]];
        run(&(text + "ret;\n}\n"), Shape::line(1, 32), &mut buffers, &[]).expect(load);
        for (lane, got) in words(&buffers[1]).chunks(8).enumerate() {
            let number = |x: usize| {
                let (row, column) = place(lane, x);
                (row * columns + column) as u32
            };
            let expected: Vec<u32> = (0..registers)
                .map(|register| (0..each).map(|half| number(register * each + half) << (16 * half)).sum())
                .collect();
            assert_eq!(got[..registers], expected, "{load}, lane {lane}");
        }
    }
}
