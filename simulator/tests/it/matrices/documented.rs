//! Which lane holds which element, as the PTX ISA has it for each shape of `mma` (9.7.15.5.1 to 9.7.15.5.13).

use super::product::Product;

/// One of the matrices of `d = a · b + c`; `d` is like `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    A,
    B,
    C,
}

/// Row and column of a lane's element `i`.
pub fn place(product: &Product, role: Role, element: &str, lane: usize, i: usize) -> (usize, usize) {
    let (group, own) = (lane >> 2, lane % 4);
    let shape = product.shape.as_str();
    if (shape, product.types[1].as_str()) == ("m8n8k4", "f16") {
        return of_four(product, role, element, lane, i);
    }
    let lower = |is: bool| if is { group } else { group + 8 };
    let far = |is: bool, by: usize| if is { 0 } else { by };
    match (role, shape, element) {
        (Role::A, "m8n8k4", _) => (group, own),
        (Role::A, "m8n8k16", _) => (group, own * 4 + i),
        (Role::A, "m8n8k32", _) => (group, own * 8 + i),
        (Role::A, "m8n8k128", _) => (group, own * 32 + i),
        (Role::A, "m16n8k4", _) => (lower(i == 0), own),
        (Role::A, "m16n8k8", "f16" | "bf16") => (lower(i < 2), own * 2 + (i & 1)),
        (Role::A, "m16n8k8", _) => (lower(i == 0 || i == 2), own + far(i < 2, 4)),
        (Role::A, "m16n8k16", "f16" | "bf16") => {
            (lower(i < 2 || (4..6).contains(&i)), own * 2 + (i & 1) + far(i < 4, 8))
        }
        (Role::A, "m16n8k16", "f64") => (lower(i & 1 == 0), if i & 1 == 0 { i * 2 + own } else { i * 2 - 2 + own }),
        (Role::A, "m16n8k16", _) => (lower(i < 4), own * 4 + (i & 3)),
        (Role::A, "m16n8k32", "s4" | "u4") => (lower(i < 8), own * 8 + (i & 7)),
        (Role::A, "m16n8k32", _) => (lower(i < 4 || (8..12).contains(&i)), own * 4 + (i & 3) + far(i < 8, 16)),
        (Role::A, "m16n8k64", _) => (lower(i < 8 || (16..24).contains(&i)), own * 8 + (i & 7) + far(i < 16, 32)),
        (Role::A, "m16n8k128", _) => (lower(i < 32), own * 32 + (i & 31)),
        // The formula says `+ i` up to 64, where the figure, and the one for more than 64, take it modulo 32.
        (Role::A, "m16n8k256", _) => (lower(i < 32 || (64..96).contains(&i)), own * 32 + (i & 31) + far(i < 64, 128)),
        (Role::B, "m8n8k4" | "m16n8k4", _) => (own, group),
        (Role::B, "m8n8k16", _) => (own * 4 + i, group),
        (Role::B, "m8n8k32", _) => (own * 8 + i, group),
        (Role::B, "m8n8k128" | "m16n8k128", _) => (own * 32 + i, group),
        (Role::B, "m16n8k8", "f16" | "bf16") => (own * 2 + i, group),
        (Role::B, "m16n8k8", _) => (own + far(i == 0, 4), group),
        (Role::B, "m16n8k16", "f16" | "bf16") => (own * 2 + (i & 1) + far(i < 2, 8), group),
        (Role::B, "m16n8k16", "f64") => (own + i * 4, group),
        (Role::B, "m16n8k16", _) => (own * 4 + i, group),
        (Role::B, "m16n8k32", "s4" | "u4") => (own * 8 + i, group),
        (Role::B, "m16n8k32", _) => (own * 4 + (i & 3) + far(i < 4, 16), group),
        (Role::B, "m16n8k64", _) => (own * 8 + (i & 7) + far(i < 8, 32), group),
        (Role::B, "m16n8k256", _) => (own * 32 + (i & 31) + far(i < 32, 128), group),
        (Role::C, _, _) => (lower(i < 2), own * 2 + (i & 1)),
        _ => panic!("the ISA has no {role:?} of {element} for {shape}"),
    }
}

/// The same of the four products of `mma.m8n8k4` (9.7.15.5.1).
fn of_four(product: &Product, role: Role, element: &str, lane: usize, i: usize) -> (usize, usize) {
    let high = if lane < 16 { 0 } else { 4 };
    let own = lane % 4;
    match (role, product.layouts.each_ref().map(String::as_str), element) {
        (Role::A, ["row", _], _) => (own + high, i),
        (Role::A, _, _) => (i % 4 + high, own),
        (Role::B, [_, "row"], _) => (own, i + high),
        (Role::B, _, _) => (i, own + high),
        (Role::C, _, "f16") => (own + high, i),
        (Role::C, _, _) => ((lane & 0b1) + (i & 0b10) + high, (i & 0b100) + (lane & 0b10) + (i & 0b1)),
    }
}
