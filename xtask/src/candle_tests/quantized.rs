//! Products with quantized matrices on the kernels of candle's module `quantized`, which it prefers others to, compared
//! with the CPU backend.

use candle_core::quantized::cuda::set_force_dmmv;
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor};

/// The mean error, relative to the result, that candle's tests of quantized products allow.
const TOLERANCE: f32 = 0.02;

/// Compares products with `rows` rows, of a matrix whose rows are two blocks long or more.
fn compare(dtype: GgmlDType, rows: &[usize]) -> Result<()> {
    let (n, k) = (36, 512);
    let cuda = Device::new_cuda(0)?;
    set_force_dmmv(true);
    // Of one sign, as in candle's tests: a sum near zero has no relative error to speak of.
    let wave = |i: usize, step: f32| 1.0 + (i as f32 * step).sin();
    let weights: Vec<_> = (0..n * k).map(|i| wave(i, 0.37)).collect();
    let weights = Tensor::from_vec(weights, (n, k), &Device::Cpu)?;
    let product = |device: &Device, x: &Tensor| -> Result<Vec<f32>> {
        let weights = QTensor::quantize(&weights.to_device(device)?, dtype)?;
        QMatMul::from_qtensor(weights)?.forward(&x.to_device(device)?)?.flatten_all()?.to_vec1()
    };
    for &m in rows {
        let x: Vec<_> = (0..m * k).map(|i| wave(i, 0.11)).collect();
        let x = Tensor::from_vec(x, (1, m, k), &Device::Cpu)?;
        let (expected, found) = (product(&Device::Cpu, &x)?, product(&cuda, &x)?);
        assert_eq!((expected.len(), found.len()), (m * n, m * n));
        let errors = expected.iter().zip(&found).map(|(expected, found)| ((found - expected) / expected).abs());
        let error = errors.sum::<f32>() / (m * n) as f32;
        println!("{dtype:?}, {m} rows: {error}");
        assert!(error <= TOLERANCE, "{dtype:?}, {m} rows: {error}\nexpected {expected:?}\nfound {found:?}");
    }
    Ok(())
}

/// One row is a product of its own; more are one with the dequantized matrix.
macro_rules! tests {
    ($($name:ident: $dtype:ident, $rows:expr;)+) => {$(
        #[test]
        fn $name() -> Result<()> {
            compare(GgmlDType::$dtype, &$rows)
        }
    )+};
}

tests! {
    q4_0_cuda: Q4_0, [1, 2, 8, 9, 40];
    q4_1_cuda: Q4_1, [1, 2, 8, 9, 40];
    q5_0_cuda: Q5_0, [1, 2, 8, 9, 40];
    q5_1_cuda: Q5_1, [1, 2, 8, 9, 40];
    q8_0_cuda: Q8_0, [1, 2, 8, 9, 40];
    q2k_cuda: Q2K, [1, 2, 8, 9, 40];
    q3k_cuda: Q3K, [1, 2, 8, 9, 40];
    q4k_cuda: Q4K, [1, 2, 8, 9, 40];
    q5k_cuda: Q5K, [1, 2, 8, 9, 40];
    q6k_cuda: Q6K, [1, 2, 8, 9, 40];
    // Candle has no kernel for one row.
    q8k_cuda: Q8K, [2, 9];
}
