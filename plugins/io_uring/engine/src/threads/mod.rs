//! The threads of a run: how they start, what they share, how they stop.

pub mod conditions;
pub mod cpus;
pub mod crew;
pub mod gate;
pub mod lane;
pub mod lifeline;
pub mod message;
pub mod mode;
pub mod schedule;
pub mod shared;
pub mod signals;
