//! What the threads tell the main thread.

use crate::job::event::Facts;
use crate::job::failure::Failure;
use crate::measure::tally::StreamCounts;
use crate::threads::conditions::Load;
use crate::threads::schedule::Interval;

pub enum Message {
    /// The lane has its memory and its ring.
    Ready {
        facts: Facts,
    },
    /// The lane cannot start, or cannot go on.
    Failed(Failure),
    Counts {
        lane: usize,
        /// Where the counts belong.
        interval: Interval,
        /// All intervals before this one have been reported.
        reported: Interval,
        backlog_ios: u64,
        counts: Box<StreamCounts>,
    },
    Finished {
        lane: usize,
        end: LaneEnd,
    },
    /// SIGINT or SIGTERM.
    Signal,
    /// When to begin, by CLOCK_REALTIME.
    Start {
        at_ns: u64,
    },
}

/// What is known of a lane at its end.
#[derive(Debug, Clone, Default)]
pub struct LaneEnd {
    /// When its thread came through the gate.
    pub begun_ns: u64,
    pub end_ns: u64,
    /// Since when no more I/O was started.
    pub over_ns: u64,
    /// It ran out of work, and not of time.
    pub exhausted: bool,
    pub busy_slots: u64,
    /// The sum over the slots from first issue to last completion.
    pub busy_ns: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub backlog_ios: u64,
    pub lost_ios: u64,
    /// None where several threads share the lane.
    pub load: Option<Load>,
}
