//! Log-linear latency histogram, the layout of `ioplan.results.measure.histogram`.
//!
//! With b = 7 bits: a value below 2^b has a bucket of its own, above that each
//! octave is split into 2^b buckets. A bucket is at most 2^-b of its lower edge
//! wide, so that its middle is within 0.4 % of every value in it.

use crate::threads::apart::Apart;

pub const BITS: u32 = 7;
pub const BUCKETS: usize = (64 - BITS as usize + 1) << BITS;

/// The bucket of a latency. Setting bit 7 makes the shift 0 for small values, so
/// that one formula without a branch serves both halves of the definition.
#[inline]
pub fn bucket_index(value_ns: u64) -> usize {
    let shift = 63 - BITS - (value_ns | (1 << BITS)).leading_zeros();
    ((shift as usize) << BITS) + (value_ns >> shift) as usize
}

/// Sparse counts, sorted by bucket.
pub type Bins = Vec<(u16, u64)>;

pub struct Histogram {
    counts: Box<Apart<[u64; BUCKETS]>>,
}

impl Histogram {
    pub fn new() -> Self {
        Self {
            counts: Box::new(Apart([0; BUCKETS])),
        }
    }

    #[inline(always)]
    pub fn record(&mut self, value_ns: u64) {
        self.counts.0[bucket_index(value_ns)] += 1;
    }

    /// Where it writes.
    #[cfg(test)]
    pub fn written(&self) -> std::ops::Range<usize> {
        crate::threads::apart::addresses(&self.counts.0)
    }

    /// Removes and returns the counts between two latencies.
    pub fn drain(&mut self, min_ns: u64, max_ns: u64) -> Bins {
        let range = bucket_index(min_ns)..bucket_index(max_ns) + 1;
        let first = range.start;
        let taken = self.counts.0[range].iter_mut().enumerate();
        taken
            .filter(|(_, count)| **count > 0)
            .map(|(at, count)| ((first + at) as u16, std::mem::take(count)))
            .collect()
    }
}

/// Adds one sparse histogram to another.
pub fn add(left: &[(u16, u64)], right: &[(u16, u64)]) -> Bins {
    let mut sum = Bins::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let next = match (l.peek(), r.peek()) {
            (Some(a), Some(b)) if a.0 == b.0 => (a.0, a.1 + b.1),
            (Some(a), Some(b)) => **if a.0 < b.0 { a } else { b },
            (Some(one), None) | (None, Some(one)) => **one,
            (None, None) => return sum,
        };
        l.next_if(|bin| bin.0 == next.0);
        r.next_if(|bin| bin.0 == next.0);
        sum.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the Python module.
    fn python_index(value_ns: u64) -> usize {
        if value_ns < 1 << BITS {
            return value_ns as usize;
        }
        let shift = 64 - value_ns.leading_zeros() as usize - 1 - BITS as usize;
        ((shift + 1) << BITS) + (value_ns >> shift) as usize - (1 << BITS)
    }

    fn lower_edge(index: usize) -> u64 {
        if index < 1 << BITS {
            return index as u64;
        }
        let shift = (index >> BITS) - 1;
        (((index & ((1 << BITS) - 1)) + (1 << BITS)) as u64) << shift
    }

    #[test]
    fn indexes_equal_the_python_formula() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..1_000_000 {
            let value_ns = rng.u64(..) >> rng.u32(..64);
            assert_eq!(bucket_index(value_ns), python_index(value_ns));
        }
        assert_eq!(bucket_index(0), 0);
        assert_eq!(bucket_index(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn buckets_are_contiguous() {
        for index in 1..BUCKETS {
            let edge = lower_edge(index);
            assert_eq!(bucket_index(edge), index);
            assert_eq!(bucket_index(edge - 1), index - 1);
        }
    }

    #[test]
    fn percentiles_agree_with_sorted_samples() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut histogram = Histogram::new();
        let mut samples: Vec<u64> = (0..100_000)
            .map(|_| (1000.0 * (-rng.f64().ln()).exp()) as u64)
            .collect();
        samples
            .iter()
            .for_each(|&value_ns| histogram.record(value_ns));
        samples.sort_unstable();
        let bins = histogram.drain(samples[0], samples[samples.len() - 1]);
        assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), 100_000);
        for permille in [1, 500, 900, 990, 999] {
            let rank = samples.len() * permille / 1000;
            let mut seen = 0;
            let bin = bins.iter().find(|bin| {
                seen += bin.1 as usize;
                seen > rank
            });
            let index = bin.expect("the rank is inside").0 as usize;
            assert_eq!(index, bucket_index(samples[rank]));
        }
    }

    #[test]
    fn draining_leaves_nothing_and_adding_merges() {
        let mut histogram = Histogram::new();
        [5, 5, 1000]
            .iter()
            .for_each(|&value_ns| histogram.record(value_ns));
        let first = histogram.drain(5, 1000);
        assert!(histogram.drain(0, u64::MAX).is_empty());
        histogram.record(5);
        histogram.record(7);
        let second = histogram.drain(5, 7);
        let far = bucket_index(1000) as u16;
        assert_eq!(add(&first, &second), vec![(5, 3), (7, 1), (far, 1)]);
    }
}
