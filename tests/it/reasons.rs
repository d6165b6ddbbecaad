//! An excuse ends where its reason ends: calls just inside and just beyond what a reason is about.

use snuffer::case::{Backward, Case, Param};
use snuffer::ops::{self, Contract};
use snuffer::tensor::{DType, Fill, Tensor, Value, Values};

fn filled(dtype: DType, shape: &[usize], value: f64) -> Tensor {
    let values = Values::Fill(Fill::constant(Value::of(dtype, value)));
    Tensor { values, ..Tensor::new(dtype, shape.to_vec(), vec![Value::of(dtype, 0.0); shape.iter().product()]) }
}

fn contract(case: &Case) -> Contract {
    ops::find(&case.op).expect("an op of the catalog").contract(case)
}

/// The product of a row of this number with a block of `Q4_0` whose weights are ones.
fn product(x: f64) -> Case {
    let bytes = [0, 60].into_iter().chain([153; 16]).map(Value::Int).collect();
    let blocks = Tensor::new(DType::U8, vec![1, 18], bytes);
    let x = filled(DType::F32, &[1, 32], x);
    Case::new("quantized.matmul").param("format", "Q4_0").input("x", x).input("blocks", blocks)
}

fn quantized(format: &str, x: f64) -> Case {
    Case::new("quantized.quantize").param("format", format).input("x", filled(DType::F32, &[256], x))
}

/// A block of `Q4_0` whose scale ends with this byte.
fn block(byte: i64) -> Case {
    let bytes = [0, byte].into_iter().chain([0; 16]).map(Value::Int).collect();
    Case::new("quantized.dequantize").input("blocks", Tensor::new(DType::U8, vec![1, 18], bytes))
}

fn norm(dtype: DType, x: f64) -> Case {
    let case = Case::new("op.layer_norm_slow").input("x", filled(dtype, &[1, 2], x));
    let case = case.input("alpha", filled(dtype, &[2], 1.0)).input("beta", filled(dtype, &[2], 0.0));
    Case { backward: Backward::Sum, ..case }
}

fn convolution(padding: i64) -> Case {
    let case = Case::new("tensor.conv2d").param("padding", padding).param("stride", padding);
    case.input("x", filled(DType::F32, &[1, 1, 3, 3], 1.0)).input("kernel", filled(DType::F32, &[1, 1, 2, 2], 1.0))
}

fn sloped(dtype: DType, slope: f64) -> Case {
    call("op.leaky_relu", [("x", dtype, &[1], 1.0)]).param("negative_slope", slope)
}

#[test]
fn an_excuse_ends_where_its_reason_ends() {
    const NO_SCALE: &str = ops::why::NO_SCALE;
    for (judged, open, why) in [
        // The scale of a block is in half precision. Sums of a block are not its scale.
        (product(2100.0), product(1e7), ops::why::BEYOND_SCALES),
        (quantized("Q8_0", 8e6), quantized("Q8_0", 9e6), NO_SCALE),
        (quantized("Q4_0", 5e5), quantized("Q4_0", 6e5), NO_SCALE),
        (block(0x7b), block(0x7c), NO_SCALE),
        // A minimum is in half precision, too.
        (quantized("Q4_1", 65_504.0), quantized("Q4_1", 70_000.0), NO_SCALE),
        // Squares of half precision are added up in f32.
        (norm(DType::F16, 300.0), norm(DType::F32, 1e20), "gradients of huge numbers"),
        // PyTorch has the slope in f32 for halves, too.
        (sloped(DType::F16, 1e5), sloped(DType::F16, 1e39), "a constant that is not finite"),
        (sloped(DType::F64, 1e39), sloped(DType::F32, 1e39), "a constant that is not finite"),
    ] {
        assert!(matches!(contract(&judged), Contract::Accepts { .. }), "{}", judged.to_text());
        assert_eq!(contract(&open), Contract::Unspecified(why), "{}", open.to_text());
    }
}

#[test]
fn a_huge_padding_is_judged_by_the_size_of_the_output() {
    let Contract::Accepts { outputs, .. } = contract(&convolution(1_000_000_000_000)) else { panic!("no valid call") };
    assert_eq!(outputs, [(DType::F32, vec![1, 1, 3, 3])]);
}

/// The name, dtype and shape of an input, and its only number.
type Input<'a> = (&'a str, DType, &'a [usize], f64);

/// A call with inputs of one number each.
fn call<const N: usize>(op: &str, inputs: [Input; N]) -> Case {
    let with = |case: Case, (name, dtype, shape, value)| case.input(name, filled(dtype, shape, value));
    inputs.into_iter().fold(Case::new(op), with)
}

/// One query for each key, all of them zeros.
fn attention(queries: usize, keys: usize) -> Case {
    let [q, k] = [queries, keys].map(|length| filled(DType::F32, &[1, length, 1, 1], 0.0));
    Case::new("attention.flash_attn").input("q", q).input("v", k.clone()).input("k", k)
}

/// A step of a GRU with these sequences and states.
fn step(sequences: usize, states: usize) -> Case {
    let weights = |case: Case, name| case.input(name, filled(DType::F32, &[3, 1], 0.0));
    let case = ["w_ih", "w_hh"].into_iter().fold(Case::new("layer.gru").param("form", "step"), weights);
    case.input("x", filled(DType::F32, &[sequences, 1], 0.0)).input("h", filled(DType::F32, &[states, 1], 0.0))
}

fn assert_promised(rows: impl IntoIterator<Item = (Case, &'static str)>) {
    for (case, promised) in rows {
        assert_eq!(contract(&case).name(), promised, "{}", case.to_text());
    }
}

#[test]
fn a_number_that_the_dtype_holds_is_judged() {
    use DType::{F16, F32, I64, U8, U32};
    let large = 2_000_000.0;
    let halves: [Input; 3] =
        [("x", F16, &[2, 1], 1.0), ("running_mean", F16, &[1], 0.0), ("running_var", F16, &[1], 1.0)];
    let step: [Input; 4] = [
        ("x", F32, &[1, 1], 1.0),
        ("weight", F32, &[1, 1], 1.0),
        ("bias", F32, &[1], 0.0),
        ("target", F32, &[1, 1], 0.0),
    ];
    let added: [Input; 3] =
        [("x", U8, &[1, 1, 1, 1], 1.0), ("kernel", U8, &[1, 1, 1, 1], 1.0), ("bias", U8, &[1], 1.0)];
    assert_promised([
        (call("tensor.affine", [("x", I64, &[1], 2.0)]).param("mul", -1.0), "accepts"),
        (call("tensor.add_scalar", [("x", I64, &[1], 0.0)]).param("scalar", large), "accepts"),
        (call("tensor.eq", [("lhs", I64, &[1], large)]).param("form", "scalar").param("scalar", large), "accepts"),
        (
            call("encoding.one_hot", [("indices", U32, &[1], 0.0)]).param("depth", 1_i64).param("on", 1000_i64),
            "accepts",
        ),
        (
            call("optim.adamw", [("theta", F32, &[1], 0.0), ("grad", F32, &[1, 1], 0.0)]).param("beta2", 0.9999),
            "accepts",
        ),
        (Case::new("random.rand").param("lo", 1.0).param("up", 1.0), "accepts"),
        (Case::new("random.randn").param("std", 1e5), "accepts"),
        (call("op.dropout", [("x", F32, &[1], 1.0)]).param("p", 0.95), "accepts"),
        (call("relation.mixed_devices", [("x", I64, &[1], 1.0), ("y", I64, &[1], 1.0)]), "accepts"),
        (call("layer.conv_transpose2d", added), "accepts"),
        // Each of the outputs is one product.
        (
            call("tensor.conv_transpose2d", [("x", U8, &[1, 1, 1, 1], 10.0), ("kernel", U8, &[1, 9, 1, 1], 10.0)]),
            "accepts",
        ),
        (call("layer.batch_norm_train", halves), "accepts"),
        (attention(1, 1).param("softcap", 0.0), "accepts"),
        (call("op.dropout", [("x", F32, &[1], 1.0)]).param("p", 1.0), "accepts"),
        (call("op.dropout", [("x", F16, &[1], 1.0)]).param("p", 0.999_999), "unspecified"),
        (call("layer.batch_norm_train", halves).param("momentum", 2.0), "accepts"),
        (call("tensor.powf", [("x", F32, &[1], 2.0)]).param("e", f64::INFINITY), "accepts"),
        (
            Case { backward: Backward::Sum, ..call("tensor.powf", [("x", F32, &[1], 2.0)]) }.param("e", f64::INFINITY),
            "unspecified",
        ),
        (call("random.gumbel_softmax", [("x", F32, &[1], 2.0)]).param("temperature", 1e30), "accepts"),
        (call("random.gumbel_softmax", [("x", F32, &[1], f64::NAN)]), "accepts"),
        (call("random.gumbel_softmax", [("x", F32, &[1], f64::NAN)]).param("temperature", 0.0), "unspecified"),
        (call("relation.training_step", step).param("lr", 100.0), "accepts"),
        (call("relation.sum_in_turn", [("x", U8, &[2], 100.0)]), "accepts"),
        (call("relation.sum_in_turn", [("x", U8, &[2], 200.0)]), "unspecified"),
        (call("tensor.add_scalar", [("x", I64, &[1], 2e15)]).param("scalar", 1.0), "accepts"),
    ]);
}

#[test]
fn a_shape_is_judged_where_pytorch_takes_or_rejects_it() {
    use DType::{F32, U8, U32};
    let mask = filled(F32, &[2, 1], 0.0);
    let norm = |x: &[usize]| {
        call("layer.group_norm", [("x", F32, x, 0.0), ("weight", F32, &[1], 1.0), ("bias", F32, &[1], 0.0)])
    };
    let experts: [Input; 3] = [("x", F32, &[0, 1, 32], 0.0), ("ids", U32, &[0, 1], 0.0), ("blocks", U8, &[1, 18], 0.0)];
    assert_promised([
        (step(1, 2), "rejects"),
        (step(0, 0), "accepts"),
        (call("tensor.pad_with_same", [("x", F32, &[0], 0.0)]).param("left", 1_i64), "rejects"),
        (call("tensor.pad_with_same", [("x", F32, &[0, 1], 0.0)]).param("dim", 1_i64).param("left", 1_i64), "accepts"),
        (call("create.from_values", [("x", F32, &[1, 1], 0.0)]).param("rows", 0_i64), "rejects"),
        (call("tensor.unfold", [("x", F32, &[1], 0.0)]).param("step", 1_i64), "accepts"),
        (attention(2, 1).param("mask", "causal"), "accepts"),
        (attention(0, 1), "accepts"),
        (attention(1, 1).param("mask", "mask").input("mask", mask), "rejects"),
        (
            call("layer.linear", [("x", F32, &[1, 1], 0.0), ("weight", F32, &[1, 1], 0.0), ("bias", F32, &[2], 0.0)]),
            "rejects",
        ),
        (call("layer.prelu", [("x", F32, &[1], 0.0), ("weight", F32, &[1], 0.0)]).param("is_scalar", 1_i64), "accepts"),
        (norm(&[0, 2, 1]), "rejects"),
        (norm(&[1, 1, 0]), "unspecified"),
        (call("quantized.indexed_moe_forward", experts), "accepts"),
        (call("tensor.conv2d", [("x", F32, &[0, 1, 1, 1], 0.0), ("kernel", F32, &[1, 1, 1, 1], 0.0)]), "accepts"),
        (call("state.parameters", [("x", F32, &[0], 0.0)]), "accepts"),
        (call("layer.parts", [("weight", F32, &[0], 0.0), ("bias", F32, &[0], 0.0)]), "accepts"),
        (
            call("layer.group_norm", [("x", F32, &[1, 2], 0.0), ("weight", F32, &[2], 1.0), ("bias", F32, &[2], 0.0)])
                .param("channels", 2_i64),
            "accepts",
        ),
        (
            call(
                "layer.batch_norm",
                [("x", F32, &[1], 0.0), ("running_mean", F32, &[1], 0.0), ("running_var", F32, &[1], 1.0)],
            ),
            "rejects",
        ),
        (call("tensor.scatter", [("x", F32, &[2], 0.0), ("ids", U32, &[1], 0.0), ("src", F32, &[2], 1.0)]), "accepts"),
        (
            call(
                "tensor.scatter_add",
                [("x", F32, &[1, 2], 0.0), ("ids", U32, &[1, 1], 0.0), ("src", F32, &[1, 1], 1.0)],
            ),
            "accepts",
        ),
        (
            call("tensor.scatter", [("x", F32, &[1, 1], 0.0), ("ids", U32, &[1, 2], 0.0), ("src", F32, &[1, 2], 1.0)]),
            "rejects",
        ),
        (call("random.gumbel_softmax", [("x", F32, &[0], 0.0)]), "rejects"),
        (call("random.gumbel_softmax", [("x", F32, &[0, 1], 0.0)]).param("dim", 1_i64), "accepts"),
    ]);
}

#[test]
fn an_argument_that_pytorch_rejects_is_judged() {
    use DType::{F32, I64, U8};
    let dilated = |batch: usize| {
        let case = call("tensor.conv1d", [("x", F32, &[batch, 1, 1], 1.0), ("kernel", F32, &[1, 1, 1], 1.0)]);
        case.param("dilation", 0_i64)
    };
    let rows = Tensor::new(U8, vec![1, 18], vec![Value::Int(0); 18]);
    let resized = |dtype| call("tensor.upsample_bilinear2d", [("x", dtype, &[1, 1, 1, 1], 1.0)]);
    assert_promised([
        (dilated(1), "rejects"),
        (dilated(0), "unspecified"),
        (call("op.pixel_shuffle", [("x", F32, &[0, 1, 1, 1], 0.0)]).param("factor", 2_i64), "rejects"),
        (call("op.pixel_unshuffle", [("x", F32, &[0, 1, 1, 1], 0.0)]).param("factor", 2_i64), "rejects"),
        (
            call("quantized.embedding", [("ids", F32, &[1], 0.0)]).param("format", "Q4_0").input("blocks", rows),
            "rejects",
        ),
        (resized(I64), "rejects"),
        (resized(U8), "accepts"),
    ]);
}

#[test]
fn the_documentation_of_candle_decides_where_it_speaks() {
    use DType::{F32, I32, I64, U32};
    let prelu = |x: &[usize], weight: &[usize]| call("layer.prelu", [("x", F32, x, 0.0), ("weight", F32, weight, 0.0)]);
    assert_promised([
        (call("encoding.one_hot", [("indices", I32, &[1], 0.0)]).param("depth", 1_i64), "rejects"),
        (call("tensor.meshgrid", [("x", F32, &[1], 0.0)]), "rejects"),
        (call("tensor.dot", [("x", I64, &[1], 0.0), ("rhs", I64, &[1], 0.0)]), "accepts"),
        (call("cache.interleaved", [("k0", F32, &[2, 1, 1, 1], 0.0), ("v0", F32, &[2, 1, 1, 1], 0.0)]), "rejects"),
        (prelu(&[2], &[2]), "accepts"),
        (prelu(&[2], &[1]), "accepts"),
        (prelu(&[1], &[2]), "rejects"),
        (prelu(&[1, 1], &[1, 1]), "rejects"),
        (
            call("loss.binary_cross_entropy_with_logit", [("inp", F32, &[1, 1], 0.0), ("target", U32, &[1, 1], 1.0)]),
            "accepts",
        ),
    ]);
}

#[test]
fn an_argument_that_is_not_needed_is_checked_as_pytorch_does() {
    use DType::{F32, I64};
    let x = |op: &str, shape: &[usize]| call(op, [("x", F32, shape, 0.0)]);
    let mut flipped = x("tensor.flip", &[2]);
    flipped.params.insert("dims".to_string(), Param::List(vec![Param::Number(Value::Int(0)); 2]));
    assert_promised([
        (call("tensor.cat", [("t0", F32, &[1], 0.0)]).param("dim", 1_i64), "rejects"),
        (x("tensor.pad_with_zeros", &[1]).param("dim", 1_i64), "rejects"),
        (x("tensor.pad_with_same", &[1]).param("dim", 1_i64), "rejects"),
        (x("op.replication_pad2d", &[1, 1]).param("pad", 0_i64), "rejects"),
        (x("tensor.flatten", &[2, 2]).param("form", "both").param("start", 1_i64).param("end", 0_i64), "rejects"),
        (x("tensor.get", &[]).param("form", "first"), "rejects"),
        (call("tensor.meshgrid", [("x", F32, &[1], 0.0), ("y", I64, &[1], 0.0)]), "rejects"),
        (flipped, "rejects"),
    ]);
}
