//! Functions of every element: of one tensor, of two, and random values.

pub mod activation;
pub mod creation;
pub mod elementwise;
pub mod nonempty_floats;
pub mod operands;
pub mod random_facts;
