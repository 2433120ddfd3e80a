//! The threads of a run: how they start and stop, what they share, what disturbs them.

pub mod apart;
pub mod by_phase;
pub mod by_target;
pub mod commits;
pub mod conditions;
pub mod cpus;
pub mod crew;
pub mod failures;
pub mod first;
pub mod gaps;
pub mod gate;
mod interval_counts;
pub mod kept;
pub mod lane;
pub mod lane_end;
pub mod lateness;
pub mod lifeline;
pub mod log;
pub mod message;
pub mod mode;
pub mod retries;
pub mod shared;
pub mod signals;
