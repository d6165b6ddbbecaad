//! `mma`: every form, on matrices that are spread over the lanes as the ISA documents it.

use super::documented::{Role, place};
use super::product::{Numbers, Product, bits, width};
use crate::machine::{HEADER, Shape, longs, run};
use crate::types::Random;

/// The four products of `m8n8k4` of f16, or one.
struct Matrices {
    product: Product,
    sets: Vec<[Numbers; 3]>,
}

impl Matrices {
    /// The registers of a lane.
    fn registers(&self, role: Role, element: &str, lane: usize, of: impl Fn(usize, usize, usize) -> u64) -> Vec<u64> {
        let [m, n, k] = self.product.sizes();
        let count = match role {
            Role::A => m * k,
            Role::B => k * n,
            Role::C => m * n,
        } * self.sets.len()
            / 32;
        let each = (32 / width(element)).max(1);
        let element_of = |i: usize| {
            let (row, column) = place(&self.product, role, element, lane, i);
            of(lane / 4 % self.sets.len(), row, column) << (i % each * width(element))
        };
        (0..count.div_ceil(each))
            .map(|register| (register * each..(register + 1) * each).map(element_of).sum())
            .collect()
    }
}

/// `{%a0, %a1}` and the declaration of these registers.
fn vector(name: &str, count: usize, width: usize) -> (String, String) {
    let names: Vec<String> = (0..count).map(|number| format!("%{name}{number}")).collect();
    (format!("{{{}}}", names.join(", ")), format!(".reg .b{width} %{name}<{count}>;\n"))
}

/// A kernel whose lanes have the registers of `a`, `b` and `c` in the first buffer, and write those of `d` to the second.
fn kernel(product: &Product, counts: [usize; 4]) -> String {
    let mut text = format!("{HEADER}.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n.reg .b32 %i;\n");
    text += ".reg .b64 %l<3>;\nmov.u32 %i, %tid.x;\nld.param.u64 %l0, [from];\nld.param.u64 %l1, [to];\n";
    let [d, a, b, c] = counts;
    for (base, count) in [("%l0", a + b + c), ("%l1", d)] {
        text += &format!("mul.wide.u32 %l2, %i, {};\nadd.s64 {base}, {base}, %l2;\n", 8 * count);
    }
    let (mut vectors, mut at) = (Vec::new(), 0);
    for ((name, count), element) in ["d", "a", "b", "c"].into_iter().zip(counts).zip(&product.types) {
        let width = if element == "f64" { 64 } else { 32 };
        let (vector, declared) = vector(name, count, width);
        text += &declared;
        vectors.push(vector);
        for number in (0..count).filter(|_| name != "d") {
            text += &format!("ld.global.b{width} %{name}{number}, [%l0+{at}];\n");
            at += 8;
        }
    }
    text += &format!("{} {};\n", product.name, vectors.join(", "));
    let width = if product.types[0] == "f64" { 64 } else { 32 };
    for number in 0..d {
        text += &format!("st.global.b{width} [%l1+{}], %d{number};\n", 8 * number);
    }
    text + "ret;\n}\n"
}

/// Runs a form on random matrices.
pub fn check(name: &str, random: &mut Random) {
    let product = Product::parse(name).expect("a product");
    let count = if product.shape == "m8n8k4" && product.types[1] == "f16" { 4 } else { 1 };
    let sets = (0..count).map(|_| product.factors(random)).collect();
    let matrices = Matrices { product, sets };
    let types = &matrices.product.types;
    let results: Vec<Vec<Vec<u64>>> = matrices.sets.iter().map(|set| matrices.product.results(set)).collect();
    // The lower 13 bits of a tf32 register mean nothing.
    let junk = if types[1] == "tf32" { random.next() & 0x1fff } else { 0 };
    let (mut from, mut expected, mut counts) = (Vec::new(), Vec::new(), [0; 4]);
    for lane in 0..32 {
        for (number, role) in [Role::A, Role::B, Role::C].into_iter().enumerate() {
            let element = &types[number + 1];
            let adds = role == Role::C;
            let registers = matrices.registers(role, element, lane, |set, row, column| {
                bits(element, matrices.sets[set][number][row][column], adds) | if adds { 0 } else { junk }
            });
            counts[number + 1] = registers.len();
            from.extend(registers.iter().flat_map(|register| register.to_le_bytes()));
        }
        let registers = matrices.registers(Role::C, &types[0], lane, |set, row, column| results[set][row][column]);
        counts[0] = registers.len();
        expected.extend(registers);
    }
    let mut buffers = [from, vec![0; 8 * expected.len()]];
    run(&kernel(&matrices.product, counts), Shape::line(1, 32), &mut buffers, &[]).expect(name);
    assert_eq!(longs(&buffers[1]), expected, "{name}");
}
