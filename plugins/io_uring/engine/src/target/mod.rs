//! The target of the I/O, and the data that is written to it and verified.

pub mod aftermath;
pub mod buffers;
pub mod data;
pub mod durable;
mod keystream;
pub mod passthrough;
pub mod stamps;
mod target;
pub mod verify;

pub use target::*;
