//! Generates the kernel around an instruction and launches it.

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};
use candle_core::{CudaDevice, DType, Device, Error, Result, Tensor};

/// An instruction, or a few, with the types of operands and results.
pub struct Instruction {
    pub code: String,
    pub from: String,
    pub to: String,
}

/// How a type is kept: a predicate, or a register of so many bits. Bytes are in words.
fn register(name: &str) -> Option<u32> {
    Some(match name {
        "pred" => return None,
        "f16" | "bf16" | "e4m3x2" => 16,
        "f16x2" | "bf16x2" => 32,
        _ => name
            .trim_start_matches(|c: char| c.is_ascii_alphabetic())
            .parse::<u32>()
            .ok()
            .map_or(32, |bits| if bits < 16 { 32 } else { bits }),
    })
}

impl Instruction {
    /// Runs the instruction on each row of `x`, which has the bits of its operands. Returns the bits of the results, a row each.
    #[allow(unsafe_code, reason = "a launch is unsafe: the kernel gets pointers")]
    pub fn run(&self, x: &Tensor, device: &CudaDevice) -> Result<Tensor> {
        let ([rows, operands], results) = (x.dims2().map(|(rows, operands)| [rows, operands])?, self.to().count());
        if operands != self.from().count() || rows == 0 || rows % 32 != 0 {
            return Err(Error::Msg(format!("{rows} rows of {operands} operands do not fit `{}`", self.code)));
        }
        let (major, minor) = device.cuda_stream().context().compute_capability().w()?;
        let text = self.kernel(10 * major + minor);
        let function = device.get_or_load_custom_func("k", &self.code, &text)?;
        let operands = x.flatten_all()?.to_device(&Device::Cpu)?.to_vec1::<i64>()?;
        let (from, to) = (device.clone_htod(&operands)?, device.alloc_zeros::<i64>(rows * results)?);
        let mut builder = function.builder();
        builder.arg(&from).arg(&to);
        let warps = LaunchConfig { grid_dim: (rows as u32 / 32, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the parameters are pointers, as the kernel declares, and each thread stays in its own row of both.
        unsafe { builder.launch(warps) }.w()?;
        Tensor::from_vec(device.clone_dtoh(&to)?, (rows, results), &Device::Cpu)?.to_dtype(DType::I64)
    }

    fn from(&self) -> impl Iterator<Item = (String, Option<u32>)> {
        self.from.split(' ').enumerate().map(|(number, name)| (format!("%a{number}"), register(name)))
    }

    fn to(&self) -> impl Iterator<Item = (String, Option<u32>)> {
        self.to.split(' ').enumerate().map(|(number, name)| (format!("%d{number}"), register(name)))
    }

    /// The kernel for a device of this compute capability.
    fn kernel(&self, capability: i32) -> String {
        // The first version with the target: later ones would need a newer driver.
        let version = if capability >= 100 { "8.6" } else { "7.8" };
        let mut text = format!(".version {version}\n.target sm_{capability}\n.address_size 64\n");
        text += ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n.reg .b32 %i<4>;\n.reg .b64 %l<4>;\n";
        for (name, bits) in self.from().chain(self.to()) {
            text += &bits.map_or_else(|| format!(".reg .pred {name};\n"), |bits| format!(".reg .b{bits} {name};\n"));
        }
        text += "mov.u32 %i0, %ctaid.x;\nmov.u32 %i1, %ntid.x;\nmov.u32 %i2, %tid.x;\nmad.lo.s32 %i3, %i0, %i1, %i2;\n";
        for (number, (param, words)) in [("from", self.from().count()), ("to", self.to().count())].iter().enumerate() {
            text += &format!("ld.param.u64 %l{number}, [{param}];\nmul.wide.s32 %l2, %i3, {};\n", 8 * words);
            text += &format!("add.s64 %l{number}, %l{number}, %l2;\n");
        }
        for (number, (name, bits)) in self.from().enumerate() {
            let at = 8 * number;
            text += &match bits {
                None => format!("ld.global.u32 %i0, [%l0+{at}];\nsetp.ne.s32 {name}, %i0, 0;\n"),
                Some(bits) => format!("ld.global.b{bits} {name}, [%l0+{at}];\n"),
            };
        }
        text += &self.code;
        for (number, (name, bits)) in self.to().enumerate() {
            let at = 8 * number;
            text += &match bits {
                None => format!("\nselp.b32 %i0, 1, 0, {name};\nst.global.b32 [%l1+{at}], %i0;"),
                Some(bits) => format!("\nst.global.b{bits} [%l1+{at}], {name};"),
            };
        }
        text + "\nret;\n}\n"
    }
}
