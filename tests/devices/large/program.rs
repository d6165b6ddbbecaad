//! Calls of candle's CUDA backend on tensors of more than 2^31 or 2^32 elements. `large.rs` builds this program and runs each
//! call; on a GPU that takes 20 GiB. Without a name it lists the calls.
//!
//! Each call is on zeros whose last row is ones, and a few elements of the result are read back: this prints which are wrong.

use candle_core::{DType, Device, Result, Tensor};

/// Rows and columns of 2^32 + 2^24 elements.
const OVER: (usize, usize) = (1 << 16, (1 << 16) + (1 << 8));
/// More than 2^32, all of the last row beyond it.
const MORE: (usize, usize) = ((1 << 16) + 1, (1 << 16) + 1);
/// One element less than 2^32.
const UNDER: (usize, usize) = ((1 << 16) - 1, (1 << 16) + 1);
/// 2^32 elements.
const EXACT: (usize, usize) = (1 << 16, 1 << 16);
/// More than 2^31.
const HALF: (usize, usize) = ((1 << 18) + 1, 1 << 13);

/// A result, and some of its elements: where each is, and what it must be.
type Checked = (Tensor, Vec<(Vec<usize>, f32)>);

/// A call on large tensors.
type Call = fn(&Device) -> Result<Checked>;

const CALLS: &[(&str, Call)] = &[
    ("ones-exact", |device| Ok((Tensor::ones(EXACT, DType::U8, device)?, ends(EXACT, 1., 1.)))),
    ("ones-over", |device| Ok((Tensor::ones(OVER, DType::U8, device)?, ends(OVER, 1., 1.)))),
    ("ones-under", |device| Ok((Tensor::ones(UNDER, DType::U8, device)?, ends(UNDER, 1., 1.)))),
    ("full", |device| Ok((Tensor::full(7_u8, OVER, device)?, ends(OVER, 7., 7.)))),
    ("affine", |device| Ok((marked(OVER, DType::U8, device)?.affine(2., 1.)?, ends(OVER, 1., 3.)))),
    ("affine-half", |device| Ok((marked(HALF, DType::U8, device)?.affine(2., 1.)?, ends(HALF, 1., 3.)))),
    ("relu", |device| Ok((marked(OVER, DType::F16, device)?.relu()?, ends(OVER, 0., 1.)))),
    ("add", |device| {
        let x = marked(OVER, DType::U8, device)?;
        Ok(((&x + &x)?, ends(OVER, 0., 2.)))
    }),
    ("le", |device| {
        let x = marked(OVER, DType::U8, device)?;
        Ok((x.le(&x)?, ends(OVER, 1., 1.)))
    }),
    ("to_dtype", |device| Ok((marked(OVER, DType::U8, device)?.to_dtype(DType::F16)?, ends(OVER, 0., 1.)))),
    ("where_cond", |device| {
        let x = marked(OVER, DType::U8, device)?;
        Ok((x.where_cond(&x, &x)?, ends(OVER, 0., 1.)))
    }),
    ("transpose", |device| {
        let (rows, columns) = OVER;
        Ok((marked(OVER, DType::U8, device)?.t()?.contiguous()?, ends((columns, rows), 0., 1.)))
    }),
    ("cat-rows", |device| {
        let half = marked((OVER.0 / 2, OVER.1), DType::U8, device)?;
        Ok((Tensor::cat(&[&half, &half], 0)?, ends(OVER, 0., 1.)))
    }),
    ("cat-large", |device| {
        let x = marked(OVER, DType::U8, device)?;
        Ok((Tensor::cat(&[&x, &x], 0)?, ends((OVER.0 * 2, OVER.1), 0., 1.)))
    }),
    ("slice_set", |device| {
        let (x, y) = (marked(EXACT, DType::U8, device)?, Tensor::zeros(EXACT, DType::U8, device)?);
        y.slice_set(&x, 0, 0)?;
        Ok((y, ends(EXACT, 0., 1.)))
    }),
    ("cat-columns", |device| {
        let half = marked((1 << 16, (1 << 15) + 1), DType::U8, device)?;
        Ok((Tensor::cat(&[&half, &half], 1)?, ends((1 << 16, (1 << 16) + 2), 0., 1.)))
    }),
    ("index_select", |device| {
        let last = Tensor::new(&[MORE.0 as u32 - 1], device)?;
        Ok((marked(MORE, DType::U8, device)?.index_select(&last, 0)?, ends((1, MORE.1), 1., 1.)))
    }),
    ("gather", |device| {
        let last = Tensor::full(MORE.0 as u32 - 1, (1, MORE.1), device)?;
        Ok((marked(MORE, DType::U8, device)?.gather(&last, 0)?, ends((1, MORE.1), 1., 1.)))
    }),
    ("index_add", |device| {
        let x = marked((HALF.0 * HALF.1, 1), DType::U8, device)?;
        let first = Tensor::new(&[0_u32], device)?;
        Ok((x.index_add(&first, &x.affine(0., 1.)?, 1)?, vec![(vec![0, 0], 1.), (vec![HALF.0, 0], 1.)]))
    }),
    ("column", |device| {
        Ok((marked(MORE, DType::U8, device)?.narrow(1, 0, 1)?.contiguous()?, ends((MORE.0, 1), 0., 1.)))
    }),
    ("column-add", |device| {
        let column = marked(MORE, DType::U8, device)?.narrow(1, 0, 1)?;
        Ok(((&column + &column)?, ends((MORE.0, 1), 0., 2.)))
    }),
    ("max", |device| Ok((marked(MORE, DType::U8, device)?.max_keepdim(1)?, ends((MORE.0, 1), 0., 1.)))),
    ("max-half", |device| Ok((marked(HALF, DType::U8, device)?.max_keepdim(1)?, ends((HALF.0, 1), 0., 1.)))),
    ("matmul", |device| {
        let (column, one) =
            (marked(((1 << 32) + 2, 1), DType::F16, device)?, Tensor::ones((1, 1), DType::F16, device)?);
        Ok((column.matmul(&one)?, ends(((1 << 32) + 2, 1), 0., 1.)))
    }),
    ("softmax_last_dim", |device| {
        let each = 1. / HALF.1 as f32;
        Ok((candle_nn::ops::softmax_last_dim(&marked(HALF, DType::F16, device)?)?, ends(HALF, each, each)))
    }),
    ("rms_norm", |device| {
        let weight = Tensor::ones(HALF.1, DType::F16, device)?;
        Ok((candle_nn::ops::rms_norm(&marked(HALF, DType::F16, device)?, &weight, 1e-5)?, ends(HALF, 0., 1.)))
    }),
    ("layer_norm", |device| {
        let (weight, bias) = (Tensor::ones(HALF.1, DType::F16, device)?, Tensor::ones(HALF.1, DType::F16, device)?);
        Ok((candle_nn::ops::layer_norm(&marked(HALF, DType::F16, device)?, &weight, &bias, 1e-5)?, ends(HALF, 1., 1.)))
    }),
    ("rope_i", |device| rope(candle_nn::rotary_emb::rope_i, device)),
    ("rope", |device| rope(candle_nn::rotary_emb::rope, device)),
    ("arg_sort_last_dim", |device| {
        let shape = (HALF.0 << 5, HALF.1 >> 5);
        let last = (shape.1 - 1) as f32;
        let checked = vec![(vec![shape.0 - 1, shape.1 - 1], last)];
        let rising = Tensor::arange(0_u8, 255, device)?.pad_with_same(0, 0, 1)?.reshape((1, shape.1))?;
        let x = Tensor::zeros(shape, DType::U8, device)?;
        x.slice_set(&rising, 0, shape.0 - 1)?;
        Ok((x.arg_sort_last_dim(true)?, checked))
    }),
    ("upsample_nearest2d", |device| {
        let one = Tensor::ones((1, 1, 1, 1), DType::U8, device)?;
        Ok((one.upsample_nearest2d(MORE.0, MORE.1)?.reshape(MORE)?, ends(MORE, 1., 1.)))
    }),
    ("conv2d", |device| {
        let x = marked(MORE, DType::F16, device)?.reshape((1, 1, MORE.0, MORE.1))?;
        let one = Tensor::ones((1, 1, 1, 1), DType::F16, device)?;
        Ok((x.conv2d(&one, 0, 1, 1, 1)?.reshape(MORE)?, ends(MORE, 0., 1.)))
    }),
    ("avg_pool2d", |device| {
        let x = marked(MORE, DType::F16, device)?.reshape((1, 1, MORE.0, MORE.1))?;
        Ok((x.avg_pool2d(1)?.reshape(MORE)?, ends(MORE, 0., 1.)))
    }),
];

fn main() -> Result<()> {
    let named = std::env::args().nth(1).unwrap_or_default();
    let Some((name, call)) = CALLS.iter().find(|(name, _)| *name == named) else {
        for (name, _) in CALLS {
            println!("{name}");
        }
        return Ok(());
    };
    let device = Device::new_cuda(0)?;
    match call(&device).and_then(|(result, checked)| wrong(&result, &checked)) {
        Ok(wrong) if wrong.is_empty() => println!("{name}: right"),
        Ok(wrong) => println!("{name}: wrong: {}", wrong.join(", ")),
        Err(error) => println!("{name}: Err: {}", error.to_string().lines().next().unwrap_or_default()),
    }
    Ok(())
}

/// Zeros whose last row is ones.
fn marked((rows, columns): (usize, usize), dtype: DType, device: &Device) -> Result<Tensor> {
    let x = Tensor::zeros((rows, columns), dtype, device)?;
    x.slice_set(&Tensor::ones((1, columns), dtype, device)?, 0, rows - 1)?;
    Ok(x)
}

/// The first element of a matrix and its last one.
fn ends((rows, columns): (usize, usize), first: f32, last: f32) -> Vec<(Vec<usize>, f32)> {
    vec![(vec![0, 0], first), (vec![rows - 1, columns - 1], last)]
}

/// A rotation by nothing.
fn rope(rotated: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>, device: &Device) -> Result<Checked> {
    let (heads, width) = ((1 << 11) + 1, 1 << 10);
    let [cos, sin] = [Tensor::ones, Tensor::zeros].map(|make| make((width, width / 2), DType::F16, device));
    let x = marked((heads * width, width), DType::F16, device)?.reshape((1, heads, width, width))?;
    Ok((rotated(&x, &cos?, &sin?)?.reshape((heads * width, width))?, ends((heads * width, width), 0., 1.)))
}

/// Which elements are not what they must be.
fn wrong(result: &Tensor, checked: &[(Vec<usize>, f32)]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (place, expected) in checked {
        let mut element = result.clone();
        for (axis, &at) in place.iter().enumerate() {
            element = element.narrow(axis, at, 1)?;
        }
        // Only a copy of its own is read back, not all of the large tensor.
        let found = element.force_contiguous()?.flatten_all()?.to_dtype(DType::F32)?.to_vec1::<f32>()?[0];
        if (found - expected).abs() > expected.abs() / 100. {
            wrong.push(format!("element {place:?} is {found}, not {expected}"));
        }
    }
    Ok(wrong)
}
