//! Which I/O comes next: operation, size, offset, and when.

mod alias;
pub mod arrivals;
mod permutation;
mod scatter;
pub mod seed;
pub mod sizes;
pub mod span;
pub mod walk;
mod zipf;
