//! `wmma`: matrices are loaded, multiplied and stored, so that only what is in memory counts.

use std::collections::BTreeSet;

use super::product::{Numbers, Product, bits, width};
use crate::machine::{HEADER, Shape, run};
use crate::types::Random;

/// A state space as forms name it, and where the address points to.
const PLACES: [(&str, bool); 5] =
    [(".global", false), ("", false), (".shared", true), (".shared::cta", true), ("", true)];

/// A matrix in memory.
struct Stored<'a> {
    element: &'a str,
    rows: usize,
    columns: usize,
    by_rows: bool,
    /// Elements between lines, or none if they are dense.
    stride: Option<usize>,
}

impl Stored<'_> {
    fn apart(&self) -> usize {
        self.stride.unwrap_or(if self.by_rows { self.columns } else { self.rows })
    }

    /// Bytes, up to where the next matrix may begin.
    fn bytes(&self) -> usize {
        let lines = if self.by_rows { self.rows } else { self.columns };
        (lines * self.apart() * width(self.element) / 8).next_multiple_of(32)
    }

    /// Writes the elements to an image of the memory.
    fn write(&self, image: &mut [u8], of: impl Fn(usize, usize) -> u64) {
        let width = width(self.element);
        for (row, column) in (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| (row, column))) {
            let (line, place) = if self.by_rows { (row, column) } else { (column, row) };
            for bit in 0..width {
                let at = (line * self.apart() + place) * width + bit;
                let set = of(row, column) >> bit & 1;
                image[at / 8] = image[at / 8] & !(1 << (at % 8)) | (set as u8) << (at % 8);
            }
        }
    }

    fn operand(&self) -> String {
        self.stride.map_or(String::new(), |stride| format!(", {stride}"))
    }
}

/// How many registers a fragment has (9.7.15.4.1), and of how many bits.
fn registers(product: &Product, role: usize) -> (usize, usize) {
    let ([m, n, k], element) = (product.sizes(), product.types[role].as_str());
    match (role, element) {
        (1 | 2, "f16") => (8, 32),
        (_, "f64") => ([m * n, m * k, k * n][role % 3] / 32, 64),
        _ => ([m * n, m * k, k * n][role % 3] * width(element) / 1024, 32),
    }
}

/// Runs a form of `wmma.mma`, and adds the loads and stores that it took to `executed`. `choice` says where the matrices are,
/// and how those of sums are stored.
pub fn check(name: &str, choice: usize, random: &mut Random, executed: &mut BTreeSet<String>) {
    let product = Product::parse(name).expect("a product");
    let [m, n, k] = product.sizes();
    let ((space, shared), rest) = (PLACES[choice % PLACES.len()], choice / PLACES.len());
    // Of `d`, `a`, `b` and `c`.
    let by_rows =
        [rest & 1, usize::from(product.layouts[0] == "row"), usize::from(product.layouts[1] == "row"), rest >> 1 & 1];
    let sizes = [(m, n), (m, k), (k, n), (m, n)];
    let stored: Vec<Stored> = (0..4)
        .map(|role| {
            let ((rows, columns), by_rows) = (sizes[role], by_rows[role] == 1);
            let element = product.types[role].as_str();
            let dense = if by_rows { columns } else { rows };
            // Some more, by a multiple of 16 bytes.
            let stride = (choice + role).is_multiple_of(2).then(|| dense + 128 / width(element));
            Stored { element, rows, columns, by_rows, stride }
        })
        .collect();
    let starts: Vec<usize> = (0..4).map(|role| stored[..role].iter().map(Stored::bytes).sum()).collect();
    let numbers = product.factors(random);
    let mut image = vec![0xee; stored.iter().map(Stored::bytes).sum::<usize>().next_multiple_of(128)];
    for (role, matrix) in stored.iter().enumerate().skip(1) {
        let numbers: &Numbers = &numbers[role - 1];
        matrix.write(&mut image[starts[role]..], |row, column| bits(matrix.element, numbers[row][column], role == 3));
    }
    let layout = |role: usize| if by_rows[role] == 1 { "row" } else { "col" };
    let (mut body, mut vectors) = (String::new(), Vec::new());
    for (role, matrix) in stored.iter().enumerate() {
        let ((count, width), name) = (registers(&product, role), ["d", "a", "b", "c"][role]);
        let names = (0..count).map(|number| format!("%{name}{number}")).collect::<Vec<_>>().join(", ");
        body += &format!(".reg .b{width} %{name}<{count}>;\n");
        vectors.push(format!("{{{names}}}"));
        if role > 0 {
            let (layout, shape, element) = (layout(role), &product.shape, matrix.element);
            let load = format!("wmma.load.{name}.sync.aligned.{layout}.{shape}{space}.{element}");
            body += &format!("{load} {}, [%at+{}]{};\n", vectors[role], starts[role], matrix.operand());
            executed.insert(load);
        }
    }
    body += &format!("{name} {};\n", vectors.join(", "));
    let (layout, shape, element) = (layout(0), &product.shape, stored[0].element);
    let store = format!("wmma.store.d.sync.aligned.{layout}.{shape}{space}.{element}");
    body += &format!("{store} [%at], {}{};\n", vectors[0], stored[0].operand());
    executed.insert(store);
    let mut buffers = [image.clone()];
    run(&kernel(&body, space, shared, image.len()), Shape::line(1, 32), &mut buffers, &[]).expect(name);
    let results = product.results(&numbers);
    stored[0].write(&mut image, |row, column| results[row][column]);
    assert_eq!(buffers[0], image, "{name} in `{space}`, choice {choice}");
}

/// A kernel with a buffer of `bytes` bytes, or a copy of it in shared memory, at `%at`.
fn kernel(body: &str, space: &str, shared: bool, bytes: usize) -> String {
    let mut text = format!("{HEADER}.visible .entry k(.param .u64 buffer)\n{{\n.shared .align 32 .b8 s[{bytes}];\n");
    text += ".reg .b32 %i, %own, %v;\n.reg .b64 %at, %buffer, %o;\n";
    if !shared {
        return text + "ld.param.u64 %at, [buffer];\n" + body + "ret;\n}\n";
    }
    let each = bytes / 32;
    text += &format!("mov.u32 %i, %tid.x;\nmul.wide.u32 %o, %i, {each};\nld.param.u64 %buffer, [buffer];\n");
    text += &format!(
        "add.s64 %buffer, %buffer, %o;\nmov.u32 %own, s;\nmad.lo.u32 %own, %i, {each}, %own;\nmov.u64 %at, s;\n"
    );
    text += if space.is_empty() { "cvta.shared.u64 %at, %at;\n" } else { "" };
    let words = (0..each).step_by(4);
    for at in words.clone() {
        text += &format!("ld.global.b32 %v, [%buffer+{at}];\nst.shared.b32 [%own+{at}], %v;\n");
    }
    text += &format!("bar.sync 0;\n{body}bar.sync 0;\n");
    for at in words {
        text += &format!("ld.shared.b32 %v, [%own+{at}];\nst.global.b32 [%buffer+{at}], %v;\n");
    }
    text + "ret;\n}\n"
}
