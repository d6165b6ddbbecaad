//! Tensors of raw bytes.

use std::path::Path;

use candle_core::{CpuStorage, DType as Candle, Device, Error, Result, Storage, Tensor, safetensors};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::unaligned::{UNALIGNED, at_address};
use crate::ops::{Call, Contract, Op, rule, why};
use crate::tensor::{DType, Support, product};

/// `Tensor::from_raw_buffer(bytes, dtype, shape, device)`, and its bytes as they are stored; or first `slice_set` into
/// a tensor of zeros, or saved to a file and loaded.
pub static FROM_RAW_BUFFER: Op = Op {
    name: "create.from_raw_buffer",
    covers: &["Tensor::from_raw_buffer", "Tensor::save_safetensors"],
    support: &Support::both("bytes", &[DType::U8]),
    inputs: &[InputSpec::new("bytes", "the bytes of all elements, u8")],
    params: &[
        ParamSpec::word("dtype", NAMES, "The dtype of the tensor."),
        ParamSpec::sizes("sizes", "The shape of the tensor."),
        ParamSpec::word(
            "then",
            THEN,
            "The call after it: none, `slice_set` into zeros along the first dimension, or `save_safetensors` and `load`.",
        ),
        UNALIGNED,
    ],
    generate: &|draw| {
        let (name, bits, _) = *draw.choose(DTYPES)?;
        let mut sizes = vec![draw.positive()?, draw.size()?];
        // Whole bytes.
        sizes[0] = if (sizes[0] * sizes[1] * bits).is_multiple_of(8) { sizes[0] } else { sizes[0] * 4 };
        let mut length = product(&sizes).unwrap_or(0) * bits / 8;
        if draw.one_in(24)? {
            length = if draw.one_in(2)? { length / 2 } else { length + draw.between(1, 3)? };
        }
        let case = Case::default().input("bytes", draw.tensor(DType::U8, &[length])?);
        let case = case.param("dtype", name).param("sizes", sizes).param("then", *draw.choose(THEN)?);
        Ok(if draw.one_in(2)? { case.param("unaligned", 1_usize) } else { case })
    },
    contract: &|case| {
        let (Some(bytes), sizes) = (case.tensor("bytes"), case.sizes("sizes")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if bytes.dtype != DType::U8 {
            return Contract::Unspecified(why::NO_CALL);
        }
        let Some(whole) = product(&sizes).and_then(|count| count.checked_mul(bits(case))) else {
            return Contract::Rejects(&rule::TOO_MANY);
        };
        if !whole.is_multiple_of(8) {
            return Contract::Unspecified("elements that end within a byte");
        }
        let length = bytes.elements().unwrap_or(usize::MAX);
        if !packed(case) && length > MOST && !length.is_multiple_of(bits(case) / 8) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        if length != whole / 8 {
            return Contract::Rejects(&rule::ELEMENTS);
        }
        if sizes.is_empty() && case.text("then") == "set" {
            return Contract::Rejects(&rule::DIM);
        }
        let contract = Contract::accepts(DType::U8, &[whole / 8]);
        contract.may_refuse(packed(case) && case.text("then") != "read", why::DTYPE)
    },
    call: &|call| Ok(vec![Tensor::new(stored(&made(call)?)?, call.device)?]),
    source: r#"
        {% set flat = "" if inputs.bytes.shape|length == 1 else ".flatten_all()?" %}
        let bytes = bytes{{ to_host }}{{ flat }}.to_vec1::<u8>()?;
        {% include "unaligned" %}
        {% set name = "source" if then == "set" else "made" %}
        let {{ name }} = Tensor::from_raw_buffer(&bytes, DType::{{ dtype|upper }}, &{{ sizes }}, &device)?;
        {% if then == "set" %}
        let zeros = vec![0; bytes.len()];
        let made = Tensor::from_raw_buffer(&zeros, DType::{{ dtype|upper }}, &{{ sizes }}, &device)?;
        made.slice_set(&source, 0, 0)?;
        {% elif then == "save" %}
        let path = std::env::temp_dir().join(format!("bytes-{}", std::process::id()));
        made.save_safetensors("made", &path)?;
        let made = candle_core::safetensors::load(&path, &device)?.remove("made").expect("it was saved");
        std::fs::remove_file(&path)?;
        {% endif %}
        {% if dtype not in ["f4", "f6e2m3", "f6e3m2", "f8e8m0"] %}
        let mut stored = Vec::new();
        made.write_bytes(&mut stored)?;
        {% elif cuda %}
        let stored = match &*made.storage_and_layout().0 {
            candle_core::Storage::Cuda(storage) => match &storage.slice {
                candle_core::cuda_backend::CudaStorageSlice::{{ dtype|upper }}(bytes) => storage.device.clone_dtoh(bytes)?,
                _ => candle_core::bail!("another dtype"),
            },
            _ => candle_core::bail!("another device"),
        };
        {% else %}
        let stored = match &*made.storage_and_layout().0 {
            candle_core::Storage::Cpu(candle_core::CpuStorage::{{ dtype|upper }}(bytes)) => bytes.clone(),
            _ => candle_core::bail!("another dtype"),
        };
        {% endif %}
        Tensor::new(stored, &device)?
    "#,
    // PyTorch has one dtype for two packed numbers, so that shapes differ.
    torch: "",
    reference: Some(&|inputs| {
        let bytes = inputs.array("bytes");
        vec![ArrayD::from_shape_vec(IxDyn(&[bytes.len()]), bytes.iter().copied().collect()).expect("each byte")]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "the format of safetensors (as many bytes as elements of that many bits); torch.frombuffer rejects bytes that are not whole \
              elements, and too few; torch.Tensor.copy_",
};

/// The calls after the tensor is made.
const THEN: &[&str] = &["read", "set", "save"];

/// The dtypes, each with its bits and its name in candle.
const DTYPES: &[(&str, usize, Candle)] = &[
    ("f32", 32, Candle::F32),
    ("f16", 16, Candle::F16),
    ("u8", 8, Candle::U8),
    ("f64", 64, Candle::F64),
    ("f8e8m0", 8, Candle::F8E8M0),
    ("f6e2m3", 6, Candle::F6E2M3),
    ("f6e3m2", 6, Candle::F6E3M2),
    ("f4", 4, Candle::F4),
];

/// Their names.
const NAMES: &[&str] = &{
    let mut names = [""; DTYPES.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = DTYPES[place].0;
        place += 1;
    }
    names
};

/// The most bytes that are tried if they are not whole elements. candle copies all of them into room for whole ones. Of so few bytes the
/// rest lies in what an allocator rounds up; of more it is somebody else's, and the process dies later, in another call.
const MOST: usize = 23;

/// The bits of an element.
fn bits(case: &Case) -> usize {
    DTYPES.iter().find(|(name, ..)| *name == case.text("dtype")).map_or(8, |(_, bits, _)| *bits)
}

/// True for the microscaling formats, which candle stores without knowing their numbers.
fn packed(case: &Case) -> bool {
    DType::named(case.text("dtype")).is_none()
}

/// The tensor whose bytes are read.
fn made(call: &Call) -> Result<Tensor> {
    let (sizes, name) = (call.case.sizes("sizes"), call.case.text("dtype"));
    let dtype = DTYPES.iter().find(|(own, ..)| *own == name).map_or(Candle::U8, |(.., dtype)| *dtype);
    let bytes = call.tensor("bytes")?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<u8>()?;
    let of = |bytes: &[u8]| {
        let make = |bytes: &[u8]| Tensor::from_raw_buffer(bytes, dtype, &sizes, call.device);
        at_address(bytes, call.flag("unaligned"), make)
    };
    let made = of(&bytes)?;
    match call.case.text("then") {
        "set" => {
            let zeros = of(&vec![0; bytes.len()])?;
            zeros.slice_set(&made, 0, 0)?;
            Ok(zeros)
        }
        "save" => {
            let path = std::env::temp_dir().join(format!("snuffer-bytes-{}", std::process::id()));
            let loaded = saved(&made, &path);
            // A call that is refused may have made no file.
            let _ = std::fs::remove_file(&path);
            loaded
        }
        _ => Ok(made),
    }
}

/// A tensor, saved to a file and loaded.
fn saved(made: &Tensor, path: &Path) -> Result<Tensor> {
    made.save_safetensors("made", path)?;
    let loaded = safetensors::load(path, made.device())?.remove("made");
    loaded.ok_or_else(|| Error::Msg("the file lacks the tensor".to_string()))
}

/// The bytes that a tensor of its own storage has there.
fn stored(tensor: &Tensor) -> Result<Vec<u8>> {
    let storage = tensor.storage_and_layout().0;
    match &*storage {
        Storage::Cpu(
            CpuStorage::F4(bytes) | CpuStorage::F6E2M3(bytes) | CpuStorage::F6E3M2(bytes) | CpuStorage::F8E8M0(bytes),
        ) => return Ok(bytes.clone()),
        #[cfg(feature = "cuda")]
        Storage::Cuda(storage) => {
            use candle_core::cuda_backend::CudaStorageSlice as Slice;
            if let Slice::F4(bytes) | Slice::F6E2M3(bytes) | Slice::F6E3M2(bytes) | Slice::F8E8M0(bytes) =
                &storage.slice
            {
                return storage.device.clone_dtoh(bytes);
            }
        }
        _ => {}
    }
    drop(storage);
    let mut bytes = Vec::new();
    tensor.write_bytes(&mut bytes)?;
    Ok(bytes)
}
