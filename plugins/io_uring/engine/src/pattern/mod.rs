//! The I/O pattern: operation, size and offset of the next I/O, and when it is due.

mod alias;
pub mod arrivals;
pub mod gamma;
pub mod op;
pub mod pace;
pub mod pause;
mod permutation;
mod scatter;
pub mod seed;
pub mod sequence;
mod shaped;
pub mod sizes;
pub mod span;
pub mod trace;
pub mod turns;
pub mod waits;
pub mod walk;
mod zipf;
