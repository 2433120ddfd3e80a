//! Messages of the threads to the main thread.

use crate::job::event::Facts;
use crate::job::failure::Failure;
use crate::measure::schedule::Interval;
use crate::measure::tally::StreamCounts;
use crate::threads::lane_end::LaneEnd;

pub enum Message {
    /// The lane has its memory and its ring.
    Ready {
        facts: Facts,
    },
    /// The lane cannot start, or cannot go on.
    Failed(Failure),
    Counts {
        lane: usize,
        /// The interval of the counts.
        interval: Interval,
        /// All intervals before this one have been reported.
        reported: Interval,
        backlog_ios: u64,
        counts: Box<StreamCounts>,
    },
    Finished {
        lane: usize,
        end: Box<LaneEnd>,
    },
    /// SIGINT or SIGTERM.
    Signal,
    /// When to begin, by CLOCK_REALTIME.
    Start {
        at_ns: u64,
    },
}
