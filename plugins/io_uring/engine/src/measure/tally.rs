//! Counts of I/Os and latencies: those of a thread in one interval, and their sums.

use std::collections::BTreeMap;

use crate::job::event::{CountsReport, StreamReport};
use crate::measure::histogram::{self, Bins, Histogram};
use crate::pattern::sizes::Direction;

/// What has counts of its own: the directions, then the flushes and the commits.
const COUNTED: [&str; 5] = ["read", "write", "trim", "flush", "commit"];

/// The running counts of one direction in one interval.
struct Counter {
    bytes: u64,
    errors: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_sq_ns2: u128,
    histogram: Histogram,
}

impl Counter {
    fn new() -> Self {
        Self {
            bytes: 0,
            errors: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_sq_ns2: 0,
            histogram: Histogram::new(),
        }
    }

    #[inline(always)]
    fn record(&mut self, latency_ns: u64, bytes: u64) {
        self.bytes += bytes;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns += u128::from(latency_ns);
        self.sum_sq_ns2 += u128::from(latency_ns) * u128::from(latency_ns);
        self.histogram.record(latency_ns);
    }

    /// Returns the counts and starts again from zero.
    fn drain(&mut self) -> Counts {
        let any = self.min_ns <= self.max_ns;
        if !any && self.errors == 0 {
            return Counts::default();
        }
        let bins = if any {
            self.histogram.drain(self.min_ns, self.max_ns)
        } else {
            Bins::new()
        };
        let counts = Counts {
            ios: bins.iter().map(|bin| bin.1).sum(),
            bytes: self.bytes,
            errors: self.errors,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            sum_sq_ns2: self.sum_sq_ns2,
            bins,
        };
        (self.bytes, self.errors) = (0, 0);
        (self.min_ns, self.max_ns) = (u64::MAX, 0);
        (self.sum_ns, self.sum_sq_ns2) = (0, 0);
        counts
    }
}

/// What one thread has counted since it last sent its counts.
pub struct Tally {
    counters: [Counter; 3],
    /// Flushes and commits; only of a stream that flushes, as their histograms are large.
    syncs: Option<Box<[Counter; 2]>>,
    pub sync_ios: u64,
    pub verified_bytes: u64,
    pub verify_errors: u64,
}

impl Tally {
    pub fn new() -> Self {
        Self {
            counters: std::array::from_fn(|_| Counter::new()),
            syncs: None,
            sync_ios: 0,
            verified_bytes: 0,
            verify_errors: 0,
        }
    }

    #[inline(always)]
    pub fn record(&mut self, direction: Direction, latency_ns: u64, bytes: u64) {
        self.counters[direction as usize].record(latency_ns, bytes);
    }

    /// A flush that took so long.
    pub fn record_flush(&mut self, latency_ns: u64) {
        self.sync_ios += 1;
        self.syncs()[0].record(latency_ns, 0);
    }

    /// The time since the first write that a flush covers.
    pub fn record_commit(&mut self, latency_ns: u64) {
        self.syncs()[1].record(latency_ns, 0);
    }

    fn syncs(&mut self) -> &mut [Counter; 2] {
        self.syncs
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Counter::new())))
    }

    /// Where it writes beside itself.
    #[cfg(test)]
    pub fn written(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let counters = self.counters.iter();
        counters.map(|counter| counter.histogram.written())
    }

    pub fn error(&mut self, direction: Direction) {
        self.counters[direction as usize].errors += 1;
    }

    pub fn drain(&mut self) -> StreamCounts {
        let syncs = self.syncs.iter_mut().flat_map(|pair| pair.iter_mut());
        let mut counters = self.counters.iter_mut().chain(syncs);
        StreamCounts {
            directions: std::array::from_fn(|_| {
                counters.next().map(Counter::drain).unwrap_or_default()
            }),
            sync_ios: std::mem::take(&mut self.sync_ios),
            verified_bytes: std::mem::take(&mut self.verified_bytes),
            verify_errors: std::mem::take(&mut self.verify_errors),
        }
    }
}

/// Counts of one direction. All sums are exact until they are printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub ios: u64,
    pub bytes: u64,
    pub errors: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_sq_ns2: u128,
    bins: Bins,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        if other.ios > 0 {
            self.min_ns = match self.ios {
                0 => other.min_ns,
                _ => self.min_ns.min(other.min_ns),
            };
            self.max_ns = self.max_ns.max(other.max_ns);
            self.bins = histogram::add(&self.bins, &other.bins);
        }
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.sum_ns += other.sum_ns;
        self.sum_sq_ns2 += other.sum_sq_ns2;
    }

    fn report(&self) -> CountsReport {
        CountsReport {
            ios: self.ios,
            bytes: self.bytes,
            errors: self.errors,
            min_ns: if self.ios == 0 { 0 } else { self.min_ns },
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            sum_sq_ns2: self.sum_sq_ns2 as f64,
            bins: self.bins.clone(),
        }
    }
}

/// Counts of one stream, or of one thread of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// By `COUNTED`.
    pub directions: [Counts; 5],
    pub sync_ios: u64,
    pub verified_bytes: u64,
    pub verify_errors: u64,
}

impl StreamCounts {
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.add(theirs);
        }
        self.sync_ios += other.sync_ios;
        self.verified_bytes += other.verified_bytes;
        self.verify_errors += other.verify_errors;
    }

    #[cfg(test)]
    pub fn ios(&self) -> u64 {
        self.directions[..3].iter().map(|counts| counts.ios).sum()
    }

    /// As it is printed; a direction without I/O is left out.
    pub fn report(&self, name: &str, backlog_ios: u64) -> StreamReport {
        let did = COUNTED.iter().zip(&self.directions);
        let did = did.filter(|(_, counts)| counts.ios + counts.errors > 0);
        let directions: BTreeMap<_, _> =
            did.map(|(name, counts)| (*name, counts.report())).collect();
        StreamReport {
            name: name.to_owned(),
            run_ns: None,
            gap_ns: None,
            directions,
            sync_ios: self.sync_ios,
            backlog_ios,
            verified_bytes: self.verified_bytes,
            verify_errors: self.verify_errors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::sizes::DIRECTIONS;

    #[test]
    fn parts_add_up_to_the_whole() {
        let (mut whole, mut parts) = (Tally::new(), Tally::new());
        let mut sum = StreamCounts::default();
        let mut rng = fastrand::Rng::with_seed(1);
        for round in 0..50 {
            for _ in 0..rng.u32(..100) {
                let direction = DIRECTIONS[rng.usize(..3)];
                let latency_ns = rng.u64(..) >> rng.u32(20..64);
                whole.record(direction, latency_ns, 4096);
                parts.record(direction, latency_ns, 4096);
            }
            if round % 7 == 0 {
                whole.error(Direction::Write);
                parts.error(Direction::Write);
            }
            sum.add(&parts.drain());
        }
        assert_eq!(sum, whole.drain());
        assert_eq!(whole.drain(), StreamCounts::default());
    }

    #[test]
    fn ten_thousand_million_slow_ios_do_not_overflow() {
        let mut tally = Tally::new();
        let slow_ns = 3_600_000_000_000;
        tally.record(Direction::Write, slow_ns, 1 << 20);
        let mut sum = tally.drain();
        (0..34).for_each(|_| sum.add(&sum.clone()));
        let counts = &sum.directions[Direction::Write as usize];
        assert_eq!((counts.ios, counts.bins[0].1), (1 << 34, 1 << 34));
        assert_eq!(counts.bytes, 1 << 54);
        assert_eq!(counts.sum_ns, u128::from(slow_ns) << 34);
        let square = u128::from(slow_ns) * u128::from(slow_ns);
        assert_eq!(counts.sum_sq_ns2, square << 34);
    }

    #[test]
    fn a_flush_without_a_write_to_cover_is_no_commit() {
        let mut tally = Tally::new();
        tally.record_flush(20);
        tally.record_flush(30);
        tally.record_commit(70);
        let report = tally.drain().report("log", 0);
        assert_eq!(report.sync_ios, 2);
        assert_eq!(report.directions.len(), 2);
        let (flush, commit) = (&report.directions["flush"], &report.directions["commit"]);
        assert_eq!((flush.ios, flush.sum_ns, flush.bytes), (2, 50, 0));
        assert_eq!((commit.ios, commit.sum_ns), (1, 70));
        assert_eq!(tally.drain(), StreamCounts::default());
    }

    #[test]
    fn sums_are_exact_and_directions_without_io_absent() {
        let mut tally = Tally::new();
        let huge_ns = (1 << 63) + 1;
        (0..3).for_each(|_| tally.record(Direction::Read, huge_ns, 512));
        let report = tally.drain().report("main", 0);
        let text = serde_json::to_string(&report).expect("JSON");
        assert!(text.contains("\"sum_ns\":27670116110564327427"), "{text}");
        assert_eq!(report.directions.len(), 1);
    }
}
