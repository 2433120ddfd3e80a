//! How much later than intended the I/Os of a replayed trace were issued.

use serde_json::{Value, json};

use crate::measure::histogram::{Bins, Histogram};

const WITHIN_NS: [(&str, u64); 2] = [("within_100us", 100_000), ("within_1ms", 1_000_000)];

/// Of one lane, while it runs.
pub struct LaneLateness {
    counts: Histogram,
    found: Lateness,
}

/// What a lane reports at its end.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    bins: Bins,
    /// By the exact limits of `WITHIN_NS`.
    within: [u64; 2],
    ios: u64,
    longest_ns: u64,
    /// Of the I/O that was issued last.
    last_ns: u64,
    /// How many began when one before them was complete, where they wait for that.
    waited: Option<u64>,
}

impl LaneLateness {
    pub fn new() -> Self {
        Self {
            counts: Histogram::new(),
            found: Lateness::default(),
        }
    }

    /// An I/O is issued now that was intended for `start_ns`.
    pub fn issued(&mut self, start_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(start_ns);
        self.counts.record(late_ns);
        let found = &mut self.found;
        for (count, (_, limit_ns)) in found.within.iter_mut().zip(WITHIN_NS) {
            *count += u64::from(late_ns <= limit_ns);
        }
        found.ios += 1;
        found.longest_ns = found.longest_ns.max(late_ns);
        found.last_ns = late_ns;
    }

    pub fn end(&mut self, waited: Option<u64>) -> Lateness {
        let bins = self.counts.drain(0, u64::MAX);
        Lateness {
            bins,
            waited,
            ..self.found.clone()
        }
    }
}

impl Lateness {
    /// In ns, and as shares from 0 to 1. A percentile is the middle of its bucket, at most
    /// 0.4 % off.
    pub fn facts(&self) -> Value {
        let mut facts = json!({
            "ios": self.ios, "p50_ns": self.percentile(0.50), "p99_ns": self.percentile(0.99),
            "max_ns": self.longest_ns, "drift_ns": self.last_ns,
        });
        for ((name, _), count) in WITHIN_NS.iter().zip(self.within) {
            facts[name] = json!(count as f64 / self.ios.max(1) as f64);
        }
        if let Some(waited) = self.waited {
            facts["waited"] = json!(waited as f64 / self.ios.max(1) as f64);
        }
        facts
    }

    fn percentile(&self, share: f64) -> u64 {
        let rank = (self.ios as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in &self.bins {
            seen += count;
            if seen >= rank {
                return middle_ns(usize::from(*bucket)).min(self.longest_ns);
            }
        }
        self.longest_ns
    }
}

/// The middle of a bucket of the histogram.
fn middle_ns(bucket: usize) -> u64 {
    let (group, rest) = (bucket >> crate::measure::histogram::BITS, bucket as u64);
    if group == 0 {
        return rest;
    }
    let shift = group as u32 - 1;
    let first = (rest - (u64::from(shift) << crate::measure::histogram::BITS)) << shift;
    first + (1u64 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::histogram::bucket_index;

    #[test]
    fn the_middle_of_a_bucket_is_in_it() {
        for value_ns in (0..60).flat_map(|shift| [1u64 << shift, (3u64 << shift) / 2 + 1]) {
            let middle = middle_ns(bucket_index(value_ns));
            assert_eq!(bucket_index(middle), bucket_index(value_ns));
            assert!(middle.abs_diff(value_ns) as f64 <= 0.0079 * value_ns as f64 + 0.5);
        }
    }

    #[test]
    fn figures_are_those_of_what_was_issued() {
        let mut lane = LaneLateness::new();
        for late_ns in 0..1000u64 {
            lane.issued(5, 5 + late_ns * 2_000);
        }
        lane.issued(100, 90);
        let facts = lane.end(None).facts();
        let near = |name: &str, value: f64| {
            let found = facts[name].as_f64().expect("a number");
            assert!((found - value).abs() <= value * 0.005, "{name}: {found}");
        };
        near("p50_ns", 998_000.0);
        near("p99_ns", 1_978_000.0);
        near("max_ns", 1_998_000.0);
        near("within_100us", 52.0 / 1001.0);
        near("within_1ms", 502.0 / 1001.0);
        assert_eq!(facts["drift_ns"], 0);
    }
}
