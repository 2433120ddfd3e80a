//! What the engine is asked, and what it answers: job, events, failures.

pub mod check;
pub mod errno;
pub mod event;
pub mod failure;
mod job;
pub mod record;

pub use job::*;
