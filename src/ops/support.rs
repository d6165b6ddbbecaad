//! Code that several ops share: for all of them here, and in folders by what the ops do.

pub mod arguments;
pub mod call;
pub mod devices;
pub mod dtypes;
pub mod elements;
pub mod images;
pub mod models;
pub mod moving;
pub mod other_device;
pub mod products;
pub mod reducing;
pub mod reference_inputs;
pub mod relation;
pub mod templates;
pub mod unaligned;
