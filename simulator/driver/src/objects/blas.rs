//! A handle of cuBLAS.

/// A handle of cuBLAS.
pub struct Blas {
    pub context: usize,
    pub stream: usize,
}
