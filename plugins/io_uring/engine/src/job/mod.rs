//! What the engine is asked, and what it answers: job, events, failures.

pub mod check;
pub mod event;
pub mod failure;
mod job;
pub mod record;

pub use job::*;
