//! I/O by io_uring: one ring per thread.

mod entries;
#[cfg(test)]
mod layout;
mod ring;
mod simple;
mod slots;
mod system_call;
mod uring_abi;
pub mod worker;

pub use ring::*;
