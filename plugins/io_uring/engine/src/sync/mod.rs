//! I/O by system calls.

mod sync;

pub use sync::*;
