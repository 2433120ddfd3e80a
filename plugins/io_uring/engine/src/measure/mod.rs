//! Time, latencies and counts.

pub mod clock;
pub mod histogram;
pub mod schedule;
pub mod tally;
pub mod timeline;
