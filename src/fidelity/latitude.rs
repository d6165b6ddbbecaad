//! What the documents leave open: which instructions and libraries may give other bits, by how much, and where that is written.

use std::collections::BTreeSet;

/// What one instruction, or one library, may do differently on two devices that both keep to their documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latitude {
    /// How the names of the forms begin, or of the library's functions.
    pub of: &'static str,
    /// What else such a name must have in it.
    having: &'static str,
    /// What is left open, in words.
    pub words: &'static str,
    /// Where that is documented.
    pub source: &'static str,
    /// The error of a single instruction.
    pub error: Error,
}

/// The documented error of a single instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Error {
    /// Units in the last place.
    Ulps(f64),
    /// A share of the result.
    Relative(f64),
    /// The same for all results.
    Absolute(f64),
    /// A share of the result, and absolute for results that are less than 1.
    Logarithm(f64),
    /// No number is documented.
    Undocumented,
}

const fn form(of: &'static str, having: &'static str, words: &'static str, at: &'static str, error: Error) -> Latitude {
    Latitude { of, having, words, source: at, error }
}

const FUSED: &str = "a product and a sum without rounding modifiers may be fused";

const MATRICES: &str = "matrix products add in any order, in at least single precision";

/// Everything that is left open and that candle's kernels have. `simulator/src/jitter.rs` varies just this.
pub const LATITUDES: [Latitude; 22] = [
    form("ex2.approx", "bf16", "a relative error of 2^-7", "PTX ISA 9.7.4.11", Error::Relative(1.0 / 128.0)),
    form("ex2.approx", "f16", "a relative error of 2^-9.9", "PTX ISA 9.7.4.11", Error::Relative(1.047e-3)),
    form("ex2.approx", "f32", "at most 2 ulp from the correctly rounded result", "PTX ISA 9.7.3.21", Error::Ulps(2.0)),
    form(
        "lg2.approx",
        "f32",
        "an absolute error of 2^-22 for operands in (0.5, 2), else a relative one of 2^-22",
        "PTX ISA 9.7.3.20",
        Error::Logarithm(1.0 / 4_194_304.0),
    ),
    form("sin.approx", "f32", CIRCULAR, "PTX ISA 9.7.3.18", Error::Undocumented),
    form("cos.approx", "f32", CIRCULAR, "PTX ISA 9.7.3.19", Error::Undocumented),
    form("tanh.approx", "bf16", "an absolute error of 2^-8", "PTX ISA 9.7.4.10", Error::Absolute(1.0 / 256.0)),
    form("tanh.approx", "f16", "an absolute error of 2^-10.987", "PTX ISA 9.7.4.10", Error::Absolute(4.927e-4)),
    form("tanh.approx", "f32", "a relative error of 2^-11", "PTX ISA 9.7.3.22", Error::Relative(1.0 / 2048.0)),
    form("rcp.approx", "f32", "at most 1 ulp", "PTX ISA 9.7.3.13", Error::Ulps(1.0)),
    form("rcp.approx", "f64", "a gross approximation, without a bound", "PTX ISA 9.7.3.14", Error::Undocumented),
    form("rsqrt.approx", "f32", "a relative error of 2^-22.9", "PTX ISA 9.7.3.16", Error::Relative(1.277_6e-7)),
    form("rsqrt.approx", "f64", "an approximation, without a bound", "PTX ISA 9.7.3.17", Error::Undocumented),
    form("sqrt.approx", "f32", "a relative error of 2^-23", "PTX ISA 9.7.3.15", Error::Relative(1.0 / 8_388_608.0)),
    form("div.", "f32", "`.approx` and `.full`: at most 2 ulp", "PTX ISA 9.7.3.8", Error::Ulps(2.0)),
    form("atom.", "f", "atomic additions of floats have no order", "PTX ISA 9.7.13.5 and 8.10", Error::Undocumented),
    form("mul.", "16+", FUSED, "PTX ISA 9.7.4.1 to 9.7.4.3", Error::Undocumented),
    form("mul.", "16x2+", FUSED, "PTX ISA 9.7.4.1 to 9.7.4.3", Error::Undocumented),
    form("mul.", "+", FUSED, "PTX ISA 9.7.3.3 to 9.7.3.5", Error::Undocumented),
    form("mma.", ".f", MATRICES, "PTX ISA 9.7.15.5.14", Error::Undocumented),
    form("wmma.mma.", ".f", MATRICES, "PTX ISA 9.7.15.4.5", Error::Undocumented),
    form("cublas", "", "sums in any order, fused or not", "cuBLAS, Results Reproducibility", Error::Undocumented),
];

const CIRCULAR: &str =
    "an absolute error of 2^-20.5 for operands within ±2π, of 2^-14.7 within ±100π, and without a bound beyond";

/// The functions of cuRAND: the simulated device has other random numbers.
pub const RANDOM: &str = "curand";

impl Latitude {
    /// What is left open of the form, or of the library's function, of this name.
    pub fn of(name: &str) -> Option<Self> {
        // `div.rn` and `atom.add.u32` are exact.
        let exact = [".rn", ".rz", ".rm", ".rp", ".u32", ".u64", ".s32", ".b16", ".b32", ".b64"];
        let is_exact = !name.contains('+') && exact.iter().any(|part| name.contains(part));
        let is_its = |latitude: &&Self| name.starts_with(latitude.of) && name.contains(latitude.having) && !is_exact;
        LATITUDES.iter().find(is_its).copied()
    }

    /// How far a result may be from the exact one, whose nearest number is `result` and whose unit in the last place is `ulp`.
    /// Both devices round, by half a unit each.
    pub fn allows(&self, result: f64, ulp: f64) -> Option<f64> {
        Some(match self.error {
            Error::Ulps(ulps) => ulps * ulp,
            Error::Absolute(error) => error + ulp,
            Error::Relative(error) => error * result.abs() + ulp,
            Error::Logarithm(error) => error * result.abs().max(1.0) + ulp,
            Error::Undocumented => return None,
        })
    }
}

/// What is left open of any of `names`, in words, each once.
pub fn words<'a>(names: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let said = |name: &String| {
        Latitude::of(name).map(|latitude| format!("`{name}`: {} ({})", latitude.words, latitude.source))
    };
    let words: BTreeSet<String> = names.into_iter().filter_map(said).collect();
    words.into_iter().collect()
}
