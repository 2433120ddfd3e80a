//! Ranks by Zipf's law: P(k) in proportion to k^-theta, k = 1..count.
//!
//! Rejection-inversion: W. Hörmann and G. Derflinger, Rejection-inversion to
//! generate variates from monotone discrete distributions, 1996. No table, no sum
//! over all ranks, and any theta > 0.

#[derive(Debug, Clone)]
pub struct Zipf {
    count: f64,
    theta: f64,
    area_first: f64,
    area_last: f64,
    shortcut: f64,
}

impl Zipf {
    pub fn new(count: u64, theta: f64) -> Self {
        assert!(count > 0 && theta > 0.0);
        let mut zipf = Self {
            count: count as f64,
            theta,
            area_first: 0.0,
            area_last: 0.0,
            shortcut: 0.0,
        };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(count as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank from 0, the most popular.
    pub fn rank(&self, rng: &mut fastrand::Rng) -> u64 {
        loop {
            let area = self.area_last + rng.f64() * (self.area_first - self.area_last);
            let x = self.area_inverse(area);
            // As an integer and back: cheaper than floor(), which can be a call.
            let rank = (x + 0.5).clamp(1.0, self.count) as i64 as f64;
            let near = rank - x <= self.shortcut;
            if near || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the density, (x^(1 - theta) - 1) / (1 - theta), and ln x for
    /// a theta of 1; written so that it is continuous there.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_ratio((1.0 - self.theta) * log) * log
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        (ln1p_ratio(t) * area).exp()
    }
}

/// (e^x - 1) / x.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0
    }
}

/// ln(1 + x) / x.
fn ln1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for theta in [0.5, 0.99, 1.0, 1.1, 2.0] {
            let count = 1000;
            let zipf = Zipf::new(count, theta);
            let mut rng = fastrand::Rng::with_seed(5);
            let draws = 400_000;
            let mut seen = vec![0u64; count as usize];
            (0..draws).for_each(|_| seen[zipf.rank(&mut rng) as usize] += 1);
            let norm: f64 = (1..=count).map(|k| (k as f64).powf(-theta)).sum();
            for k in [1u64, 2, 3, 10, 100, 1000] {
                let expected = f64::from(draws) * (k as f64).powf(-theta) / norm;
                let off = (seen[k as usize - 1] as f64 - expected).abs();
                assert!(off < 5.0 * expected.sqrt() + 1.0, "theta {theta} rank {k}");
            }
        }
    }

    #[test]
    fn a_large_space_needs_no_set_up() {
        let zipf = Zipf::new(1 << 40, 1.1);
        let mut rng = fastrand::Rng::with_seed(6);
        let far = (0..10_000).map(|_| zipf.rank(&mut rng)).max();
        assert!(far.is_some_and(|rank| rank > 1 << 20 && rank < 1 << 40));
    }
}
