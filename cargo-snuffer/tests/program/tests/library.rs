//! A test that launches no kernel of its own but calls cuBLAS, and one that does nothing.

use cudarc::cublas::{Asum, AsumConfig, CudaBlas};
use cudarc::driver::CudaContext;

#[test]
fn a_library_sums() {
    let stream = CudaContext::new(0).unwrap().default_stream();
    let numbers = stream.clone_htod(&[1.0_f32, -2.0, 3.0]).unwrap();
    let mut sum = 0.0;
    // SAFETY: there are three numbers.
    unsafe { CudaBlas::new(stream).unwrap().asum(AsumConfig { n: 3, incx: 1 }, &numbers, &mut sum) }.unwrap();
    assert_eq!(sum, 6.0);
}

#[test]
fn nothing_is_done() {}
