//! Picks elements by index on a CUDA device, without a check.

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

/// `picked[i] = values[places[i]]`, a block for each element.
const PICK: &str = "
.version 8.0
.target sm_80
.address_size 64

.visible .entry pick(.param .u64 values, .param .u64 places, .param .u64 picked) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [values];
    ld.param.u64 %rd2, [places];
    ld.param.u64 %rd3, [picked];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd5, %rd2, %rd4;
    ld.global.u32 %r2, [%rd5];
    mul.wide.u32 %rd6, %r2, 4;
    add.s64 %rd6, %rd1, %rd6;
    ld.global.u32 %r2, [%rd6];
    add.s64 %rd7, %rd3, %rd4;
    st.global.u32 [%rd7], %r2;
    ret;
}
";

/// The elements of `values` at `places`.
///
/// ```
/// // The error is dropped.
/// let _ = program::pick(&[10, 20, 30], &[1 << 20]);
/// ```
pub fn pick(values: &[u32], places: &[u32]) -> Result<Vec<u32>, DriverError> {
    let stream = CudaContext::new(0)?.default_stream();
    let kernel = stream.context().load_module(Ptx::from_src(PICK))?.load_function("pick")?;
    let (values, places_there) = (stream.clone_htod(values)?, stream.clone_htod(places)?);
    let mut picked = stream.alloc_zeros::<u32>(places.len())?;
    let blocks = u32::try_from(places.len()).expect("few");
    let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&values).arg(&places_there).arg(&mut picked);
    // SAFETY: not at all if a place is outside of `values`. That is what the tests are about.
    unsafe { launch.launch(config)? };
    stream.clone_dtoh(&picked)
}
