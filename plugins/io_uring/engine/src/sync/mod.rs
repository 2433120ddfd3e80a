//! I/O by blocking system calls.

mod sync;

pub use sync::*;
