//! Tensors in files and buffers.

use candle_core::{Device, Result, Tensor, safetensors};

use crate::case::ParamSpec;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{case_in_form, elementwise};
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::{Call, Op};
use crate::tensor::DType;

const FORMS: &[&str] = &["npy", "npz", "npz by name", "safetensors", "bytes"];

/// `x` written to a file, or to a buffer, and read again: the same values.
pub static FILE: Op = Op {
    name: "tensor.file",
    covers: &[
        "Tensor::from_raw_buffer",
        "Tensor::read_npy",
        "Tensor::read_npz",
        "Tensor::read_npz_by_name",
        "Tensor::save_safetensors",
        "Tensor::write_bytes",
        "Tensor::write_npy",
        "Tensor::write_npz",
    ],
    support: COPIES,
    inputs: &[ANY],
    params: &[ParamSpec::word("form", FORMS, "The format.")],
    generate: &|draw| case_in_form(draw, COPIES, FORMS),
    contract: &|case| {
        let lacks = case.has_dtype(DType::Bf16) || case.has_dtype(DType::F8e4m3);
        let is_numpy = !matches!(case.text("form"), "safetensors" | "bytes");
        elementwise(case).may_refuse(lacks && is_numpy, "NumPy lacks the dtype")
    },
    call: &|call| {
        let path = std::env::temp_dir().join(format!("snuffer-tensor-{}", std::process::id()));
        let read = through(call, &path);
        // A call that is refused may have made no file.
        let _ = std::fs::remove_file(&path);
        Ok(vec![read?.to_device(call.device)?])
    },
    source: r#"
        {% if form == "bytes" %}
        let mut bytes = Vec::new();
        x.write_bytes(&mut bytes)?;
        Tensor::from_raw_buffer(&bytes, x.dtype(), x.dims(), &device)?
        {% else %}
        let path = std::env::temp_dir().join(format!("tensor-{}", std::process::id()));
        {% if form == "npy" %}
        x.write_npy(&path)?;
        let read = Tensor::read_npy(&path)?;
        {% elif form == "safetensors" %}
        x.save_safetensors("x", &path)?;
        let read = candle_core::safetensors::load(&path, &device)?.remove("x").expect("it was saved");
        {% else %}
        Tensor::write_npz(&[("x", &x)], &path)?;
        {% if form == "npz" %}
        let read = Tensor::read_npz(&path)?.remove(0).1;
        {% else %}
        let read = Tensor::read_npz_by_name(&path, &["x"])?.remove(0);
        {% endif %}
        {% endif %}
        std::fs::remove_file(&path)?;
        read.to_device(&device)?
        {% endif %}
    "#,
    // PyTorch has other formats.
    torch: "",
    reference: Some(&|inputs| vec![inputs.array("x")]),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/npy.rs:1-28, 270-366, safetensors.rs:105-115, 208-222, convert.rs:102-150; NumPy's \
              npy format and the format of safetensors: the bits of each element",
};

/// `x`, read from where it was written.
fn through(call: &Call, path: &std::path::Path) -> Result<Tensor> {
    let x = call.tensor("x")?;
    match call.case.text("form") {
        "bytes" => {
            let mut bytes = Vec::new();
            x.write_bytes(&mut bytes)?;
            Tensor::from_raw_buffer(&bytes, x.dtype(), x.dims(), call.device)
        }
        "safetensors" => {
            x.save_safetensors("x", path)?;
            let read = safetensors::load(path, &Device::Cpu)?.remove("x");
            read.ok_or_else(|| candle_core::Error::Msg("the file lacks x".to_string()))
        }
        "npz" => {
            Tensor::write_npz(&[("x", x)], path)?;
            Ok(Tensor::read_npz(path)?.remove(0).1)
        }
        "npz by name" => {
            Tensor::write_npz(&[("x", x)], path)?;
            Ok(Tensor::read_npz_by_name(path, &["x"])?.remove(0))
        }
        _ => {
            x.write_npy(path)?;
            Tensor::read_npy(path)
        }
    }
}
