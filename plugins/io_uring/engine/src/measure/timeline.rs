//! The progress events of a run: the threads' counts, merged by interval.

use std::collections::BTreeMap;

use crate::job::event::{Event, StreamReport};
use crate::measure::schedule::{Interval, Schedule};
use crate::measure::tally::StreamCounts;

/// How long an event waits for a thread that has not reported. What comes later is
/// part of the next event, so that all of them together are complete.
const GRACE_NS: u64 = 200_000_000;

pub struct Timeline {
    schedule: Schedule,
    names: Vec<String>,
    stream_of_lane: Vec<usize>,
    reported: Vec<Interval>,
    backlog_ios: Vec<u64>,
    waiting: BTreeMap<Interval, Vec<StreamCounts>>,
    next: Interval,
    last_line_ns: u64,
    totals: Vec<StreamCounts>,
}

impl Timeline {
    pub fn new(schedule: Schedule, names: Vec<String>, stream_of_lane: Vec<usize>) -> Self {
        let totals = vec![StreamCounts::default(); names.len()];
        Self {
            schedule,
            reported: vec![0; stream_of_lane.len()],
            backlog_ios: vec![0; stream_of_lane.len()],
            names,
            stream_of_lane,
            waiting: BTreeMap::new(),
            next: 0,
            last_line_ns: schedule.warmup_start_ns,
            totals,
        }
    }

    pub fn add(
        &mut self,
        lane: usize,
        interval: Interval,
        reported: Interval,
        backlog_ios: u64,
        counts: &StreamCounts,
    ) {
        self.reported[lane] = self.reported[lane].max(reported);
        self.backlog_ios[lane] = backlog_ios;
        // The warm-up's last event has been printed: its late counts must not leak into
        // the measured part.
        if self.schedule.is_warmup(interval) && !self.schedule.is_warmup(self.next) {
            return;
        }
        let streams = self.names.len();
        let empty = || vec![StreamCounts::default(); streams];
        let waiting = self.waiting.entry(interval).or_insert_with(empty);
        waiting[self.stream_of_lane[lane]].add(counts);
    }

    /// When the interval of the next event ends. The last interval has no end of its own:
    /// while the wait for completions takes longer than an interval, events continue.
    fn boundary_ns(&self) -> u64 {
        match self.schedule.boundary_ns(self.next) {
            u64::MAX => {
                let begin_ns = self.schedule.begin_ns(self.next).max(self.last_line_ns);
                begin_ns.saturating_add(self.schedule.interval_ns)
            }
            boundary_ns => boundary_ns,
        }
    }

    /// When an event is due even if no thread reports before.
    pub fn wake_ns(&self) -> u64 {
        self.boundary_ns().saturating_add(GRACE_NS)
    }

    /// The next event, if every thread has reported its interval or the wait is over.
    pub fn due(&mut self, now_ns: u64) -> Option<Event> {
        let boundary_ns = self.boundary_ns();
        let open_ended = self.schedule.boundary_ns(self.next) == u64::MAX;
        let complete = self.reported.iter().all(|&reported| reported > self.next);
        let waited = now_ns >= boundary_ns.saturating_add(GRACE_NS);
        if now_ns < boundary_ns || !(complete && !open_ended || waited) {
            return None;
        }
        Some(self.line(boundary_ns, !open_ended))
    }

    fn line(&mut self, end_ns: u64, advance: bool) -> Event {
        let warmup = self.schedule.is_warmup(self.next);
        let later = self.waiting.split_off(&(self.next + 1));
        let mut sums = vec![StreamCounts::default(); self.names.len()];
        for counts in std::mem::replace(&mut self.waiting, later).values() {
            sums.iter_mut()
                .zip(counts)
                .for_each(|(sum, counts)| sum.add(counts));
        }
        if !warmup {
            let totals = self.totals.iter_mut().zip(&sums);
            totals.for_each(|(total, sum)| total.add(sum));
        }
        let origin_ns = if warmup {
            self.schedule.warmup_start_ns
        } else {
            self.schedule.start_ns
        };
        let begin_ns = self.last_line_ns.max(origin_ns);
        self.last_line_ns = end_ns;
        self.next += u64::from(advance);
        Event::Progress {
            t_ns: end_ns - origin_ns,
            interval_ns: end_ns.saturating_sub(begin_ns),
            warmup,
            streams: self.reports(&sums),
        }
    }

    fn reports(&self, counts: &[StreamCounts]) -> Vec<StreamReport> {
        let backlog = |stream: usize| -> u64 {
            let lanes = self.stream_of_lane.iter().zip(&self.backlog_ios);
            lanes
                .filter(|(of, _)| **of == stream)
                .map(|(_, ios)| ios)
                .sum()
        };
        let named = self.names.iter().zip(counts).enumerate();
        named
            .map(|(at, (name, counts))| counts.report(name, backlog(at)))
            .collect()
    }

    /// The remaining events, when all threads have finished.
    pub fn rest(&mut self, end_ns: u64) -> Vec<Event> {
        let mut lines = Vec::new();
        while self.schedule.boundary_ns(self.next) <= end_ns {
            lines.push(self.line(self.schedule.boundary_ns(self.next), true));
        }
        // A thread that looked at the clock later than `end_ns` may have counted in
        // an interval of its own.
        let last = self.waiting.last_key_value().map(|(interval, _)| *interval);
        self.next = self.next.max(last.unwrap_or(0));
        if end_ns > self.last_line_ns || last.is_some() {
            let end_ns = end_ns.max(self.last_line_ns + 1);
            lines.push(self.line(end_ns, false));
        }
        lines
    }

    pub fn totals(&self) -> &[StreamCounts] {
        &self.totals
    }

    /// The totals of streams that took these times, and had these gaps.
    pub fn total_reports(&self, runs_ns: &[u64], gaps_ns: &[u64]) -> Vec<StreamReport> {
        let mut reports = self.reports(&self.totals);
        let times = runs_ns.iter().zip(gaps_ns);
        for (report, (run_ns, gap_ns)) in reports.iter_mut().zip(times) {
            report.run_ns = Some(*run_ns);
            report.gap_ns = Some(*gap_ns);
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tally::Tally;
    use crate::pattern::sizes::Direction;

    fn counts(ios: u64) -> StreamCounts {
        let mut tally = Tally::new();
        (0..ios).for_each(|_| tally.record(Direction::Read, 1000, 512));
        tally.drain()
    }

    fn ios_of(event: &Event) -> u64 {
        let Event::Progress { streams, .. } = event else {
            panic!("not a line of progress");
        };
        streams[0].directions.get("read").map_or(0, |read| read.ios)
    }

    fn timeline(run_ns: u64) -> Timeline {
        let schedule = Schedule::new(0, 0, Some(run_ns), 1_000_000_000);
        Timeline::new(schedule, vec!["main".into()], vec![0, 0])
    }

    #[test]
    fn a_line_waits_for_all_threads_but_not_for_ever() {
        let mut line = timeline(5_000_000_000);
        line.add(0, 0, 1, 0, &counts(3));
        assert!(line.due(1_000_000_001).is_none());
        let late = line.due(1_300_000_000).expect("waited long enough");
        assert_eq!(ios_of(&late), 3);
        line.add(1, 0, 2, 0, &counts(4));
        line.add(0, 1, 2, 0, &counts(5));
        assert_eq!(ios_of(&line.due(2_000_000_000).expect("complete")), 9);
        assert_eq!(line.totals()[0].ios(), 12);
    }

    #[test]
    fn the_rest_is_a_line_of_its_real_length() {
        let mut line = timeline(2_500_000_000);
        for lane in 0..2 {
            line.add(lane, 2, Interval::MAX, 0, &counts(1));
        }
        let rest = line.rest(2_600_000_000);
        assert_eq!(rest.iter().map(ios_of).sum::<u64>(), 2);
        let Some(Event::Progress {
            t_ns, interval_ns, ..
        }) = rest.last()
        else {
            panic!("no last line");
        };
        assert_eq!((*t_ns, *interval_ns), (2_600_000_000, 600_000_000));
    }
}
