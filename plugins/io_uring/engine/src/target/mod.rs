//! What I/O is done on, and the data that goes to and fro.

pub mod buffers;
pub mod data;
mod keystream;
pub mod passthrough;
mod target;
pub mod verify;

pub use target::*;
