//! The schedule of a run: warm-up, measured part, intervals. All times are of one `Clock`.

#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    pub warmup_start_ns: u64,
    /// The start of the measured part.
    pub start_ns: u64,
    /// No I/O starts from here on; u64::MAX when only work ends the run.
    pub end_ns: u64,
    pub interval_ns: u64,
}

/// Intervals are numbered consecutively, those of the warm-up first.
pub type Interval = u64;

impl Schedule {
    pub fn new(now_ns: u64, warmup_ns: u64, run_ns: Option<u64>, interval_ns: u64) -> Self {
        let start_ns = now_ns.saturating_add(warmup_ns);
        Self {
            warmup_start_ns: now_ns,
            start_ns,
            end_ns: run_ns.map_or(u64::MAX, |run_ns| start_ns.saturating_add(run_ns)),
            interval_ns,
        }
    }

    /// When a stream does its I/O and when it is measured, if it has a part of the run
    /// only. Intervals are those of the whole run.
    pub fn part(&self, starts_ns: u64, ends_ns: Option<u64>) -> Self {
        Self {
            warmup_start_ns: self.warmup_start_ns + starts_ns,
            start_ns: self.start_ns + starts_ns,
            end_ns: ends_ns.map_or(self.end_ns, |ends_ns| {
                self.end_ns.min(self.start_ns + ends_ns)
            }),
            ..*self
        }
    }

    pub fn warmup_intervals(&self) -> u64 {
        (self.start_ns - self.warmup_start_ns).div_ceil(self.interval_ns)
    }

    pub fn is_warmup(&self, interval: Interval) -> bool {
        interval < self.warmup_intervals()
    }

    /// The interval that contains an instant. The last one has no end: it includes
    /// what completes after the end of the run.
    pub fn interval_at(&self, now_ns: u64) -> Interval {
        if now_ns < self.start_ns {
            return now_ns.saturating_sub(self.warmup_start_ns) / self.interval_ns;
        }
        let since = (now_ns - self.start_ns) / self.interval_ns;
        self.warmup_intervals() + since.min(self.last_since())
    }

    fn last_since(&self) -> u64 {
        (self.end_ns - self.start_ns - 1) / self.interval_ns
    }

    /// Where an interval begins.
    pub fn begin_ns(&self, interval: Interval) -> u64 {
        let warmup = self.warmup_intervals();
        if interval < warmup {
            return self.warmup_start_ns + interval * self.interval_ns;
        }
        self.start_ns + (interval - warmup).saturating_mul(self.interval_ns)
    }

    /// Where it ends; u64::MAX for the last one.
    pub fn boundary_ns(&self, interval: Interval) -> u64 {
        let warmup = self.warmup_intervals();
        if interval < warmup {
            return self.begin_ns(interval + 1).min(self.start_ns);
        }
        if interval - warmup >= self.last_since() {
            return u64::MAX;
        }
        self.begin_ns(interval + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_numbered_through() {
        let schedule = Schedule::new(1000, 250, Some(350), 100);
        assert_eq!(schedule.warmup_intervals(), 3);
        let at = [1000, 1099, 1100, 1249, 1250, 1349, 1350, 1550, 9999];
        let intervals = at.map(|now_ns| schedule.interval_at(now_ns));
        assert_eq!(intervals, [0, 0, 1, 2, 3, 3, 4, 6, 6]);
        let ends = [0, 1, 2, 3, 4, 5, 6].map(|interval| schedule.boundary_ns(interval));
        assert_eq!(ends, [1100, 1200, 1250, 1350, 1450, 1550, u64::MAX]);
    }

    #[test]
    fn a_run_of_whole_intervals_has_no_empty_last_one() {
        let schedule = Schedule::new(0, 0, Some(300), 100);
        assert_eq!(schedule.interval_at(300), 2);
        assert_eq!(schedule.boundary_ns(2), u64::MAX);
    }

    #[test]
    fn without_an_end_the_intervals_go_on() {
        let schedule = Schedule::new(5, 0, None, 100);
        assert_eq!(schedule.interval_at(5 + 100 * 1_000_000), 1_000_000);
        assert_eq!(schedule.boundary_ns(7), 805);
    }
}
