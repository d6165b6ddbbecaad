//! Known bugs of candle in the functions that a program goes through. `known_bugs.toml` has them; snuffer's causes are the source.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;

/// At most this many are shown, those first that hit most people.
const SHOWN: usize = 6;

static KNOWN: LazyLock<Known> =
    LazyLock::new(|| toml::from_str(include_str!("known_bugs.toml")).expect("a test reads it"));

#[derive(Deserialize)]
struct Known {
    /// The release of candle that has them.
    candle: String,
    bug: Vec<Bug>,
}

#[derive(Deserialize)]
struct Bug {
    name: String,
    title: String,
    /// Where it is: a file and a function, such as `candle-nn/src/ops.rs softmax_last_dim`.
    at: Vec<String>,
    /// The dtypes that have it; all if there are none.
    dtypes: Vec<String>,
    /// The workaround.
    instead: String,
}

/// The names of the bugs of `function` in `file`, from where `kernel` was launched.
pub fn met(kernel: &str, file: &str, function: &str) -> impl Iterator<Item = String> {
    // A kernel names the dtypes of its inputs: `is_u8_f32`, `ucopy_f8_e4m3`.
    let words = kernel.replace("f8_e4m3", "f8e4m3");
    let has_dtype = move |bug: &&Bug| {
        bug.dtypes.is_empty() || bug.dtypes.iter().any(|own| words.split('_').any(|word| word == own))
    };
    let is_at = move |bug: &&Bug| bug.at.iter().any(|at| is_there(at, kernel, file, function));
    KNOWN.bug.iter().filter(has_dtype).filter(is_at).map(|bug| bug.name.clone())
}

/// True if a call in `file` is in the place `at`, or launched a kernel that is.
fn is_there(at: &str, kernel: &str, file: &str, function: &str) -> bool {
    let Some((place, name)) = at.split_once(' ') else { return false };
    let Some((package, path)) = place.split_once('/') else { return false };
    let in_package = |package: &str, path: &str| file.ends_with(&format!("/{package}-{}/{path}", KNOWN.candle));
    if package == "candle-kernels" {
        let is_candle = file.contains(&format!("/candle-core-{}/", KNOWN.candle));
        return is_candle
            && kernel
                .strip_prefix(name.trim_end_matches('_'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    }
    let mut words = function.split(|c: char| !c.is_alphanumeric() && c != '_');
    in_package(package, path) && name.split("::").all(|part| words.any(|word| word == part))
}

/// The bugs with these names, for people.
pub fn text(names: &BTreeSet<&str>) -> String {
    let met: Vec<&Bug> = KNOWN.bug.iter().filter(|bug| names.contains(bug.name.as_str())).collect();
    if met.is_empty() {
        return String::new();
    }
    let mut text = format!("\nKnown bugs of candle {} in functions that it calls:\n", KNOWN.candle);
    for Bug { name, title, instead, .. } in met.iter().take(SHOWN) {
        let _ = writeln!(text, "  {title}\n    instead: {instead}\n    more: snuffer causes {name}");
    }
    if let Some(rest @ 1..) = met.len().checked_sub(SHOWN) {
        let _ = writeln!(text, "  and {rest} more; `--json FILE` has all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, met};

    #[test]
    fn a_bug_is_met_in_its_file_by_its_function_or_its_kernel_and_in_its_dtype() {
        const OPS: &str = "/cargo/registry/src/index/candle-nn-0.11.1/src/ops.rs";
        const CORE: &str = "/cargo/registry/src/index/candle-core-0.11.1/src/tensor.rs";
        const CUDA: &str = "/cargo/registry/src/index/candle-core-0.11.1/src/cuda_backend/mod.rs";
        let (strided_ids, views_of_f8) =
            ("index-select-on-cuda-ignores-the-strides-of-its", "views-of-f8e4m3-cannot-be-copied-on-cuda");
        let slow_softmax = "softmax-last-dim-rounds-its-exponentials-to-f16";
        for (kernel, file, function, name, is_met) in [
            ("bmul_f32", CORE, "candle_core::tensor::Tensor::pow", "a-power-of-0-or-of-a-negative-number-is-nan", true),
            (
                "bmul_f32",
                CORE,
                "candle_core::tensor::Tensor::powf",
                "a-power-of-0-or-of-a-negative-number-is-nan",
                false,
            ),
            ("bmul_f32", OPS, "candle_core::tensor::Tensor::pow", "a-power-of-0-or-of-a-negative-number-is-nan", false),
            ("softmax_f16", CORE, "candle_core::tensor::Tensor::apply_op1", slow_softmax, true),
            ("softmax_f32", CORE, "candle_core::tensor::Tensor::apply_op1", slow_softmax, false),
            ("softmax_f16", "/home/me/softmax.rs", "mine::softmax", slow_softmax, false),
            (
                "cast_f32_i64",
                CORE,
                "candle_core::tensor::Tensor::to_dtype",
                "casts-out-of-range-give-other-integers-on-cuda",
                true,
            ),
            ("is_u8_f32", CUDA, "<candle_core::cuda_backend::IndexSelect as Map1>::f", strided_ids, true),
            ("ucopy_f8_e4m3", CUDA, "<CudaStorage as BackendStorage>::copy_strided_src", views_of_f8, true),
            ("ucopy_f16", CUDA, "<CudaStorage as BackendStorage>::copy_strided_src", views_of_f8, false),
        ] {
            let found = met(kernel, file, function).any(|bug| bug == name);
            assert_eq!(found, is_met, "{kernel} from {function} in {file}: {name}");
        }
        assert!(KNOWN.bug.len() > 30, "only {} bugs", KNOWN.bug.len());
    }
}
