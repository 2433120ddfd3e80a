//! Which I/O comes next: operation, size, offset, and when.

mod alias;
pub mod arrivals;
pub mod op;
pub mod pause;
mod permutation;
mod scatter;
pub mod seed;
pub mod sequence;
pub mod sizes;
pub mod span;
pub mod walk;
mod zipf;
