//! Compares products with quantized matrices with the CPU backend: the kernels of candle's module `quantized`, and the
//! linked kernels that candle prefers, for all types and numbers of rows.

use candle_core::quantized::cuda::set_force_dmmv;
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};

/// The mean error, relative to the result, that candle's tests of quantized products allow.
const TOLERANCE: f32 = 0.02;

/// Compares products of `rows` rows of each of `types`. Above eight rows, candle uses other kernels.
fn compare(dtype: GgmlDType, types: &[DType], rows: &[usize]) -> Result<()> {
    // More than one block per row, and a number of rows that no tile divides.
    let (n, k) = (37, 512);
    let cuda = Device::new_cuda(0)?;
    // All of one sign, as in candle's tests: near zero, the relative error of a sum is meaningless.
    let wave = |i: usize, step: f32| 1.0 + (i as f32 * step).sin();
    let weights: Vec<_> = (0..n * k).map(|i| wave(i, 0.37)).collect();
    let weights = Tensor::from_vec(weights, (n, k), &Device::Cpu)?;
    let product = |device: &Device, x: &Tensor| -> Result<Vec<f32>> {
        let weights = QTensor::quantize(&weights.to_device(device)?, dtype)?;
        let product = QMatMul::from_qtensor(weights)?.forward(&x.to_device(device)?)?;
        product.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
    };
    for &m in rows {
        let x: Vec<_> = (0..m * k).map(|i| wave(i, 0.11)).collect();
        let x = Tensor::from_vec(x, (1, m, k), &Device::Cpu)?;
        let expected = product(&Device::Cpu, &x)?;
        for &of in types {
            let found = product(&cuda, &x.to_dtype(of)?)?;
            assert_eq!((expected.len(), found.len()), (m * n, m * n));
            let errors = expected.iter().zip(&found).map(|(expected, found)| ((found - expected) / expected).abs());
            let error = errors.sum::<f32>() / (m * n) as f32;
            println!("{dtype:?}, {m} rows of {of:?}: {error}");
            assert!(error <= TOLERANCE, "expected {expected:?}\nfound {found:?}");
        }
    }
    Ok(())
}

macro_rules! tests {
    ($($name:ident: $dtype:ident;)+) => {
        mod dmmv {
            use super::*;
            $(
                /// One row has its own kernel. More rows are multiplied with the dequantized matrix.
                #[test]
                fn $name() -> Result<()> {
                    set_force_dmmv(true);
                    compare(GgmlDType::$dtype, &[DType::F32], &[1, 2, 8, 9, 40])
                }
            )+
        }
        mod linked {
            use super::*;
            $(
                #[test]
                fn $name() -> Result<()> {
                    compare(GgmlDType::$dtype, &[DType::F32, DType::F16, DType::BF16], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 70])
                }
            )+
        }
    };
}

tests! {
    q4_0_cuda: Q4_0;
    q4_1_cuda: Q4_1;
    q5_0_cuda: Q5_0;
    q5_1_cuda: Q5_1;
    q8_0_cuda: Q8_0;
    q2k_cuda: Q2K;
    q3k_cuda: Q3K;
    q4k_cuda: Q4K;
    q5k_cuda: Q5K;
    q6k_cuda: Q6K;
}

/// candle only has a kernel that dequantizes this type.
#[test]
fn q8k_cuda() -> Result<()> {
    set_force_dmmv(true);
    compare(GgmlDType::Q8K, &[DType::F32], &[2, 9])
}
