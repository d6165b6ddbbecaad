//! The file of candle's own tests that a test belongs to.

use crate::ops::Op;
use crate::oracle::OracleName;

/// Parts of the names of ops, each with the file of candle-core's tests about them.
const CORE: [(&str, &str); 9] = [
    ("quantized", "quantized_tests"),
    ("conv", "conv_tests"),
    ("pool", "pool_tests"),
    ("matmul", "matmul_tests"),
    ("bilinear", "bilinear_tests"),
    ("gather", "indexing_tests"),
    ("scatter", "indexing_tests"),
    ("index", "indexing_tests"),
    ("", "tensor_tests"),
];

/// The same for candle-nn.
const NN: [(&str, &str); 14] = [
    ("loss", "loss"),
    ("cross_entropy", "loss"),
    ("batch_norm", "batch_norm"),
    ("group_norm", "group_norm"),
    ("layer_norm", "layer_norm"),
    ("rms_norm", "layer_norm"),
    ("lstm", "rnn"),
    ("gru", "rnn"),
    ("varlen", "varlen_flash_attention"),
    ("attention", "cpu_flash_attn"),
    ("cache", "kv_cache"),
    ("optim", "optim"),
    ("one_hot", "one_hot"),
    ("", "ops"),
];

/// The path, in candle's repository, of the tests of `package` that fit a call of `op`, judged by `oracle`.
pub fn test_file(package: &str, op: &Op, oracle: OracleName) -> String {
    let table = if package == "candle-nn" { NN.as_slice() } else { CORE.as_slice() };
    let of_op = table.iter().find(|(part, _)| op.name.contains(part)).map_or("tensor_tests", |(_, file)| file);
    let file = if package == "candle-core" && oracle == OracleName::Gradient { "grad_tests" } else { of_op };
    format!("{package}/tests/{file}.rs")
}
