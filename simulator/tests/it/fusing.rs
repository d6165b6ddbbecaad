//! Which products and sums become one instruction. In each row x² lies so close to c that rounding it leaves nothing of the difference.

use crate::machine::{HEADER, Shape, longs, run};

/// A type: its name and bytes, and the bits of x, of c and of x² - c.
type Numbers = (&'static str, usize, u64, u64, u64);

const SINGLE: Numbers = ("f32", 4, 0x3f80_0800, 0x3f80_1000, 0x3380_0000);
const DOUBLE: Numbers = ("f64", 8, 0x3ff0_0000_0200_0000, 0x3ff0_0000_0400_0000, 0x3c90_0000_0000_0000);
const HALF: Numbers = ("f16", 2, 0x3c10, 0x3c20, 0x0c00);
const BRAIN: Numbers = ("bf16", 2, 0x3f84, 0x3f88, 0x3a80);

/// What `body` leaves in `d`; `T` stands for the type.
fn result((name, bytes, x, c, _): Numbers, body: &str) -> u64 {
    let bits = 8 * bytes;
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out)\n{{\n.reg .b{bits} %x, %y, %c, %p, %q, %d, %e;\n.reg .b64 %to;\n.reg .pred %yes;\nsetp.eq.u32 %yes, 1, 1;\n\
         ld.param.u64 %to, [out];\nmov.b{bits} %x, {x};\nmov.b{bits} %y, {x};\nmov.b{bits} %c, {c};\n{}\n\
         st.global.b{bits} [%to], %d;\nret;\n}}\n",
        body.replace('T', name)
    );
    let mut buffers = [vec![0; 8]];
    run(&text, Shape::line(1, 1), &mut buffers, &[]).expect("no fault");
    longs(&buffers[0])[0]
}

#[test]
fn a_product_that_only_a_sum_uses_is_not_rounded() {
    let sign = |(_, bytes, .., rest): Numbers| rest | 1 << (8 * bytes - 1);
    for of in [SINGLE, DOUBLE, HALF, BRAIN] {
        let rest = of.4;
        assert_eq!(result(of, "mul.T %p, %x, %y;\nsub.T %d, %p, %c;"), rest, "x y - c in {}", of.0);
        assert_eq!(result(of, "mul.T %p, %x, %y;\nsub.T %d, %c, %p;"), sign(of), "c - x y in {}", of.0);
        assert_eq!(result(of, "neg.T %q, %c;\nmul.T %p, %x, %y;\nadd.T %d, %q, %p;"), rest, "-c + x y in {}", of.0);
    }
}

#[test]
fn copies_and_negations_of_a_product_vanish() {
    for of in [SINGLE, DOUBLE, HALF, BRAIN] {
        let (rest, sign, bits) = (of.4, 1 << (8 * of.1 - 1), 8 * of.1);
        for (body, expected) in [
            ("mov.bBITS %q, %p;\nsub.T %d, %q, %c;", rest),
            ("neg.T %q, %p;\nadd.T %d, %q, %c;", rest | sign),
            ("neg.T %q, %p;\nadd.T %d, %c, %q;", rest | sign),
            ("neg.T %p, %p;\nadd.T %d, %p, %c;", rest | sign),
            ("neg.T %c, %c;\nneg.T %q, %p;\nsub.T %d, %c, %q;", rest),
            ("neg.T %c, %c;\nneg.T %q, %p;\nsub.T %d, %q, %c;", rest | sign),
            ("neg.T %q, %p;\nmov.bBITS %e, %q;\nneg.T %e, %e;\nsub.T %d, %e, %c;", rest),
        ] {
            let body = format!("mul.T %p, %x, %y;\n{}", body.replace("BITS", &bits.to_string()));
            assert_eq!(result(of, &body), expected, "{body} in {}", of.0);
        }
    }
}

#[test]
fn a_guard_of_the_sum_or_of_a_computation_before_it_does_not_matter() {
    for between in ["@%yes sub.T %d, %p, %c;", "@%yes mov.b32 %e, %x;\nsub.T %d, %p, %c;"] {
        assert_eq!(result(SINGLE, &format!("mul.T %p, %x, %y;\n{between}")), SINGLE.4, "{between}");
    }
}

#[test]
fn forms_with_ftz_are_fused_with_each_other_and_the_sum_may_saturate() {
    for (of, body) in [
        (SINGLE, "mul.ftz.T %p, %x, %y;\nsub.ftz.T %d, %p, %c;"),
        (SINGLE, "mul.ftz.T %p, %x, %y;\nneg.ftz.T %p, %p;\nneg.T %p, %p;\nsub.ftz.T %d, %p, %c;"),
        (HALF, "mul.T %p, %x, %y;\nsub.sat.T %d, %p, %c;"),
        (BRAIN, "mul.T %p, %x, %y;\nneg.T %p, %p;\nneg.T %c, %c;\nsub.sat.T %d, %c, %p;"),
    ] {
        assert_eq!(result(of, body), of.4, "{body} in {}", of.0);
    }
}

#[test]
fn a_product_that_several_sums_use_is_rounded_in_none_of_them() {
    let body = "mul.T %p, %x, %y;\nsub.T %d, %p, %c;\nsub.T %e, %c, %p;\nadd.T %d, %d, %e;\nsub.T %d, %d, %e;";
    assert_eq!(result(SINGLE, body), SINGLE.4, "d + e is 0, and d - e - e");
}

#[test]
fn of_two_products_the_first_term_is_not_rounded_or_else_the_one_with_fewer_uses() {
    let products = "mul.T %p, %x, %y;\nmul.T %q, %x, %y;\n";
    let minus = SINGLE.4 | 1 << 31;
    for (sums, rest) in [
        ("sub.T %d, %p, %q;", SINGLE.4),
        ("sub.T %d, %q, %p;", SINGLE.4),
        // q is not rounded, p is, and so x y - c is 0.
        ("sub.T %e, %p, %q;\nsub.T %d, %p, %c;", 0),
        ("sub.T %e, %p, %q;\nadd.T %d, %e, %e;\nsub.T %d, %d, %e;\nsub.T %e, %p, %c;", minus),
    ] {
        assert_eq!(result(SINGLE, &format!("{products}{sums}")), rest, "{sums}");
    }
}

#[test]
fn any_other_product_is_rounded() {
    let table = [
        ("it has a rounding modifier", "mul.rn.T %p, %x, %y;\nsub.T %d, %p, %c;"),
        ("the sum has one", "mul.T %p, %x, %y;\nsub.rn.T %d, %p, %c;"),
        ("something else uses it", "mul.T %p, %x, %y;\nsub.T %d, %p, %c;\nmax.T %e, %p, %x;"),
        (
            "another sum that uses it is in another block",
            "mul.T %p, %x, %y;\nsub.T %d, %p, %c;\nbra NEXT;\nNEXT:\nsub.T %e, %p, %c;",
        ),
        ("both terms are the same product", "mul.T %p, %x, %y;\nsub.T %d, %p, %p;"),
        ("it is in another block", "mul.T %p, %x, %y;\nbra NEXT;\nNEXT:\nsub.T %d, %p, %c;"),
        ("it is guarded", "mov.b32 %p, %c;\n@%yes mul.T %p, %x, %y;\nsub.T %d, %p, %c;"),
        ("its negation is guarded", "mul.T %p, %x, %y;\n@%yes neg.T %q, %p;\nadd.T %d, %q, %c;"),
        ("a guarded store ends its block", "mul.T %p, %x, %y;\n@%yes st.global.b32 [%to], %x;\nsub.T %d, %p, %c;"),
        ("something else uses its negation", "mul.T %p, %x, %y;\nneg.T %q, %p;\nadd.T %d, %q, %c;\nmax.T %e, %q, %x;"),
        ("it flushes subnormal numbers, and the sum does not", "mul.ftz.T %p, %x, %y;\nsub.T %d, %p, %c;"),
        ("the sum flushes subnormal numbers, and it does not", "mul.T %p, %x, %y;\nsub.ftz.T %d, %p, %c;"),
        ("its negation flushes them", "mul.T %p, %x, %y;\nneg.ftz.T %q, %p;\nadd.T %d, %q, %c;"),
        ("a factor is another number then", "mul.T %p, %x, %y;\nmov.b32 %y, %c;\nsub.T %d, %p, %c;"),
    ];
    for (why, body) in table {
        assert_eq!(result(SINGLE, body), 0, "{why}");
    }
}
