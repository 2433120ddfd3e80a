//! Arrival times: when the I/Os of an open loop are intended to start.
//!
//! The clock of arrivals counts work: one unit for each I/O, or its bytes. An
//! arrival is at base + work * ns_per_unit, rounded to the nearest only there, so that no error
//! adds up (whole microseconds make a Poisson stream too fast). Poisson arrivals
//! draw the work between two arrivals from the exponential distribution, gamma arrivals
//! from the gamma distribution of their variation.
//! Where the rate changes, a `Pace` tells the time of the work.

use crate::job::{ArrivalKind, Rate, SizeShare, Stream};
use crate::measure::schedule::Schedule;
use crate::pattern::gamma::Gamma;
use crate::pattern::pace::Pace;
use crate::pattern::trace::Replayed;

#[derive(Debug, Clone)]
pub struct Arrivals {
    base_ns: u64,
    work: f64,
    ns_per_unit: f64,
    /// None for a rate that is the same all the time.
    pace: Option<Pace>,
    /// Of the next arrival, where there is a pace.
    paced_ns: u64,
    /// The recorded arrivals of a trace, instead of a rate.
    trace: Option<Replayed>,
    by_bytes: bool,
    gaps: Gaps,
    mean_bytes: f64,
    rng: fastrand::Rng,
}

/// The work between two arrivals of a thread. Threads with gamma arrivals take turns at
/// those of the stream, which each of them draws: gaps of their own would, together, not
/// vary as was asked. So sizes, which only one thread knows, cannot count there.
#[derive(Debug, Clone, Copy)]
enum Gaps {
    Fixed,
    Exponential,
    Gamma { gamma: Gamma, threads: usize },
}

/// A larger backlog of a stream with drawn arrivals is estimated by its expected value.
const DRAWN_BACKLOG: u64 = 1_000_000;

impl Arrivals {
    /// None in a closed loop. `generator` is that of a thread.
    pub fn of(
        stream: &Stream,
        thread: usize,
        generator: impl Fn(usize) -> fastrand::Rng,
    ) -> Option<Self> {
        let rate = stream.rate.as_ref()?;
        let mean_bytes = mean_bytes(stream);
        let shared = rate.arrivals == ArrivalKind::Gamma;
        let rng = generator(if shared { 0 } else { thread });
        Some(Self::new(rate, thread, stream.threads, mean_bytes, rng))
    }

    /// When the I/Os of a trace are due.
    pub fn of_trace(trace: Replayed) -> Self {
        let rate = Rate {
            iops: Some(1.0),
            ..Rate::default()
        };
        let rng = fastrand::Rng::with_seed(0);
        Self {
            trace: Some(trace),
            ..Self::new(&rate, 0, 1, 0.0, rng)
        }
    }

    /// One thread's part of a stream's rate. Threads with fixed arrivals take turns.
    fn new(
        rate: &Rate,
        thread: usize,
        threads: usize,
        mean_bytes: f64,
        rng: fastrand::Rng,
    ) -> Self {
        let by_bytes = rate.iops.is_none();
        let per_s = rate.iops.or(rate.bytes_per_s).unwrap_or(f64::INFINITY);
        let mut arrivals = Self {
            base_ns: 0,
            work: 0.0,
            ns_per_unit: 1e9 * threads as f64 / per_s,
            pace: Pace::of(rate, 1.0 / threads as f64),
            paced_ns: 0,
            trace: None,
            by_bytes,
            gaps: Gaps::of(rate, threads),
            mean_bytes,
            rng,
        };
        arrivals.work = arrivals.first_gap(thread, threads);
        arrivals
    }

    fn first_gap(&mut self, thread: usize, threads: usize) -> f64 {
        let unit = self.mean_unit();
        match self.gaps {
            Gaps::Fixed => unit * thread as f64 / threads as f64,
            Gaps::Exponential => self.gap(unit),
            Gaps::Gamma { gamma, .. } => self.sum_of(gamma, thread + 1) / threads as f64,
        }
    }

    fn mean_unit(&self) -> f64 {
        if self.by_bytes { self.mean_bytes } else { 1.0 }
    }

    /// A rate that changes has its clock from the start of the measured part on; what
    /// is before is the warm-up.
    pub fn start(&mut self, schedule: &Schedule) {
        if self.trace.is_some() {
            self.base_ns = schedule.start_ns;
            return;
        }
        self.base_ns = schedule.warmup_start_ns;
        if let Some(pace) = &mut self.pace {
            pace.set_length(schedule.end_ns - schedule.start_ns);
            self.base_ns = schedule.start_ns;
            let warmup_ns = schedule.start_ns - schedule.warmup_start_ns;
            self.work += pace.work_at(-(warmup_ns as f64));
            self.set_paced();
        }
    }

    fn set_paced(&mut self) {
        if let Some(pace) = &self.pace {
            let at_ns = self.base_ns as f64 + pace.time_of(self.work);
            self.paced_ns = at_ns.max(0.0).round() as u64;
        }
    }

    /// When the next I/O is due; None while it waits for another one.
    #[inline]
    pub fn due_ns(&self) -> Option<u64> {
        if let Some(trace) = &self.trace {
            return trace.due_ns().map(|due_ns| self.base_ns + due_ns);
        }
        Some(self.next_ns())
    }

    /// The next arrival of a rate.
    #[inline]
    fn next_ns(&self) -> u64 {
        if self.pace.is_some() {
            return self.paced_ns;
        }
        self.base_ns + (self.work * self.ns_per_unit).round() as u64
    }

    /// The tag of the next I/O, which begins now.
    pub fn begin(&mut self) -> u16 {
        self.trace.as_mut().map_or(0, Replayed::begin)
    }

    /// An I/O is complete that others may wait for.
    pub fn complete(&mut self, tag: u16, now_ns: u64) {
        if let Some(trace) = &mut self.trace {
            trace.complete(tag, now_ns.saturating_sub(self.base_ns));
        }
    }

    /// How many I/Os of a trace began when one before them was complete.
    pub fn waited(&self) -> Option<u64> {
        self.trace.as_ref().and_then(Replayed::waited)
    }

    /// Moves on to the next arrival, after an I/O of that many bytes.
    #[inline]
    pub fn advance(&mut self, bytes: u64) {
        if let Some(trace) = &mut self.trace {
            return trace.advance();
        }
        let unit = if self.by_bytes { bytes as f64 } else { 1.0 };
        self.work += self.gap(unit);
        self.set_paced();
    }

    /// The work that was due from the next arrival until now.
    fn work_since_next(&self, now_ns: u64) -> f64 {
        match &self.pace {
            Some(pace) => pace.work_at(now_ns as f64 - self.base_ns as f64) - self.work,
            None => (now_ns - self.next_ns()) as f64 / self.ns_per_unit,
        }
    }

    /// The work until the next arrival, after an I/O that is so much.
    fn gap(&mut self, unit: f64) -> f64 {
        match self.gaps {
            Gaps::Fixed => unit,
            Gaps::Exponential => -unit * (1.0 - self.rng.f64()).ln(),
            Gaps::Gamma { gamma, threads } => self.sum_of(gamma, threads) / threads as f64,
        }
    }

    fn sum_of(&mut self, gamma: Gamma, count: usize) -> f64 {
        let drawn: f64 = (0..count).map(|_| gamma.draw(&mut self.rng)).sum();
        self.mean_unit() * drawn
    }

    /// How many arrivals before `now_ns` have not been issued. A rate in bytes is counted
    /// with the mean size, because the sizes to come are not drawn yet.
    pub fn backlog(&self, now_ns: u64) -> u64 {
        if let Some(trace) = &self.trace {
            return trace.due_before(now_ns.saturating_sub(self.base_ns));
        }
        if self.next_ns() >= now_ns {
            return 0;
        }
        let unit = self.mean_unit();
        let due = self.work_since_next(now_ns) / unit;
        if matches!(self.gaps, Gaps::Fixed) || due > DRAWN_BACKLOG as f64 {
            return due.ceil().max(1.0) as u64;
        }
        let (mut copy, mut count) = (self.clone(), 0);
        while copy.next_ns() < now_ns {
            copy.advance(unit as u64);
            count += 1;
        }
        count
    }
}

impl Gaps {
    fn of(rate: &Rate, threads: usize) -> Self {
        match rate.arrivals {
            ArrivalKind::Fixed => Self::Fixed,
            ArrivalKind::Poisson => Self::Exponential,
            ArrivalKind::Gamma => Self::Gamma {
                gamma: Gamma::of_variation(rate.gap_variation),
                threads,
            },
        }
    }
}

/// The mean size of a stream's I/Os.
fn mean_bytes(stream: &Stream) -> f64 {
    let mean = |shares: &[SizeShare]| -> f64 {
        let parts = shares
            .iter()
            .map(|share| share.size_bytes as f64 * share.percent / 100.0);
        parts.sum()
    };
    let reads = stream.read_percent * (100.0 - stream.trim_percent) / 1e4;
    match (stream.reads(), stream.modifies()) {
        (true, true) => {
            reads * mean(&stream.read_sizes) + (1.0 - reads) * mean(&stream.write_sizes)
        }
        (true, false) => mean(&stream.read_sizes),
        _ => mean(&stream.write_sizes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(iops: f64, arrivals: ArrivalKind) -> Rate {
        Rate {
            iops: Some(iops),
            arrivals,
            gap_variation: 1.0,
            ..Rate::default()
        }
    }

    fn times(arrivals: &mut Arrivals, count: usize) -> Vec<u64> {
        let mut next = || {
            let at_ns = arrivals.next_ns();
            arrivals.advance(4096);
            at_ns
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn fixed_arrivals_are_exact_and_threads_take_turns() {
        let make = |thread| {
            let rng = fastrand::Rng::with_seed(1);
            Arrivals::new(&rate(3000.0, ArrivalKind::Fixed), thread, 3, 4096.0, rng)
        };
        let mut all: Vec<u64> = (0..3)
            .flat_map(|t| times(&mut make(t), 1_000_000))
            .collect();
        all.sort_unstable();
        for (at, &time_ns) in all.iter().enumerate() {
            assert!(time_ns.abs_diff((at as f64 * 1e9 / 3000.0) as u64) <= 1);
        }
    }

    fn gaps_ns(arrivals: &mut Arrivals, count: usize) -> Vec<f64> {
        let all = times(arrivals, count + 1);
        let mut gaps: Vec<f64> = all.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        gaps
    }

    /// Kolmogorov's and Smirnov's distance, times the root of the count; 1.95 is the
    /// 99.9 % quantile.
    fn distance(gaps: &[f64], below: impl Fn(f64) -> f64) -> f64 {
        let count = gaps.len() as f64;
        let off = |(at, gap): (usize, &f64)| (below(gap + 0.5) - (at as f64 + 0.5) / count).abs();
        gaps.iter().enumerate().map(off).fold(0.0, f64::max) * count.sqrt()
    }

    #[test]
    fn poisson_gaps_are_exponential_by_kolmogorov_and_smirnov() {
        let (count, iops) = (100_000, 720_000.0);
        let one = gamma(iops, 1.0);
        for rate in [rate(iops, ArrivalKind::Poisson), one] {
            let rng = fastrand::Rng::with_seed(2);
            let gaps = gaps_ns(&mut Arrivals::new(&rate, 0, 1, 0.0, rng), count);
            let furthest = distance(&gaps, |gap| 1.0 - (-gap * iops / 1e9).exp());
            assert!(furthest < 1.95, "{rate:?}: {furthest}");
            let mean_ns = gaps.iter().sum::<f64>() / count as f64;
            assert!((mean_ns * iops / 1e9 - 1.0).abs() < 0.02, "{mean_ns}");
        }
    }

    fn gamma(iops: f64, gap_variation: f64) -> Rate {
        Rate {
            gap_variation,
            ..rate(iops, ArrivalKind::Gamma)
        }
    }

    #[test]
    fn gaps_have_the_rate_and_the_variation_that_were_asked() {
        for variation in [0.01, 0.3, 1.0, 1.33, 3.0] {
            let rng = fastrand::Rng::with_seed(5);
            let mut arrivals = Arrivals::new(&gamma(4000.0, variation), 0, 1, 0.0, rng);
            let gaps = gaps_ns(&mut arrivals, 1_000_000);
            let mean = gaps.iter().sum::<f64>() / 1e6;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 1e6;
            assert!(
                (mean / 250_000.0 - 1.0).abs() < 5.0 * variation / 1e3,
                "{mean}"
            );
            let found = variance.sqrt() / mean;
            assert!((found / variation - 1.0).abs() < 0.02, "{found}");
        }
    }

    #[test]
    fn threads_take_turns_at_the_gamma_arrivals_of_the_stream() {
        let make = |thread, threads| {
            let rng = fastrand::Rng::with_seed(6);
            Arrivals::new(&gamma(9000.0, 1.33), thread, threads, 4096.0, rng)
        };
        let whole = times(&mut make(0, 1), 30_000);
        for thread in 0..3 {
            let own = times(&mut make(thread, 3), 10_000);
            let turns = whole.iter().skip(thread).step_by(3);
            assert!(own.iter().zip(turns).all(|(a, b)| a.abs_diff(*b) <= 1));
        }
    }

    #[test]
    fn gamma_arrivals_of_a_rate_in_bytes_do_not_depend_on_the_sizes() {
        let of = |rate: &Rate, bytes| {
            let rng = fastrand::Rng::with_seed(7);
            let mut arrivals = Arrivals::new(rate, 0, 1, 4096.0, rng);
            arrivals.advance(bytes);
            arrivals.next_ns()
        };
        let by_bytes = Rate {
            iops: None,
            bytes_per_s: Some(4096e3),
            ..gamma(1.0, 2.0)
        };
        for bytes in [512, 1 << 20] {
            assert_eq!(of(&by_bytes, bytes), of(&gamma(1000.0, 2.0), 4096));
        }
    }

    #[test]
    fn a_byte_rate_waits_for_large_ios() {
        let by_bytes = Rate {
            bytes_per_s: Some(4096e3),
            ..Rate::default()
        };
        let mut arrivals = Arrivals::new(&by_bytes, 0, 1, 4096.0, fastrand::Rng::with_seed(1));
        arrivals.start(&Schedule::new(500, 0, None, 100));
        assert_eq!(arrivals.next_ns(), 500);
        arrivals.advance(8192);
        assert_eq!(arrivals.next_ns(), 2_000_500);
    }

    #[test]
    fn the_backlog_is_what_was_due() {
        for kind in [ArrivalKind::Fixed, ArrivalKind::Poisson, ArrivalKind::Gamma] {
            let rng = fastrand::Rng::with_seed(3);
            let mut arrivals = Arrivals::new(&rate(1000.0, kind), 0, 1, 4096.0, rng);
            assert_eq!(arrivals.backlog(0), 0);
            let backlog = arrivals.backlog(10_000_000_000);
            let taken = times(&mut arrivals, backlog as usize);
            assert!(taken.iter().all(|&at_ns| at_ns < 10_000_000_000));
            assert!(arrivals.next_ns() >= 10_000_000_000);
        }
    }
}
