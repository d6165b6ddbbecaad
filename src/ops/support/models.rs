//! What models are made and trained with: builders, recurrent layers, caches and optimizers.

pub mod builder;
pub mod kv_cache;
pub mod optimizer;
pub mod recurrent;
