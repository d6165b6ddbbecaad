//! Compute capabilities below the one that the workers are built for: dtypes without kernels, and workers of their own.

use std::process::Command;

use snuffer::case::Case;
use snuffer::run::lacks_kernel;

/// What cudarc says of a kernel that a module does not have.
const NOT_FOUND: &str = "DriverError(CUDA_ERROR_NOT_FOUND, \"named symbol not found\")";

fn case(dtype: &str, to: &str) -> Case {
    let text = format!(
        "op = \"tensor.to_dtype\"\n[params]\nto = \"{to}\"\n[inputs.x]\ndtype = \"{dtype}\"\nshape = [1]\nvalues = {{ list = [1] }}\n"
    );
    Case::parse(&text).expect("a case")
}

#[test]
fn a_missing_kernel_is_a_limit_only_of_the_dtypes_that_candle_compiles_later() {
    for (dtype, to, capability, message, since) in [
        ("bf16", "f32", (7, 5), NOT_FOUND, Some("8.0")),
        ("f32", "bf16", (7, 5), NOT_FOUND, Some("8.0")),
        ("bf16", "f32", (8, 0), NOT_FOUND, None),
        ("f8e4m3", "f32", (8, 6), NOT_FOUND, Some("8.9")),
        ("f8e4m3", "f32", (8, 9), NOT_FOUND, None),
        ("f8e4m3", "bf16", (8, 6), NOT_FOUND, Some("8.9")),
        ("f32", "f16", (7, 5), NOT_FOUND, None),
        ("bf16", "f32", (7, 5), "unsupported dtype BF16 for op conv2d", None),
        ("bf16", "f32", (7, 5), "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")", None),
    ] {
        let lacks = lacks_kernel(message, &case(dtype, to), capability);
        let said = since.map(|since| format!("from compute capability {since} on"));
        let fits = said.as_deref().map_or(lacks.is_none(), |said| lacks.as_ref().is_some_and(|why| why.contains(said)));
        assert!(fits, "{dtype} to {to} on {capability:?}, {message}: {lacks:?}");
    }
}

#[test]
fn a_capability_without_a_worker_is_a_line_that_says_how_to_build_it() {
    let case = "corpora/regressions/loss.nll/max-label-accepted/case.toml";
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.args(["replay", case, "--device", "sim:0"]).env("SNUFFER_SIM_CAPABILITY", "5.5");
    let output =
        command.env_remove("SNUFFER_WORKER_CUDA").current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("build it with `cargo xtask build --capability 5.5`"), "{stderr}");
    assert_eq!(stderr.trim().lines().count(), 1, "{stderr}");
}
