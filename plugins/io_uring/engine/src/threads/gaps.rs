//! The longest time that a stream went without a completed I/O.
//!
//! Each lane notes its last completion in a place of its own. Only a lane that has waited
//! longer than the stream's longest gap so far looks at those of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::threads::apart::Apart;

/// Of one stream.
#[derive(Debug)]
pub struct StreamGap {
    longest_ns: AtomicU64,
    /// By thread; 0 before the first.
    last_ns: Vec<Apart<AtomicU64>>,
}

impl StreamGap {
    pub fn new(threads: usize) -> Self {
        Self {
            longest_ns: AtomicU64::new(0),
            last_ns: (0..threads.max(1)).map(|_| Apart::default()).collect(),
        }
    }

    fn latest_ns(&self) -> u64 {
        let all = self.last_ns.iter().map(|one| one.0.load(Ordering::Relaxed));
        all.max().unwrap_or(0)
    }

    /// The longest, with what was left from the last completion until `end_ns`.
    pub fn longest_until(&self, begin_ns: u64, end_ns: u64) -> u64 {
        let rest_ns = end_ns.saturating_sub(self.latest_ns().max(begin_ns));
        self.longest_ns.load(Ordering::Relaxed).max(rest_ns)
    }
}

/// A lane's part in the gap of its stream.
pub struct LaneGap {
    stream: Arc<StreamGap>,
    thread: usize,
    last_ns: u64,
    longest_ns: u64,
}

impl LaneGap {
    pub fn new(stream: Arc<StreamGap>, thread: usize) -> Self {
        let thread = thread.min(stream.last_ns.len() - 1);
        Self {
            stream,
            thread,
            last_ns: u64::MAX,
            longest_ns: 0,
        }
    }

    /// The measured part of the stream begins at `start_ns`.
    pub fn begin(&mut self, start_ns: u64) {
        self.last_ns = start_ns;
    }

    /// A measured I/O has completed.
    #[inline(always)]
    pub fn completed(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.last_ns) > self.longest_ns {
            self.compare(now_ns);
        }
        self.last_ns = now_ns;
        self.stream.last_ns[self.thread]
            .0
            .store(now_ns, Ordering::Relaxed);
    }

    #[cold]
    fn compare(&mut self, now_ns: u64) {
        let latest_ns = self.stream.latest_ns().max(self.last_ns);
        let gap_ns = now_ns.saturating_sub(latest_ns);
        let before_ns = self.stream.longest_ns.fetch_max(gap_ns, Ordering::Relaxed);
        self.longest_ns = before_ns.max(gap_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::conditions::thread_cpu_ns;

    fn lanes(threads: usize, start_ns: u64) -> (Arc<StreamGap>, Vec<LaneGap>) {
        let stream = Arc::new(StreamGap::new(threads));
        let lane = |thread| {
            let mut lane = LaneGap::new(stream.clone(), thread);
            lane.begin(start_ns);
            lane
        };
        let lanes = (0..threads).map(lane).collect();
        (stream, lanes)
    }

    #[test]
    fn a_gap_is_between_completions_and_at_both_ends() {
        let (stream, mut lanes) = lanes(1, 1000);
        for now_ns in [1300, 1310, 1900] {
            lanes[0].completed(now_ns);
        }
        assert_eq!(stream.longest_until(1000, 2000), 590);
        assert_eq!(stream.longest_until(1000, 9000), 7100);
        let (stream, mut lanes) = self::lanes(1, 1000);
        lanes[0].completed(4000);
        assert_eq!(stream.longest_until(1000, 4100), 3000);
    }

    #[test]
    fn what_another_thread_completes_ends_the_gap() {
        let (stream, mut lanes) = lanes(2, 0);
        for now_ns in (10..=5000).step_by(10) {
            lanes[0].completed(now_ns);
        }
        lanes[1].completed(5004);
        assert_eq!(stream.longest_until(0, 5005), 10);
        lanes[1].completed(5500);
        lanes[0].completed(5501);
        assert_eq!(stream.longest_until(0, 5502), 496);
    }

    #[test]
    fn nothing_completed_is_a_gap_from_begin_to_end() {
        let (stream, _) = lanes(3, 100);
        assert_eq!(stream.longest_until(100, 700), 600);
    }

    #[test]
    fn gaps_are_those_of_all_completions_in_their_order() {
        let mut rng = fastrand::Rng::with_seed(5);
        for threads in 1..5 {
            let (stream, mut lanes) = lanes(threads, 0);
            let (mut now_ns, mut longest_ns) = (0, 0);
            for _ in 0..2000 {
                let step_ns = rng.u64(..1000) >> rng.u32(..8);
                now_ns += step_ns;
                longest_ns = longest_ns.max(step_ns);
                lanes[rng.usize(..threads)].completed(now_ns);
            }
            assert_eq!(stream.longest_until(0, now_ns), longest_ns);
        }
    }

    #[test]
    #[ignore = "a measurement, see docs/engine.md"]
    fn cost_of_gap() {
        const IOS: u64 = 20_000_000;
        let of = |measured: bool| {
            let (stream, mut lanes) = lanes(4, 0);
            let begun_ns = thread_cpu_ns();
            for number in 1..=IOS {
                let now_ns = std::hint::black_box(number * 1000 + number * 7919 % 613);
                if measured {
                    lanes[0].completed(now_ns);
                }
            }
            std::hint::black_box(stream.longest_until(0, IOS * 1000));
            (thread_cpu_ns() - begun_ns) as f64 / IOS as f64
        };
        let mut costs: Vec<f64> = (0..25).map(|_| of(true) - of(false)).collect();
        costs.sort_by(f64::total_cmp);
        println!(
            "{:.2} ns an I/O ({:.2} to {:.2}, the middle half)",
            costs[12], costs[6], costs[18]
        );
    }
}
