//! Vose's alias method: a weighted choice in constant time.
//!
//! Source: M. D. Vose, A linear algorithm for generating random numbers with a
//! given distribution, 1991.

use crate::pattern::seed::below;

#[derive(Debug, Clone)]
pub struct Alias {
    /// For each column: the threshold below which it is itself, and its alias.
    columns: Vec<(u64, u32)>,
}

impl Alias {
    /// `weights` need not add up to anything, but one must be positive.
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0 && weights.iter().all(|weight| *weight >= 0.0));
        let scale = weights.len() as f64 / total;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut columns: Vec<(u64, u32)> =
            (0..weights.len()).map(|at| (u64::MAX, at as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..shares.len()).partition(|&at| shares[at] < 1.0);
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            columns[poor] = ((shares[poor] * u64::MAX as f64) as u64, rich as u32);
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns }
    }

    #[inline]
    pub fn pick(&self, rng: &mut fastrand::Rng) -> usize {
        let column = below(rng, self.columns.len() as u64) as usize;
        let (threshold, alias) = self.columns[column];
        if rng.u64(..) <= threshold {
            column
        } else {
            alias as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_pass_a_chi_square_test() {
        let weights = [10.0, 60.0, 0.5, 29.5];
        let alias = Alias::new(&weights);
        let mut rng = fastrand::Rng::with_seed(3);
        let draws = 1_000_000;
        let mut seen = [0u64; 4];
        (0..draws).for_each(|_| seen[alias.pick(&mut rng)] += 1);
        let chi_square: f64 = seen
            .iter()
            .zip(weights)
            .map(|(&count, weight)| {
                let expected = f64::from(draws) * weight / 100.0;
                (count as f64 - expected).powi(2) / expected
            })
            .sum();
        // 16.27 is the 99.9 % quantile for three degrees of freedom.
        assert!(chi_square < 16.27, "{chi_square} {seen:?}");
    }

    #[test]
    fn a_weight_of_zero_is_never_picked() {
        let alias = Alias::new(&[0.0, 1.0, 0.0]);
        let mut rng = fastrand::Rng::with_seed(4);
        assert!((0..100_000).all(|_| alias.pick(&mut rng) == 1));
    }
}
