//! What a tensor says about itself.

use candle_core::backend::BackendStorage;
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, D, DeviceLocation, Result, Storage, StridedBlocks, Tensor, WithDType};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::call::{candle_dtype, dtype_of, typed};
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// Shape, rank, number of elements, the dimension `axis` counted from 0, its size, and the size of the last one; `sizes` asks for no more.
/// Then whether all that it says of its order in memory, its dtype and its device is so (1), and its elements as the strides, the
/// strided index and the strided blocks find them in the storage.
pub static METADATA: Op = Op {
    name: "tensor.metadata",
    covers: &[
        "Tensor::device",
        "Tensor::dim",
        "Tensor::dims",
        "Tensor::dtype",
        "Tensor::elem_count",
        "Tensor::from_storage",
        "Tensor::id",
        "Tensor::is_contiguous",
        "Tensor::is_fortran_contiguous",
        "Tensor::is_variable",
        "Tensor::layout",
        "Tensor::normalize_axis",
        "Tensor::rank",
        "Tensor::shape",
        "Tensor::storage_and_layout",
        "Tensor::stride",
        "Tensor::strided_blocks",
        "Tensor::strided_index",
        "Tensor::track_op",
    ],
    support: &Support::both("x", &DType::ALL),
    inputs: &[ANY],
    params: &[
        ParamSpec::int("axis", 0, "A dimension, from 0, or from the end if it is negative."),
        ParamSpec::word("form", &["", "sizes"], "Everything, or only what does not depend on the elements."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(METADATA.support)?;
        let shape: Vec<usize> = draw.any_shape()?.iter().map(|&size| size.max(1)).collect();
        let shape = if shape.is_empty() { vec![1] } else { shape };
        let axis = draw.between(0, 2 * shape.len() - 1)? as i64 - shape.len() as i64;
        let case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("axis", axis);
        Ok(if draw.one_in(8)? { case.param("form", "sizes") } else { case })
    },
    contract: &|case| match case.tensor("x") {
        None => Contract::Rejects(&rule::SHAPES),
        Some(x) if x.shape.is_empty() => Contract::Unspecified("dimensions of a scalar"),
        Some(x) if x.shape.contains(&0) => Contract::Unspecified("the memory order of an empty tensor"),
        Some(x) if axis(case, x.shape.len()).is_none() => Contract::Rejects(&rule::DIM),
        Some(x) if case.text("form") == "sizes" => Contract::accepts(DType::I64, &[x.shape.len() + 5]),
        Some(x) => {
            let elements = (x.dtype, vec![x.elements().unwrap_or(0)]);
            let outputs = [(DType::I64, vec![x.shape.len() + 5]), (DType::U8, vec![6])];
            Contract::Accepts { outputs: outputs.into_iter().chain(vec![elements; 3]).collect(), refusal: None }
        }
    },
    call: &|call| {
        let x = call.tensor("x")?;
        let axis = x.normalize_axis(call.case.int("axis"))?;
        let (sizes, device) = (x.shape().dims(), x.device());
        let numbers = [x.rank(), x.elem_count(), axis, x.dim(axis)?, x.dim(D::Minus1)?];
        let numbers: Vec<i64> = sizes.iter().chain(&numbers).map(|&number| number as i64).collect();
        let numbers = Tensor::new(numbers, device)?;
        if call.case.text("form") == "sizes" {
            return Ok(vec![numbers]);
        }
        let on_host = device.location() == DeviceLocation::Cpu;
        let facts = [
            x.is_contiguous() == in_order(x),
            x.is_fortran_contiguous() == in_order(&x.permute((0..x.rank()).rev().collect::<Vec<_>>())?),
            call.case.tensor("x").is_some_and(|own| candle_dtype(own.dtype) == x.dtype() && own.shape == x.dims()),
            on_host == call.device.is_cpu() && device.same_device(call.device),
            x.id() == x.clone().id() && x.id() != x.copy()?.id(),
            !x.is_variable() && !x.track_op(),
        ];
        let mut outputs = vec![numbers, Tensor::new(&facts.map(u8::from), device)?];
        for places in [by_stride(x), x.strided_index().collect(), by_block(x)] {
            outputs.push(typed!(dtype_of(x), T => read::<T>(x, &places)?));
        }
        Ok(outputs)
    },
    source: r#"
        {% if form == "sizes" %}
        let axis = x.normalize_axis({{ axis }})?;
        let numbers = [x.rank(), x.elem_count(), axis, x.dim(axis)?, x.dim(candle_core::D::Minus1)?];
        let numbers: Vec<i64> = x.shape().dims().iter().chain(&numbers).map(|&number| number as i64).collect();
        let output = Tensor::new(numbers, &device)?;
        {% else %}
        {% set T = inputs.x.rust %}
        use candle_core::{Storage, StridedBlocks, backend::BackendStorage};
        let in_order = |x: &Tensor| {
            let start = x.layout().start_offset();
            x.strided_index().enumerate().all(|(place, found)| found == start + place)
        };
        let axis = x.normalize_axis({{ axis }})?;
        let numbers = [x.rank(), x.elem_count(), axis, x.dim(axis)?, x.dim(candle_core::D::Minus1)?];
        let numbers: Vec<i64> = x.shape().dims().iter().chain(&numbers).map(|&number| number as i64).collect();
        let facts = [
            x.is_contiguous() == in_order(&x),
            x.is_fortran_contiguous() == in_order(&x.permute((0..x.rank()).rev().collect::<Vec<_>>())?),
            x.dtype() == {{ inputs.x.dtype }},
            x.device().same_device(&device),
            x.id() == x.clone().id() && x.id() != x.copy()?.id(),
            !x.is_variable() && !x.track_op(),
        ];
        let mut by_stride = vec![x.layout().start_offset()];
        for (size, stride) in x.dims().iter().zip(x.stride()) {
            by_stride = by_stride.iter().flat_map(|place| (0..*size).map(move |at| place + at * stride)).collect();
        }
        let by_block: Vec<usize> = match x.strided_blocks() {
            StridedBlocks::SingleBlock { start_offset, len } => (start_offset..start_offset + len).collect(),
            StridedBlocks::UniformBlocks { start_offset, block_len, count, src_stride } => (0..count)
                .flat_map(|block| (0..block_len).map(move |place| start_offset + block * src_stride + place))
                .collect(),
            StridedBlocks::MultipleBlocks { block_start_index, block_len } => {
                block_start_index.flat_map(|start| start..start + block_len).collect()
            }
        };
        let mut outputs = vec![Tensor::new(numbers, &device)?, Tensor::new(&facts.map(u8::from), &device)?];
        for places in [by_stride, x.strided_index().collect(), by_block] {
            let storage = match &*x.storage_and_layout().0 {
                Storage::Cpu(storage) => storage.clone(),
                Storage::Cuda(storage) => storage.to_cpu_storage()?,
                Storage::Metal(storage) => storage.to_cpu_storage()?,
            };
            let length = storage.as_slice::<{{ T }}>()?.len();
            let none = candle_core::op::BackpropOp::none();
            let buffer = Tensor::from_storage(Storage::Cpu(storage), length, none, false).to_vec1::<{{ T }}>()?;
            outputs.push(Tensor::new(places.iter().map(|&place| buffer[place]).collect::<Vec<_>>(), &device)?);
        }
        {% endif %}
    "#,
    // PyTorch's storage is bytes.
    torch: "",
    reference: Some(&|inputs| {
        let (x, exact) = (inputs.spread("x"), |number: usize| Num::exact(number as f64));
        let x = x.view();
        let (shape, axis) = (x.shape(), axis(inputs.case, x.ndim()).unwrap_or(0));
        let numbers = [x.ndim(), x.len(), axis, shape[axis], shape[x.ndim() - 1]];
        let numbers: Vec<Num> = shape.iter().chain(&numbers).map(|&number| exact(number)).collect();
        let one = |list: Vec<Num>| ArrayD::from_shape_vec(IxDyn(&[list.len()]), list).expect("one dimension");
        if inputs.case.text("form") == "sizes" {
            return vec![one(numbers)];
        }
        let elements = one(x.iter().copied().collect());
        vec![one(numbers), one(vec![exact(1); 6]), elements.clone(), elements.clone(), elements]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:592-614, 1943-1955, 2054-2109, 2348-2356, 2778-2813 (the documentation of \
              each); a negative axis as in torch.Tensor.size",
};

/// The dimension that the param names, from 0; `None` if a tensor of this rank lacks it.
fn axis(case: &Case, rank: usize) -> Option<usize> {
    let (axis, rank) = (case.int("axis"), rank as i64);
    (-rank..rank).contains(&axis).then(|| axis.rem_euclid(rank) as usize)
}

/// Whether the elements of `x`, in their order, follow each other in memory.
fn in_order(x: &Tensor) -> bool {
    let start = x.layout().start_offset();
    x.strided_index().enumerate().all(|(place, found)| found == start + place)
}

/// The place of each element in the storage, from the strides.
fn by_stride(x: &Tensor) -> Vec<usize> {
    let start = vec![x.layout().start_offset()];
    x.dims().iter().zip(x.stride()).fold(start, |places, (&size, &stride)| {
        places.iter().flat_map(|place| (0..size).map(move |at| place + at * stride)).collect()
    })
}

/// The place of each element in the storage, from the blocks.
fn by_block(x: &Tensor) -> Vec<usize> {
    match x.strided_blocks() {
        StridedBlocks::SingleBlock { start_offset, len } => (start_offset..start_offset + len).collect(),
        StridedBlocks::UniformBlocks { start_offset, block_len, count, src_stride } => {
            let starts = (0..count).map(|block| start_offset + block * src_stride);
            starts.flat_map(|start| start..start + block_len).collect()
        }
        StridedBlocks::MultipleBlocks { block_start_index, block_len } => {
            block_start_index.flat_map(|start| start..start + block_len).collect()
        }
    }
}

/// The elements at these places of the storage of `x`.
fn read<T: WithDType>(x: &Tensor, places: &[usize]) -> Result<Tensor> {
    let storage: CpuStorage = match &*x.storage_and_layout().0 {
        Storage::Cpu(storage) => storage.clone(),
        Storage::Cuda(storage) => storage.to_cpu_storage()?,
        Storage::Metal(storage) => storage.to_cpu_storage()?,
    };
    let length = storage.as_slice::<T>()?.len();
    let buffer = Tensor::from_storage(Storage::Cpu(storage), length, BackpropOp::none(), false).to_vec1::<T>()?;
    Tensor::new(places.iter().map(|&place| buffer[place]).collect::<Vec<T>>(), x.device())
}
