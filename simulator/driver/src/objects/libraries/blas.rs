//! A handle of cuBLAS.

/// A handle of cuBLAS.
pub struct Blas {
    pub context: usize,
    pub stream: usize,
    /// Whether factors and results of single numbers are in device memory.
    pub factors_on_device: bool,
    /// How exact products should at least be, which all are: `cublasMath_t`.
    pub math_mode: u32,
}
