//! Bilinear interpolation of images, by size or by scale.

use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::IMAGES;
use crate::ops::support::images::resizing::resized_contract;
use crate::ops::{Contract, Op, ReferenceInputs, rule};
use crate::tensor::{DType, Support};

/// `x (N, C, H, W)` at `h` times `w` positions, each between four elements.
pub static UPSAMPLE_BILINEAR2D: Op = Op {
    name: "tensor.upsample_bilinear2d",
    covers: &["Tensor::upsample_bilinear2d"],
    support: BILINEAR_SUPPORT,
    inputs: &[IMAGES],
    params: &[
        ParamSpec::flag("align_corners", false, "Corner pixels keep their positions."),
        ParamSpec::size("h", 1, "The new height."),
        ParamSpec::size("w", 1, "The new width."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(BILINEAR_SUPPORT)?;
        let shape = [draw.size()?, draw.between(1, 3)?, draw.positive()?, draw.between(1, 4)?];
        let same = draw.one_in(6)?;
        let mut target = |size| if same { Ok(size) } else { draw.between(1, 9) };
        let (h, w) = (target(shape[2])?, target(shape[3])?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("h", h).param("w", w);
        case.backward = draw.backward()?;
        Ok(case.param("align_corners", draw.between(0, 1)?))
    },
    contract: &|case| contract(case, case.size("h"), case.size("w")),
    call: &|call| {
        let (h, w, align) = (call.size("h"), call.size("w"), call.size("align_corners") != 0);
        Ok(vec![call.tensor("x")?.upsample_bilinear2d(h, w, align)?])
    },
    source: "x.upsample_bilinear2d({{ h }}, {{ w }}, {{ align_corners != 0 }})?",
    torch: r#"
        {% set size, corners = "(" ~ h ~ ", " ~ w ~ ")", align_corners != 0 %}
        F.interpolate(x, size={{ size }}, mode="bilinear", align_corners={{ corners }})
    "#,
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let align = inputs.case.size("align_corners") != 0;
        let rows = neighbors(x.shape()[2], inputs.case.size("h"), None, align);
        let columns = neighbors(x.shape()[3], inputs.case.size("w"), None, align);
        vec![bilinear(inputs, &rows, &columns)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: BILINEAR_PROMISE,
};

/// As [`UPSAMPLE_BILINEAR2D`] with scales instead of sizes: `floor(size * scale)` positions, `1 / scale` apart.
pub static UPSAMPLE_BILINEAR2D_WITH_SCALE: Op = Op {
    name: "tensor.upsample_bilinear2d_with_scale",
    covers: &["Tensor::upsample_bilinear2d_with_scale"],
    support: BILINEAR_SUPPORT,
    inputs: &[IMAGES],
    params: &[
        ParamSpec::flag("align_corners", false, "Corner pixels keep their positions."),
        ParamSpec::float("scale_h", 1.0, "The factor of the height."),
        ParamSpec::float("scale_w", 1.0, "The factor of the width."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(BILINEAR_SUPPORT)?;
        let shape = [draw.size()?, draw.between(1, 3)?, draw.positive()?, draw.between(1, 4)?];
        let scales = [1.0, 2.0, 2.0, 3.0, 1.5, 2.75];
        let (h, w) = (*draw.choose(&scales)?, *draw.choose(&scales)?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        let case = case.param("scale_h", h).param("scale_w", w);
        Ok(case.param("align_corners", draw.between(0, 1)?))
    },
    contract: &|case| {
        let scales = [case.float("scale_h"), case.float("scale_w")];
        if scales.iter().any(|scale| !scale.is_finite() || *scale <= 0.0) {
            return Contract::Rejects(&rule::SCALE);
        }
        let scaled =
            |dim: usize, scale: f64| case.tensor("x").and_then(|x| x.shape.get(dim)).map_or(1, |&n| scaled(n, scale));
        contract(case, scaled(2, scales[0]), scaled(3, scales[1]))
    },
    call: &|call| {
        let (h, w) = (call.case.float("scale_h"), call.case.float("scale_w"));
        let align = call.size("align_corners") != 0;
        Ok(vec![call.tensor("x")?.upsample_bilinear2d_with_scale(h, w, align)?])
    },
    source: "x.upsample_bilinear2d_with_scale({{ scale_h }}, {{ scale_w }}, {{ align_corners != 0 }})?",
    torch: r#"
        {% set scales = "(" ~ scale_h ~ ", " ~ scale_w ~ ")" %}
        F.interpolate(x, scale_factor={{ scales }}, mode="bilinear", align_corners={{ align_corners != 0 }})
    "#,
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let align = inputs.case.size("align_corners") != 0;
        let (h, w) = (inputs.case.float("scale_h"), inputs.case.float("scale_w"));
        let (rows, columns) = (scaled(x.shape()[2], h), scaled(x.shape()[3], w));
        let unscaled = rows == x.shape()[2] && columns == x.shape()[3];
        let apart = |scale| if unscaled { None } else { Some(scale) };
        let rows = neighbors(x.shape()[2], rows, apart(h), align);
        let columns = neighbors(x.shape()[3], columns, apart(w), align);
        vec![bilinear(inputs, &rows, &columns)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1275-1336: the floor of size times scale, 'matches PyTorch's \
              interpolate(scale_factor=...)', which rejects sizes of 0; the input itself where no size changes, \
              as in PyTorch",
};

/// Where the contract of these ops comes from.
pub const BILINEAR_PROMISE: &str = "candle-core/src/tensor.rs:1225-1273 and tests/bilinear_tests.rs, which hold \
    PyTorch's results; torch.nn.functional.interpolate(mode='bilinear'), which takes floats and bytes";

/// The dtypes of these ops.
pub const BILINEAR_SUPPORT: &Support =
    &Support::both("x", &[DType::F32, DType::F64, DType::F16, DType::Bf16, DType::U8]);

fn scaled(size: usize, scale: f64) -> usize {
    (size as f64 * scale).floor() as usize
}

fn contract(case: &Case, h: usize, w: usize) -> Contract {
    match case.tensor("x") {
        None => Contract::Rejects(&rule::SHAPES),
        Some(x) if x.shape.len() != 4 => Contract::Rejects(&rule::RANK),
        // PyTorch takes bytes, and no other integers.
        Some(x) if !x.dtype.is_float() && x.dtype != DType::U8 => Contract::Rejects(&rule::FLOAT_FUNCTION),
        Some(_) => resized_contract(case, &[h, w]),
    }
}

/// The two elements that a position lies between, and its distance from the first.
type Neighbors = (usize, usize, Num);

/// The neighbors of each of `target` positions between `size` elements.
fn neighbors(size: usize, target: usize, scale: Option<f64>, align: bool) -> Vec<Neighbors> {
    let last = size - 1;
    let position = |i: usize| {
        let at = match scale {
            _ if align && target > 1 => i as f64 * (last as f64 / (target - 1) as f64),
            _ if align => 0.0,
            Some(scale) => (i as f64 + 0.5) / scale - 0.5,
            None => (i as f64 + 0.5) * (size as f64 / target as f64) - 0.5,
        };
        let at = at.clamp(0.0, last as f64);
        let first = at.floor();
        // Positions are computed in `f64` at best.
        let distance = Num { error: f64::EPSILON * size as f64, ..Num::exact(at - first) };
        (first as usize, (first as usize + 1).min(last), distance)
    };
    (0..target).map(position).collect()
}

/// The mean of the four neighbors by their distances. Bytes are rounded, in PyTorch after each dimension.
fn bilinear(inputs: &ReferenceInputs, rows: &[Neighbors], columns: &[Neighbors]) -> ArrayD<Num> {
    let x = inputs.array("x");
    let rounded = if inputs.case.tensor("x").is_some_and(|x| !x.dtype.is_float()) { 0.25 } else { 0.0 };
    let one = Num::exact(1.0);
    let mix = |a: Num, b: Num, distance: Num| a * (one - distance) + b * distance;
    let shape = [x.shape()[0], x.shape()[1], rows.len(), columns.len()];
    let largest = x.iter().map(|x| x.value.abs()).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let infinite = x.iter().any(|x| !x.value.is_finite());
    // A position that rounding moves across an element gives its other neighbor a share.
    let slack = f64::EPSILON * largest * x.shape()[2].max(x.shape()[3]) as f64;
    ArrayD::from_shape_fn(IxDyn(&shape), |at| {
        let (n, c) = (at[0], at[1]);
        let ((top, bottom, down), (left, right, along)) = (rows[at[2]], columns[at[3]]);
        let upper = mix(x[[n, c, top, left]], x[[n, c, top, right]], along);
        let lower = mix(x[[n, c, bottom, left]], x[[n, c, bottom, right]], along);
        let value = mix(upper, lower, down);
        let at_element = |distance: Num| distance.value.min(1.0 - distance.value) < 1e-9;
        let peak = if infinite && (at_element(down) || at_element(along)) { f64::INFINITY } else { value.peak };
        Num { error: value.error + slack + rounded, peak, ..value }
    })
}
