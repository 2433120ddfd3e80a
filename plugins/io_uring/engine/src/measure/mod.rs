//! Time, latencies and counts: clock, schedule, histograms, intervals.

pub mod clock;
pub mod histogram;
pub mod schedule;
pub mod tally;
pub mod timeline;
