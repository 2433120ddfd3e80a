//! Random writes that leave, in one pass over the flash of a drive, the valid pages that
//! its blocks have in steady state.
//!
//! There, all pages are alike likely to be written next: a block of age `a`, from 0 (the
//! newest) to 1 (the next to be collected), has `kept`^a of its pages, where
//! (1 - kept) / ln(1 / kept) = 1 / (1 + spare), as the mean of all blocks is what is stored
//! (P. Desnoyers, Analytic Modeling of SSD Write Performance, SYSTOR 2012; L. Xiang and
//! B. Kurkoski, arXiv 1110.4245). The pass begins with the oldest block. A place is written
//! for the last time with the chance that its block keeps it; else one is written that
//! will be written again.

use crate::pattern::permutation::Permutation;
use crate::pattern::span::Span;
use crate::pattern::walk::Place;

#[derive(Debug, Clone)]
pub struct Shaped {
    span: Span,
    size_bytes: u64,
    order: Permutation,
    /// Places of `order` that are still to be written for the last time.
    next: u64,
    end: u64,
    step: u64,
    steps: u64,
    /// ln(1 / kept).
    fall: f64,
}

impl Shaped {
    /// `places` of the order are the thread's own.
    pub fn new(span: Span, size_bytes: u64, spare: f64, seed: u64, places: (u64, u64)) -> Self {
        let (next, end) = places;
        Self {
            span,
            size_bytes,
            order: Permutation::new(span.count, seed),
            next,
            end,
            step: 0,
            steps: ((end - next) as f64 * (1.0 + spare)).round() as u64,
            fall: fall(spare),
        }
    }

    pub fn is_finished(&self) -> bool {
        self.next == self.end
    }

    #[inline(never)]
    pub fn next(&mut self, rng: &mut fastrand::Rng) -> Option<Place> {
        let left = self.end - self.next;
        if left == 0 {
            return None;
        }
        let due = self.steps.saturating_sub(self.step) <= left;
        let is_last = due || rng.f64() < self.chance(left);
        let at = if is_last {
            self.next
        } else {
            rng.u64(self.next..self.end)
        };
        self.step += 1;
        self.next += u64::from(is_last);
        Some(Place {
            offset_bytes: self.span.offset(self.order.at(at)),
            size_bytes: self.size_bytes,
        })
    }

    /// Of a last write: so that what is left is spread over the steps that are left.
    fn chance(&self, left: u64) -> f64 {
        let age = 1.0 - (self.step as f64 + 0.5) / self.steps as f64;
        let kept = (-self.fall * age).exp();
        left as f64 * self.fall * kept / ((1.0 - kept) * self.steps as f64)
    }
}

/// The solution of (1 - e^-x) / x = 1 / (1 + spare), by bisection.
fn fall(spare: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 2.0 * (1.0 + spare));
    for _ in 0..100 {
        let x = (low + high) / 2.0;
        if -f64::exp_m1(-x) / x > 1.0 / (1.0 + spare) {
            low = x;
        } else {
            high = x;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 20_000;

    fn written(spare: f64, seed: u64) -> Vec<u64> {
        let span = Span::disjoint(0, COUNT * 4096, 4096, 4096);
        let mut shaped = Shaped::new(span, 4096, spare, seed, (0, COUNT));
        let mut rng = fastrand::Rng::with_seed(seed);
        std::iter::from_fn(|| shaped.next(&mut rng))
            .map(|place| place.offset_bytes / 4096)
            .collect()
    }

    #[test]
    fn the_last_block_keeps_what_the_amplification_says() {
        // Write amplification 1 / (1 - kept) by Xiang and Kurkoski.
        for (spare, amplification) in [(0.07, 7.817), (0.15, 4.016), (0.28, 2.481), (0.5, 1.716)] {
            let kept = (-fall(spare)).exp();
            assert!((1.0 / (1.0 - kept) - amplification).abs() < 1e-3, "{spare}");
        }
    }

    #[test]
    fn each_place_is_written_and_the_flash_once() {
        for spare in [0.01, 0.07, 0.28, 1.0] {
            let places = written(spare, 7);
            let mut seen = vec![false; COUNT as usize];
            places.iter().for_each(|&place| seen[place as usize] = true);
            assert!(seen.iter().all(|&one| one));
            let expected = COUNT as f64 * (1.0 + spare);
            assert!(
                (places.len() as f64 / expected - 1.0).abs() < 1e-3,
                "{spare}"
            );
        }
    }

    #[test]
    fn what_is_valid_falls_with_the_age() {
        let (spare, parts) = (0.15, 10);
        let places = written(spare, 3);
        let mut last = vec![0; COUNT as usize];
        for (step, &place) in places.iter().enumerate() {
            last[place as usize] = step;
        }
        let length = places.len() / parts;
        for part in 0..parts {
            let steps = part * length..(part + 1) * length;
            let valid = steps
                .filter(|&step| last[places[step] as usize] == step)
                .count();
            let age = 1.0 - (part as f64 + 0.5) / parts as f64;
            let expected = (-fall(spare) * age).exp();
            let found = valid as f64 / length as f64;
            assert!(
                (found - expected).abs() < 0.03,
                "part {part}: {found} of {expected}"
            );
        }
    }
}
