//! Input and output of the engine: the job and its checks, events, failures.

pub mod check;
pub mod event;
pub mod failure;
mod job;
pub mod protocol;
pub mod record;

pub use job::*;
