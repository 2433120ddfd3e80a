//! Which operation comes next, and how large it is.

use crate::job::{SizeShare, Stream};
use crate::pattern::alias::Alias;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read = 0,
    Write = 1,
    Trim = 2,
}

pub const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

impl Direction {
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
        }
    }
}

/// The mix of reads, writes and trims.
#[derive(Debug, Clone)]
pub struct Mix {
    /// The only direction, if there is one: saves the random draw.
    only: Option<Direction>,
    alias: Alias,
}

impl Mix {
    pub fn new(stream: &Stream) -> Self {
        let others = 100.0 - stream.trim_percent;
        let read = others * stream.read_percent / 100.0;
        let shares = [read, (others - read).max(0.0), stream.trim_percent];
        let mut possible = DIRECTIONS.iter().filter(|way| shares[**way as usize] > 0.0);
        let only = possible.next().filter(|_| possible.next().is_none());
        Self {
            only: only.copied(),
            alias: Alias::new(&shares),
        }
    }

    #[inline(always)]
    pub fn pick(&self, rng: &mut fastrand::Rng) -> Direction {
        match self.only {
            Some(direction) => direction,
            None => DIRECTIONS[self.alias.pick(rng)],
        }
    }
}

/// A distribution of block sizes.
#[derive(Debug, Clone)]
pub struct Sizes {
    only: Option<u64>,
    bytes: Vec<u64>,
    alias: Alias,
}

impl Sizes {
    /// The sizes of reads, and those of writes and trims.
    pub fn of(stream: &Stream) -> [Self; 2] {
        // A direction that does not occur may have an empty list.
        let any = [SizeShare {
            size_bytes: 512,
            percent: 100.0,
        }];
        let or_any = |used: bool, shares| Self::new(if used { shares } else { &any });
        [
            or_any(stream.reads(), &stream.read_sizes),
            or_any(stream.modifies(), &stream.write_sizes),
        ]
    }

    /// Whether a pick is none: it draws no random number.
    pub fn is_single(&self) -> bool {
        self.only.is_some()
    }

    fn new(shares: &[SizeShare]) -> Self {
        let weights: Vec<f64> = shares.iter().map(|share| share.percent).collect();
        let only = (shares.len() == 1).then(|| shares[0].size_bytes);
        Self {
            only,
            bytes: shares.iter().map(|share| share.size_bytes).collect(),
            alias: Alias::new(&weights),
        }
    }

    #[inline(always)]
    pub fn pick(&self, rng: &mut fastrand::Rng) -> u64 {
        match self.only {
            Some(size_bytes) => size_bytes,
            None => self.bytes[self.alias.pick(rng)],
        }
    }
}
