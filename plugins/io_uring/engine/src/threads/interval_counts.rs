//! The counts of a lane in the current interval, which go to the main thread at its end.

use std::sync::mpsc::Sender;

use crate::measure::schedule::{Interval, Schedule};
use crate::measure::tally::{StreamCounts, Tally};
use crate::threads::lane_end::LaneEnd;
use crate::threads::message::Message;

/// The I/O threads that share a lane in sync mode. A completion is stamped before its
/// thread gets the lane, and another one may have ended the interval in between.
struct Sharing {
    /// For each thread with an I/O under way: the interval in which that began.
    under_way: Vec<Option<Interval>>,
    late: Tally,
    backlog_ios: u64,
    reported: Interval,
}

impl Sharing {
    /// No completion of an earlier interval can come any more.
    fn complete_before(&self, current: Interval) -> Interval {
        let begun = self.under_way.iter().flatten();
        begun.fold(current, |least, &interval| least.min(interval))
    }
}

pub struct IntervalCounts {
    lane: usize,
    messages: Sender<Message>,
    schedule: Schedule,
    interval: Interval,
    /// Whether `interval` is one of the warm-up.
    warming_up: bool,
    begin_ns: u64,
    boundary_ns: u64,
    tally: Tally,
    sharing: Option<Box<Sharing>>,
}

impl IntervalCounts {
    pub fn new(lane: usize, schedule: Schedule, messages: Sender<Message>) -> Self {
        Self {
            lane,
            messages,
            schedule,
            interval: 0,
            warming_up: false,
            begin_ns: 0,
            boundary_ns: u64::MAX,
            tally: Tally::new(),
            sharing: None,
        }
    }

    /// So many I/O threads share the lane.
    pub fn share(&mut self, threads: usize) {
        self.sharing = Some(Box::new(Sharing {
            under_way: vec![None; threads],
            late: Tally::new(),
            backlog_ios: 0,
            reported: 0,
        }));
    }

    /// A thread of a shared lane begins an I/O.
    pub fn depart(&mut self, thread: usize) {
        if let Some(sharing) = &mut self.sharing {
            sharing.under_way[thread] = Some(self.interval);
        }
    }

    /// Its completion, of this time, has been counted: sends what was late, and what is
    /// complete now.
    pub fn arrive(&mut self, thread: usize, now_ns: u64) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        sharing.under_way[thread] = None;
        let reported = sharing.complete_before(self.interval);
        if now_ns >= self.begin_ns && reported <= sharing.reported {
            return;
        }
        sharing.reported = reported;
        let (counts, backlog_ios) = (sharing.late.drain(), sharing.backlog_ios);
        let interval = self.schedule.interval_at(now_ns);
        self.send(interval, reported, backlog_ios, counts);
    }

    /// The run begins.
    pub fn begin(&mut self, schedule: Schedule) {
        self.schedule = schedule;
        self.enter(schedule.interval_at(schedule.warmup_start_ns));
    }

    fn enter(&mut self, interval: Interval) {
        self.interval = interval;
        self.warming_up = self.schedule.is_warmup(interval);
        self.begin_ns = self.schedule.begin_ns(interval);
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

    /// The same in a lane that may be shared: where it counts.
    #[inline(always)]
    pub fn tally_at(&mut self, now_ns: u64, measured: bool) -> Option<&mut Tally> {
        if now_ns >= self.begin_ns {
            return self.includes(measured).then_some(&mut self.tally);
        }
        self.late_tally(now_ns, measured)
    }

    #[cold]
    fn late_tally(&mut self, now_ns: u64, measured: bool) -> Option<&mut Tally> {
        let warming_up = self.schedule.is_warmup(self.schedule.interval_at(now_ns));
        let sharing = self.sharing.as_mut();
        let tally = sharing.map_or(&mut self.tally, |sharing| &mut sharing.late);
        (measured != warming_up).then_some(tally)
    }

    /// The one of this interval.
    #[inline(always)]
    pub fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Where it writes beside itself.
    #[cfg(test)]
    pub fn written(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.tally.written()
    }

    /// The interval has ended: sends its counts, and begins the next one.
    pub fn flush(&mut self, now_ns: u64, backlog_ios: u64) {
        let ended = self.interval;
        self.enter(self.schedule.interval_at(now_ns));
        let mut reported = self.interval;
        if let Some(sharing) = &mut self.sharing {
            reported = sharing.complete_before(reported);
            (sharing.reported, sharing.backlog_ios) = (reported, backlog_ios);
        }
        let counts = self.tally.drain();
        self.send(ended, reported, backlog_ios, counts);
    }

    fn send(&self, interval: Interval, reported: Interval, backlog_ios: u64, counts: StreamCounts) {
        // The main thread is gone only when the process is about to end.
        let _ = self.messages.send(Message::Counts {
            lane: self.lane,
            interval,
            reported,
            backlog_ios,
            counts: Box::new(counts),
        });
    }

    /// The lane has ended: sends what is left.
    pub fn finish(&mut self, end: LaneEnd) {
        let counts = self.tally.drain();
        self.send(self.interval, Interval::MAX, end.backlog_ios, counts);
        let (lane, end) = (self.lane, Box::new(end));
        let _ = self.messages.send(Message::Finished { lane, end });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::pattern::sizes::Direction;

    fn shared() -> (IntervalCounts, Receiver<Message>) {
        let (messages, received) = channel();
        let schedule = Schedule::new(0, 100, Some(1000), 100);
        let mut counts = IntervalCounts::new(0, schedule, messages);
        counts.share(2);
        counts.begin(schedule);
        (counts, received)
    }

    /// The interval, those before it that are complete, and the I/Os.
    fn next(received: &Receiver<Message>) -> Option<(Interval, Interval, u64)> {
        let Ok(Message::Counts {
            interval,
            reported,
            counts,
            ..
        }) = received.try_recv()
        else {
            return None;
        };
        Some((interval, reported, counts.ios()))
    }

    fn completes(counts: &mut IntervalCounts, thread: usize, at_ns: u64, measured: bool) {
        if let Some(tally) = counts.tally_at(at_ns, measured) {
            tally.record(Direction::Read, 10, 512);
        }
        counts.arrive(thread, at_ns);
    }

    #[test]
    fn a_completion_counts_in_the_interval_of_its_stamp() {
        let (mut counts, received) = shared();
        counts.flush(100, 0);
        assert_eq!(next(&received), Some((0, 1, 0)));
        counts.depart(0);
        counts.depart(1);
        counts.flush(201, 0);
        assert_eq!(next(&received), Some((1, 1, 0)));
        completes(&mut counts, 0, 199, true);
        assert_eq!(next(&received), Some((1, 1, 1)));
        completes(&mut counts, 1, 203, true);
        assert_eq!(next(&received), Some((2, 2, 0)));
        counts.flush(300, 0);
        assert_eq!(next(&received), Some((2, 3, 1)));
    }

    #[test]
    fn what_the_warm_up_ends_before_is_not_measured() {
        let (mut counts, received) = shared();
        counts.depart(0);
        counts.flush(100, 0);
        assert_eq!(next(&received), Some((0, 0, 0)));
        completes(&mut counts, 0, 99, false);
        assert_eq!(next(&received), Some((0, 1, 1)));
        counts.depart(0);
        completes(&mut counts, 0, 101, false);
        assert_eq!(next(&received), None);
        counts.flush(200, 0);
        assert_eq!(next(&received), Some((1, 2, 0)));
    }
}
