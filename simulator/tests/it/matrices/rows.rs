//! `ldmatrix`, `stmatrix` and `movmatrix` (PTX ISA 9.7.15.5.15 to 9.7.15.5.17): thread `l` has elements `2 (l % 4)` and the
//! next of row `l / 4` of each matrix, or of its column if it is transposed.

use crate::machine::{HEADER, Shape, run};
use crate::types::Random;

/// Bytes of shared memory: rows are at multiples of 16 in any order, with room between them.
const BYTES: usize = 64 * 16;

/// The element of an image of shared memory that half `half` of a lane's register has.
fn element(at: &[usize], matrix: usize, lane: usize, half: usize, transposed: bool) -> usize {
    let (row, column) = (lane / 4, 2 * (lane % 4) + half);
    let (row, column) = if transposed { (column, row) } else { (row, column) };
    at[8 * matrix + row] + 2 * column
}

/// A kernel that copies `image` to shared memory, and `image` from there, around `body`. `%r` are the lane's four words of
/// `values`, and what it leaves there is written back. `%at` is the lane's address.
fn kernel(name: &str, body: &str) -> String {
    let mut text = format!(
        "{HEADER}.visible .entry k(.param .u64 image, .param .u64 values, .param .u64 rows)\n{{\n\
         .shared .align 16 .b8 s[{BYTES}];\n.reg .b32 %i, %own, %v, %r<4>;\n\
         .reg .b64 %image, %values, %rows, %at, %o;\nmov.u32 %i, %tid.x;\n"
    );
    for (base, each) in [("image", BYTES / 32), ("values", 16), ("rows", 8)] {
        text +=
            &format!("ld.param.u64 %{base}, [{base}];\nmul.wide.u32 %o, %i, {each};\nadd.s64 %{base}, %{base}, %o;\n");
    }
    text += &format!("mov.u32 %own, s;\nmad.lo.u32 %own, %i, {}, %own;\n", BYTES / 32);
    let words = (0..BYTES / 32).step_by(4);
    for at in words.clone() {
        text += &format!("ld.global.b32 %v, [%image+{at}];\nst.shared.b32 [%own+{at}], %v;\n");
    }
    for number in 0..4 {
        text += &format!("ld.global.b32 %r{number}, [%values+{}];\n", 4 * number);
    }
    text += "ld.global.u64 %at, [%rows];\nmov.u64 %o, s;\nadd.s64 %at, %at, %o;\n";
    text += if name.contains(".shared") { "" } else { "cvta.shared.u64 %at, %at;\n" };
    text += &format!("bar.sync 0;\n{body}\nbar.sync 0;\n");
    for number in 0..4 {
        text += &format!("st.global.b32 [%values+{}], %r{number};\n", 4 * number);
    }
    for at in words {
        text += &format!("ld.shared.b32 %v, [%own+{at}];\nst.global.b32 [%image+{at}], %v;\n");
    }
    text + "ret;\n}\n"
}

/// Runs a form on random bytes and rows in any order.
pub fn check(name: &str, random: &mut Random) {
    let (stores, transposed) = (name.starts_with("stmatrix"), name.contains(".trans"));
    let count = name.split(".x").nth(1).map_or(1, |rest| usize::from(rest.as_bytes()[0] - b'0'));
    let mut image: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
    let mut values: Vec<u8> = (0..32 * 16).map(|_| random.next() as u8).collect();
    // Odd steps reach each place once.
    let (first, step) = (random.below(64), 2 * random.below(32) + 1);
    let at: Vec<usize> = (0..32).map(|row| 16 * ((first + step * row) % 64)).collect();
    let registers = (0..count).map(|number| format!("%r{number}")).collect::<Vec<_>>().join(", ");
    // Lanes past the last row have no address.
    let rows: Vec<u8> =
        (0..32).flat_map(|row| if row < 8 * count { at[row] as u64 } else { 1 }.to_le_bytes()).collect();
    let body =
        if stores { format!("{name} [%at], {{{registers}}};") } else { format!("{name} {{{registers}}}, [%at];") };
    let mut buffers = [image.clone(), values.clone(), rows];
    run(&kernel(name, &body), Shape::line(1, 32), &mut buffers, &[]).expect(name);
    for (matrix, lane, half) in (0..count).flat_map(|matrix| (0..64).map(move |half| (matrix, half / 2, half % 2))) {
        let (inside, value) = (element(&at, matrix, lane, half, transposed), 16 * lane + 4 * matrix + 2 * half);
        if stores {
            image[inside..inside + 2].copy_from_slice(&values[value..value + 2]);
        } else {
            values[value..value + 2].copy_from_slice(&image[inside..inside + 2]);
        }
    }
    assert!(buffers[0] == image && buffers[1] == values, "{name}");
}

/// Runs `movmatrix`.
pub fn check_transpose(name: &str, random: &mut Random) {
    let values: Vec<u8> = (0..32 * 16).map(|_| random.next() as u8).collect();
    let mut buffers = [vec![0; BYTES], values.clone(), vec![0; 256]];
    run(&kernel(name, &format!("{name} %r1, %r0;")), Shape::line(1, 32), &mut buffers, &[]).expect(name);
    let half = |values: &[u8], register: usize, row: usize, column: usize| {
        let at = 16 * (4 * row + column / 2) + 4 * register + 2 * (column % 2);
        [values[at], values[at + 1]]
    };
    for (row, column) in (0..64).map(|at| (at / 8, at % 8)) {
        assert_eq!(half(&buffers[1], 1, row, column), half(&values, 0, column, row), "row {row}, column {column}");
    }
}
