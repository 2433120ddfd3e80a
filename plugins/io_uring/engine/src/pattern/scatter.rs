//! Where random I/O falls: the distributions over a region.
//!
//! With several block sizes, zipf and pareto choose among blocks of the largest
//! size, and an I/O of a smaller size falls anywhere inside the chosen one: all
//! sizes then share the same hot places.

use crate::job::Distribution;
use crate::pattern::alias::Alias;
use crate::pattern::permutation::Permutation;
use crate::pattern::seed::below;
use crate::pattern::span::Span;
use crate::pattern::zipf::Zipf;

#[derive(Debug, Clone)]
pub enum Scatter {
    Uniform,
    Hotspots {
        zones: Vec<(f64, f64)>,
        alias: Alias,
    },
    Ranked {
        law: Law,
        order: Permutation,
        blocks: Span,
    },
    Normal {
        deviation: f64,
    },
}

/// How a popularity rank is drawn.
#[derive(Debug, Clone)]
pub enum Law {
    Zipf(Zipf),
    /// rank = floor(count * u^(ln h / ln(1 - h))), as fio's lib/zipf.c has it:
    /// a share 1 - h of all I/Os falls into a share h of the blocks.
    Pareto {
        power: f64,
        count: f64,
    },
}

impl Law {
    fn rank(&self, rng: &mut fastrand::Rng) -> u64 {
        match self {
            Self::Zipf(zipf) => zipf.rank(rng),
            Self::Pareto { power, count } => {
                (count * rng.f64().powf(*power)).min(count - 1.0) as u64
            }
        }
    }
}

impl Scatter {
    /// `largest` is the span of the largest size; `seed` places the hot blocks.
    pub fn new(distribution: &Distribution, largest: Span, seed: u64) -> Self {
        let ranked = |law: Law| Self::Ranked {
            law,
            order: Permutation::new(largest.count, seed),
            blocks: largest,
        };
        match distribution {
            Distribution::Uniform {} => Self::Uniform,
            Distribution::Hotspots { spots } => {
                let weights: Vec<f64> = spots.iter().map(|spot| spot.io_percent).collect();
                let total: f64 = spots.iter().map(|spot| spot.space_percent).sum();
                let mut end = 0.0;
                let zone = |space: f64| {
                    let start = end;
                    end += space / total;
                    (start, end)
                };
                let zones = spots.iter().map(|spot| spot.space_percent).map(zone);
                Self::Hotspots {
                    zones: zones.collect(),
                    alias: Alias::new(&weights),
                }
            }
            Distribution::Zipf { theta } => ranked(Law::Zipf(Zipf::new(largest.count, *theta))),
            Distribution::Pareto { h } => ranked(Law::Pareto {
                power: h.ln() / (1.0 - h).ln(),
                count: largest.count as f64,
            }),
            Distribution::Normal { deviation_percent } => Self::Normal {
                deviation: deviation_percent / 100.0,
            },
        }
    }

    /// The offset of an I/O of `size_bytes`, which may go to any of `span`.
    #[inline(always)]
    pub fn offset(&self, span: &Span, size_bytes: u64, rng: &mut fastrand::Rng) -> u64 {
        match self {
            Self::Uniform => span.offset(below(rng, span.count)),
            _ => self.skewed(span, size_bytes, rng),
        }
    }

    #[inline(never)]
    fn skewed(&self, span: &Span, size_bytes: u64, rng: &mut fastrand::Rng) -> u64 {
        match self {
            Self::Uniform => unreachable!("see `offset`"),
            Self::Hotspots { zones, alias } => {
                let (start, end) = zones[alias.pick(rng)];
                let low = ((start * span.count as f64).round() as u64).min(span.count - 1);
                let high = ((end * span.count as f64).round() as u64).clamp(low + 1, span.count);
                span.offset(low + below(rng, high - low))
            }
            Self::Ranked { law, order, blocks } => {
                let block = blocks.offset(order.at(law.rank(rng)));
                within_block(block, blocks, span, size_bytes, rng)
            }
            Self::Normal { deviation } => {
                let at = truncated_normal(*deviation, rng);
                span.offset(((at * span.count as f64) as u64).min(span.count - 1))
            }
        }
    }
}

/// Any place for the size inside the block.
#[inline]
fn within_block(
    block: u64,
    blocks: &Span,
    span: &Span,
    size_bytes: u64,
    rng: &mut fastrand::Rng,
) -> u64 {
    if span == blocks {
        return block;
    }
    let (low, high) = span.within(block, block + blocks.step_bytes, size_bytes);
    span.offset(low + below(rng, high - low))
}

/// A bell around one half, drawn again until it is inside [0, 1).
fn truncated_normal(deviation: f64, rng: &mut fastrand::Rng) -> f64 {
    loop {
        // Box and Muller 1958; 1 - u is never 0.
        let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
        let at = 0.5 + deviation * radius * (std::f64::consts::TAU * rng.f64()).cos();
        if (0.0..1.0).contains(&at) {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Hotspot;

    const BLOCK: u64 = 4096;
    const COUNT: u64 = 10_000;
    const DRAWS: usize = 400_000;

    fn counts(distribution: &Distribution) -> Vec<u64> {
        let span = Span::new(0, COUNT * BLOCK, BLOCK, BLOCK);
        let scatter = Scatter::new(distribution, span, 9);
        let mut rng = fastrand::Rng::with_seed(7);
        let mut seen = vec![0; COUNT as usize];
        for _ in 0..DRAWS {
            let offset = scatter.offset(&span, BLOCK, &mut rng);
            assert!(offset % BLOCK == 0);
            seen[(offset / BLOCK) as usize] += 1;
        }
        seen
    }

    fn share(seen: &[u64]) -> f64 {
        seen.iter().sum::<u64>() as f64 / DRAWS as f64
    }

    fn hottest(mut seen: Vec<u64>) -> Vec<u64> {
        seen.sort_unstable_by(|a, b| b.cmp(a));
        seen
    }

    #[test]
    fn uniform_reaches_every_block_alike() {
        let seen = counts(&Distribution::Uniform {});
        let mean = DRAWS as f64 / COUNT as f64;
        let chi_square: f64 = seen.iter().map(|&n| (n as f64 - mean).powi(2) / mean).sum();
        // Mean COUNT, deviation sqrt(2 COUNT) = 141.
        assert!((chi_square - COUNT as f64).abs() < 600.0, "{chi_square}");
    }

    #[test]
    fn hotspots_get_their_shares() {
        let spots = [(50.0, 5.0), (30.0, 15.0), (20.0, 80.0)];
        let spots = spots.map(|(io_percent, space_percent)| Hotspot {
            io_percent,
            space_percent,
        });
        let seen = counts(&Distribution::Hotspots {
            spots: spots.to_vec(),
        });
        assert!((share(&seen[..500]) - 0.5).abs() < 0.005);
        assert!((share(&seen[500..2000]) - 0.3).abs() < 0.005);
        assert!((share(&seen[2000..]) - 0.2).abs() < 0.005);
    }

    #[test]
    fn pareto_is_the_80_20_rule() {
        let seen = hottest(counts(&Distribution::Pareto { h: 0.2 }));
        let hot = share(&seen[..COUNT as usize / 5]);
        assert!((hot - 0.8).abs() < 0.01, "{hot}");
    }

    #[test]
    fn zipf_scatters_its_hot_blocks() {
        let seen = counts(&Distribution::Zipf { theta: 1.1 });
        let sorted = hottest(seen.clone());
        let norm: f64 = (1..=COUNT).map(|k| (k as f64).powf(-1.1)).sum();
        assert!((sorted[0] as f64 / DRAWS as f64 - 1.0 / norm).abs() < 0.005);
        let hot: Vec<usize> = (0..seen.len())
            .filter(|&at| seen[at] >= sorted[20])
            .collect();
        assert!(hot.windows(2).filter(|pair| pair[1] - pair[0] == 1).count() < 3);
    }

    #[test]
    fn normal_is_a_bell_inside_the_region() {
        let seen = counts(&Distribution::Normal {
            deviation_percent: 10.0,
        });
        let middle = share(&seen[4000..6000]);
        assert!((middle - 0.6827).abs() < 0.005, "{middle}");
    }

    #[test]
    fn smaller_sizes_share_the_hot_places() {
        let blocks = Span::new(0, 1 << 26, 65_536, 65_536);
        let small = Span::new(0, 1 << 26, 4096, 4096);
        let scatter = Scatter::new(&Distribution::Zipf { theta: 1.5 }, blocks, 3);
        let mut rng = fastrand::Rng::with_seed(8);
        let mut block_of = |span: &Span, size| {
            let mut seen = vec![0; 1024];
            for _ in 0..20_000 {
                seen[(scatter.offset(span, size, &mut rng) / 65_536) as usize] += 1;
            }
            (0..1024).max_by_key(|&at| seen[at])
        };
        assert_eq!(block_of(&blocks, 65_536), block_of(&small, 4096));
    }
}
