//! cuBLASLt: descriptions of a product, which the program fills piece by piece.

/// How a matrix is stored.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub data_type: u32,
    pub rows: u64,
    pub columns: u64,
    pub leading: i64,
    pub batch: i32,
    pub stride: i64,
}

/// What is done with the matrices.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub compute: u32,
    /// Whether A and B are transposed, as `cublasOperation_t`.
    pub operations: [u32; 2],
    /// A `cublasLtEpilogue_t`.
    pub epilogue: u32,
    pub bias: u64,
    pub bias_stride: i64,
    /// The type of the bias, if it is not that of the result.
    pub bias_type: Option<u32>,
}

/// The object of a handle of cuBLASLt.
#[derive(Debug, Clone, Copy)]
pub enum Description {
    /// The library, which keeps nothing.
    Library,
    Layout(Layout),
    Operation(Operation),
    /// A preference for some algorithm. There is only one.
    Preference,
}
