//! The counts of a lane in the current interval, which go to the main thread at its end.

use std::sync::mpsc::Sender;

use crate::measure::schedule::{Interval, Schedule};
use crate::measure::tally::Tally;
use crate::threads::lane_end::LaneEnd;
use crate::threads::message::Message;

pub struct IntervalCounts {
    lane: usize,
    messages: Sender<Message>,
    schedule: Schedule,
    interval: Interval,
    /// Whether `interval` is one of the warm-up.
    warming_up: bool,
    boundary_ns: u64,
    pub tally: Tally,
}

impl IntervalCounts {
    pub fn new(lane: usize, schedule: Schedule, messages: Sender<Message>) -> Self {
        Self {
            lane,
            messages,
            schedule,
            interval: 0,
            warming_up: false,
            boundary_ns: u64::MAX,
            tally: Tally::new(),
        }
    }

    /// The run begins.
    pub fn begin(&mut self, schedule: Schedule) {
        self.schedule = schedule;
        self.enter(schedule.interval_at(schedule.warmup_start_ns));
    }

    fn enter(&mut self, interval: Interval) {
        self.interval = interval;
        self.warming_up = self.schedule.is_warmup(interval);
        self.boundary_ns = self.schedule.boundary_ns(interval);
    }

    /// When the interval ends.
    #[inline(always)]
    pub fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// An I/O that starts in the warm-up and completes after it is not counted.
    #[inline(always)]
    pub fn includes(&self, measured: bool) -> bool {
        measured != self.warming_up
    }

    /// The interval has ended: sends its counts, and begins the next one.
    pub fn flush(&mut self, now_ns: u64, backlog_ios: u64) {
        let ended = self.interval;
        self.enter(self.schedule.interval_at(now_ns));
        self.send(ended, self.interval, backlog_ios);
    }

    fn send(&mut self, interval: Interval, reported: Interval, backlog_ios: u64) {
        // The main thread is gone only when the process is about to end.
        let _ = self.messages.send(Message::Counts {
            lane: self.lane,
            interval,
            reported,
            backlog_ios,
            counts: Box::new(self.tally.drain()),
        });
    }

    /// The lane has ended: sends what is left.
    pub fn finish(&mut self, end: LaneEnd) {
        self.send(self.interval, Interval::MAX, end.backlog_ios);
        let (lane, end) = (self.lane, Box::new(end));
        let _ = self.messages.send(Message::Finished { lane, end });
    }
}
