//! Resizing images: the nearest element, and bilinear interpolation.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::tensor::conv::size;
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support, product};

/// `x (N, C, L)` at `size` places: the element at `floor(place * L / size)`.
pub static INTERPOLATE1D: Op = Op {
    name: "tensor.interpolate1d",
    covers: &["Tensor::interpolate1d", "Tensor::upsample_nearest1d"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &[] },
    generate: |draw| {
        let dtype = draw.dtype(INTERPOLATE1D.support)?;
        let shape = [draw.size()?, draw.size()?, draw.positive()?];
        let target = if draw.one_in(2)? { shape[2] * draw.between(1, 3)? } else { draw.between(1, 9)? };
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("w", target);
        case.backward = draw.backward()?;
        Ok(if draw.one_in(4)? { case.param("form", "alias") } else { case })
    },
    contract: |case| nearest_contract(case, &["w"]),
    call: |call| {
        let (x, target) = (call.tensor("x")?, call.size("w", 1));
        let alias = call.case.text("form") == "alias";
        Ok(vec![if alias { x.upsample_nearest1d(target)? } else { x.interpolate1d(target)? }])
    },
    source: "x.{{ 'upsample_nearest' if form == 'alias' else 'interpolate' }}1d({{ w|default(1) }})?",
    torch: "F.interpolate(x, size={{ w|default(1) }})",
    reference: Some(|inputs| vec![nearest(&inputs.array("x"), &[size(inputs.case, "w", 1)])]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: NEAREST_PROMISE,
};

/// `x (N, C, H, W)` at `h` times `w` places, each direction as for [`INTERPOLATE1D`].
pub static INTERPOLATE2D: Op = Op {
    name: "tensor.interpolate2d",
    covers: &["Tensor::interpolate2d", "Tensor::upsample_nearest2d"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 },
    generate: |draw| {
        let dtype = draw.dtype(INTERPOLATE2D.support)?;
        let shape = [draw.size()?, draw.between(1, 3)?, draw.positive()?, draw.between(1, 4)?];
        let scale = draw.between(1, 3)?;
        let even = draw.one_in(2)?;
        let mut target = |size| if even { Ok(size * scale) } else { draw.between(1, 9) };
        let (h, w) = (target(shape[2])?, target(shape[3])?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("h", h).param("w", w);
        case.backward = draw.backward()?;
        Ok(if draw.one_in(4)? { case.param("form", "alias") } else { case })
    },
    contract: |case| nearest_contract(case, &["h", "w"]),
    call: |call| {
        let (x, h, w) = (call.tensor("x")?, call.size("h", 1), call.size("w", 1));
        let alias = call.case.text("form") == "alias";
        Ok(vec![if alias { x.upsample_nearest2d(h, w)? } else { x.interpolate2d(h, w)? }])
    },
    source: r#"
        {% set name = "upsample_nearest" if form == "alias" else "interpolate" %}
        x.{{ name }}2d({{ h|default(1) }}, {{ w|default(1) }})?
    "#,
    torch: "F.interpolate(x, size=({{ h|default(1) }}, {{ w|default(1) }}))",
    reference: Some(|inputs| {
        let target = [size(inputs.case, "h", 1), size(inputs.case, "w", 1)];
        vec![nearest(&inputs.array("x"), &target)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: NEAREST_PROMISE,
};

/// Where the contract of these ops comes from.
pub const NEAREST_PROMISE: &str = "candle-core/src/tensor.rs:1184-1223: the value of the nearest element; \
              torch.nn.functional.interpolate(mode='nearest'), which refuses sizes of 0";

/// `x (N, C, H, W)` at `h` times `w` places, each between four elements.
pub static UPSAMPLE_BILINEAR2D: Op = Op {
    name: "tensor.upsample_bilinear2d",
    covers: &["Tensor::upsample_bilinear2d"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let dtype = draw.dtype(BILINEAR_SUPPORT)?;
        let shape = [draw.size()?, draw.between(1, 3)?, draw.positive()?, draw.between(1, 4)?];
        let same = draw.one_in(6)?;
        let mut target = |size| if same { Ok(size) } else { draw.between(1, 9) };
        let (h, w) = (target(shape[2])?, target(shape[3])?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("h", h).param("w", w);
        case.backward = draw.backward()?;
        Ok(case.param("align_corners", draw.between(0, 1)?))
    },
    contract: |case| bilinear_contract(case, size(case, "h", 1), size(case, "w", 1)),
    call: |call| {
        let (h, w, align) = (call.size("h", 1), call.size("w", 1), call.size("align_corners", 0) != 0);
        Ok(vec![call.tensor("x")?.upsample_bilinear2d(h, w, align)?])
    },
    source: "x.upsample_bilinear2d({{ h|default(1) }}, {{ w|default(1) }}, {{ align_corners|default(0) != 0 }})?",
    torch: r#"
        {% set size, corners = "(" ~ h|default(1) ~ ", " ~ w|default(1) ~ ")", align_corners|default(0) != 0 %}
        F.interpolate(x, size={{ size }}, mode="bilinear", align_corners={{ corners }})
    "#,
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let align = size(inputs.case, "align_corners", 0) != 0;
        let rows = between(x.shape()[2], size(inputs.case, "h", 1), None, align);
        let columns = between(x.shape()[3], size(inputs.case, "w", 1), None, align);
        vec![bilinear(&x, &rows, &columns)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: BILINEAR_PROMISE,
};

/// The same with scales instead of sizes: `floor(size * scale)` places, `1 / scale` apart.
pub static UPSAMPLE_BILINEAR2D_WITH_SCALE: Op = Op {
    name: "tensor.upsample_bilinear2d_with_scale",
    covers: &["Tensor::upsample_bilinear2d_with_scale"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let dtype = draw.dtype(BILINEAR_SUPPORT)?;
        let shape = [draw.size()?, draw.between(1, 3)?, draw.positive()?, draw.between(1, 4)?];
        let scales = [1.0, 2.0, 2.0, 3.0, 1.5, 2.75];
        let (h, w) = (*draw.choose(&scales)?, *draw.choose(&scales)?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        let case = case.param("scale_h", h).param("scale_w", w);
        Ok(case.param("align_corners", draw.between(0, 1)?))
    },
    contract: |case| {
        let scales = [case.float("scale_h", 1.0), case.float("scale_w", 1.0)];
        if scales.iter().any(|scale| !scale.is_finite() || *scale <= 0.0) {
            return Contract::Rejects("a scale that is no positive number");
        }
        let scaled =
            |dim: usize, scale: f64| case.tensor("x").and_then(|x| x.shape.get(dim)).map_or(1, |&n| scaled(n, scale));
        bilinear_contract(case, scaled(2, scales[0]), scaled(3, scales[1]))
    },
    call: |call| {
        let (h, w) = (call.case.float("scale_h", 1.0), call.case.float("scale_w", 1.0));
        let align = call.size("align_corners", 0) != 0;
        Ok(vec![call.tensor("x")?.upsample_bilinear2d_with_scale(h, w, align)?])
    },
    source: r#"
        {% set h, w = scale_h|default("1.0"), scale_w|default("1.0") %}
        x.upsample_bilinear2d_with_scale({{ h }}, {{ w }}, {{ align_corners|default(0) != 0 }})?
    "#,
    torch: r#"
        {% set scales = "(" ~ scale_h|default("1.0") ~ ", " ~ scale_w|default("1.0") ~ ")" %}
        F.interpolate(x, scale_factor={{ scales }}, mode="bilinear", align_corners={{ align_corners|default(0) != 0 }})
    "#,
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let align = size(inputs.case, "align_corners", 0) != 0;
        let (h, w) = (inputs.case.float("scale_h", 1.0), inputs.case.float("scale_w", 1.0));
        let (rows, columns) = (scaled(x.shape()[2], h), scaled(x.shape()[3], w));
        let unscaled = rows == x.shape()[2] && columns == x.shape()[3];
        let apart = |scale| if unscaled { None } else { Some(scale) };
        let rows = between(x.shape()[2], rows, apart(h), align);
        let columns = between(x.shape()[3], columns, apart(w), align);
        vec![bilinear(&x, &rows, &columns)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1275-1336: the floor of size times scale, 'matches PyTorch's \
              interpolate(scale_factor=...)', which refuses sizes of 0; the input itself where no size changes \
              (tensor.rs:1305-1308)",
};

/// Where the contract of these ops comes from.
pub const BILINEAR_PROMISE: &str = "candle-core/src/tensor.rs:1225-1273 and tests/bilinear_tests.rs, which hold PyTorch's results; \
              torch.nn.functional.interpolate(mode='bilinear')";
/// The dtypes of these ops.
pub const BILINEAR_SUPPORT: &Support = &Support::both("x", &DType::FLOATS);

fn scaled(size: usize, scale: f64) -> usize {
    (size as f64 * scale).floor() as usize
}

fn nearest_contract(case: &Case, target: &[&str]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    let target: Vec<usize> = target.iter().map(|name| size(case, name, 1)).collect();
    if x.shape.len() == target.len() + 2 { resized(case, &target) } else { Contract::Rejects(why::RANK) }
}

fn bilinear_contract(case: &Case, h: usize, w: usize) -> Contract {
    match case.tensor("x") {
        None => Contract::Rejects(why::SHAPES),
        Some(x) if x.shape.len() != 4 => Contract::Rejects(why::RANK),
        Some(x) if !x.dtype.is_float() => Contract::Unspecified("the interpolation of integers"),
        Some(_) => resized(case, &[h, w]),
    }
}

/// The contract for an `x` of the right rank that gets these sizes.
fn resized(case: &Case, target: &[usize]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if target.contains(&0) {
        return Contract::Unspecified("an image of size 0");
    }
    if x.shape[2..].contains(&0) {
        return Contract::Rejects("no element to take values from");
    }
    let shape = [&x.shape[..2], target].concat();
    if product(target).is_none_or(|n| n > 1 << 22) || product(&shape).is_none_or(|n| n > 1 << 22) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    Contract::accepts(x.dtype, &shape)
}

/// Every place of the last dimensions takes the element at or before it.
pub fn nearest(x: &ArrayD<Num>, target: &[usize]) -> ArrayD<Num> {
    let shape = [&x.shape()[..2], target].concat();
    ArrayD::from_shape_fn(IxDyn(&shape), |place| {
        let mut unclear = false;
        let mut at = vec![place[0], place[1]];
        for (d, &wanted) in target.iter().enumerate() {
            let (from, i) = (x.shape()[d + 2], place[d + 2]);
            let exact = i * from / wanted;
            // Rounding may put a place that falls on an element just before it.
            unclear |= (i as f64 * (from as f64 / wanted as f64)) as usize != exact;
            at.push(exact);
        }
        let value = x[at.as_slice()];
        if unclear { Num { peak: f64::INFINITY, ..value } } else { value }
    })
}

/// For each of `target` places between `size` elements: its two neighbors, and how far it is from the first.
fn between(size: usize, target: usize, scale: Option<f64>, align: bool) -> Vec<(usize, usize, Num)> {
    let last = size - 1;
    let place = |i: usize| {
        let at = match scale {
            _ if align && target > 1 => i as f64 * (last as f64 / (target - 1) as f64),
            _ if align => 0.0,
            Some(scale) => (i as f64 + 0.5) / scale - 0.5,
            None => (i as f64 + 0.5) * (size as f64 / target as f64) - 0.5,
        };
        let at = at.clamp(0.0, last as f64);
        let first = at.floor();
        // Places are computed in `f64` at best.
        let distance = Num { error: f64::EPSILON * size as f64, ..Num::exact(at - first) };
        (first as usize, (first as usize + 1).min(last), distance)
    };
    (0..target).map(place).collect()
}

type Between = (usize, usize, Num);

fn bilinear(x: &ArrayD<Num>, rows: &[Between], columns: &[Between]) -> ArrayD<Num> {
    let one = Num::exact(1.0);
    let mix = |a: Num, b: Num, distance: Num| a * (one - distance) + b * distance;
    let shape = [x.shape()[0], x.shape()[1], rows.len(), columns.len()];
    let largest = x.iter().map(|x| x.value.abs()).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let infinite = x.iter().any(|x| !x.value.is_finite());
    // A place that rounding moves across an element gives its other neighbor a share.
    let slack = f64::EPSILON * largest * x.shape()[2].max(x.shape()[3]) as f64;
    ArrayD::from_shape_fn(IxDyn(&shape), |place| {
        let (n, c) = (place[0], place[1]);
        let ((top, bottom, down), (left, right, along)) = (rows[place[2]], columns[place[3]]);
        let upper = mix(x[[n, c, top, left]], x[[n, c, top, right]], along);
        let lower = mix(x[[n, c, bottom, left]], x[[n, c, bottom, right]], along);
        let value = mix(upper, lower, down);
        let at_element = |distance: Num| distance.value.min(1.0 - distance.value) < 1e-9;
        let peak = if infinite && (at_element(down) || at_element(along)) { f64::INFINITY } else { value.peak };
        Num { error: value.error + slack, peak, ..value }
    })
}
