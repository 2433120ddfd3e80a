//! Gamma variates of mean 1, by their coefficient of variation.

/// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); a shape
/// below 1 is one more, times a power of a uniform variate. The shape is 1 / variation².
#[derive(Debug, Clone, Copy)]
pub struct Gamma {
    shape: f64,
    d: f64,
    c: f64,
}

impl Gamma {
    pub fn of_variation(variation: f64) -> Self {
        let shape = 1.0 / (variation * variation);
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        Self { shape, d, c }
    }

    pub fn draw(&self, rng: &mut fastrand::Rng) -> f64 {
        let drawn = self.d * self.cube(rng) / self.shape;
        if self.shape < 1.0 {
            return drawn * positive(rng).powf(1.0 / self.shape);
        }
        drawn
    }

    fn cube(&self, rng: &mut fastrand::Rng) -> f64 {
        loop {
            let x = normal(rng);
            let v = (1.0 + self.c * x).powi(3);
            if v > 0.0 && positive(rng).ln() < 0.5 * x * x + self.d * (1.0 - v + v.ln()) {
                return v;
            }
        }
    }
}

/// From 0, without it, to 1.
fn positive(rng: &mut fastrand::Rng) -> f64 {
    1.0 - rng.f64()
}

/// Box and Muller (1958), one of the two.
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * positive(rng).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u32 = 100_000;

    /// Sums of so many variates, in order.
    fn sums(variation: f64, joined: usize) -> Vec<f64> {
        let gamma = Gamma::of_variation(variation);
        let mut rng = fastrand::Rng::with_seed(4);
        let mut sum = || (0..joined).map(|_| gamma.draw(&mut rng)).sum();
        let mut all: Vec<f64> = (0..COUNT).map(|_| sum()).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// Kolmogorov's and Smirnov's; 1.95 is the 99.9 % quantile.
    fn assert_law(all: &[f64], below: impl Fn(f64) -> f64) {
        let count = f64::from(COUNT);
        let off = |(at, &one): (usize, &f64)| (below(one) - (at as f64 + 0.5) / count).abs();
        let furthest = all.iter().enumerate().map(off).fold(0.0, f64::max) * count.sqrt();
        assert!(furthest < 1.95, "{furthest}");
    }

    /// Of shape k, a sum of k exponential ones.
    fn erlang(k: u32, x: f64) -> f64 {
        let mut term = 1.0;
        let terms = (1..k).map(|n| {
            term *= x / f64::from(n);
            term
        });
        1.0 - (-x).exp() * (1.0 + terms.sum::<f64>())
    }

    #[test]
    fn variates_of_a_whole_shape_are_erlangs() {
        for k in [1, 2, 4, 100] {
            let shape = f64::from(k);
            assert_law(&sums(shape.sqrt().recip(), 1), |x| erlang(k, x * shape));
        }
    }

    #[test]
    fn variates_of_shape_1_over_n_add_up_to_exponential_ones() {
        for (variation, joined) in [(2f64.sqrt(), 2), (2.0, 4), (10.0, 100)] {
            let mean = joined as f64;
            assert_law(&sums(variation, joined), |x| erlang(1, x / mean));
        }
    }
}
