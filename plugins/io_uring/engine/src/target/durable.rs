//! Which generation of a block a promise covers: it was flushed, written with FUA, or read
//! after an earlier power cut.
//!
//! 32 bits beside the block's last generation: how far behind that one the durable one is,
//! what made it durable, and in which epoch, the time between two cuts. A block of an
//! earlier epoch may be anything from its durable generation to its last one.

const DISTANCE_BITS: u32 = 18;
const HOW_BITS: u32 = 2;
const LOG_BITS: u32 = 1;
/// No generation is durable, or none so near.
const NONE: u32 = (1 << DISTANCE_BITS) - 1;
/// More cuts than that cannot be told apart.
pub const EPOCHS: u64 = 1 << (32 - DISTANCE_BITS - HOW_BITS - LOG_BITS);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    Flush,
    Fua,
    /// It was read after a cut, so that it lies on the medium.
    Seen,
}

/// What facts call the blocks of each, in this order.
pub const PROMISES: [&str; 3] = ["promised_by_flush", "promised_by_fua", "promised_by_read"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// How many generations before the last one; None if nothing is promised.
    pub distance: Option<u32>,
    pub by: Promise,
    /// It was promised of a log that other writes follow.
    pub log: bool,
    pub epoch: u64,
}

impl Durable {
    pub fn nothing(epoch: u64) -> Self {
        Self {
            distance: None,
            by: Promise::Flush,
            log: false,
            epoch,
        }
    }

    pub fn last(by: Promise, epoch: u64) -> Self {
        Self {
            distance: Some(0),
            by,
            log: false,
            epoch,
        }
    }

    /// The same once a further generation is written.
    pub fn behind(self, epoch: u64) -> Self {
        let distance = self.distance.map(|distance| distance + 1);
        Self {
            distance: distance.filter(|distance| *distance < NONE),
            epoch,
            ..self
        }
    }

    pub fn word(self) -> u32 {
        let epoch = (self.epoch % EPOCHS) as u32;
        let how = (epoch << LOG_BITS | u32::from(self.log)) << HOW_BITS | self.by as u32;
        how << DISTANCE_BITS | self.distance.unwrap_or(NONE)
    }

    pub fn of(word: u32) -> Self {
        let distance = word & NONE;
        Self {
            distance: (distance != NONE).then_some(distance),
            by: match word >> DISTANCE_BITS & ((1 << HOW_BITS) - 1) {
                0 => Promise::Flush,
                1 => Promise::Fua,
                _ => Promise::Seen,
            },
            log: word >> (DISTANCE_BITS + HOW_BITS) & 1 == 1,
            epoch: u64::from(word >> (DISTANCE_BITS + HOW_BITS + LOG_BITS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_says_the_same() {
        for by in [Promise::Flush, Promise::Fua, Promise::Seen] {
            for epoch in [0, 1, EPOCHS - 1] {
                let durable = Durable::last(by, epoch);
                assert_eq!(Durable::of(durable.word()), durable);
                let of_log = Durable {
                    log: true,
                    ..durable
                };
                assert_eq!(Durable::of(of_log.word()), of_log);
                assert!(of_log.behind(epoch).log);
                assert_eq!(Durable::of(durable.behind(epoch).word()).distance, Some(1));
            }
        }
        let nothing = Durable::nothing(3);
        assert_eq!(Durable::of(nothing.word()), nothing);
    }

    #[test]
    fn what_is_too_far_behind_is_not_promised() {
        let far = Durable {
            distance: Some(NONE - 1),
            ..Durable::last(Promise::Fua, 0)
        };
        assert_eq!(far.behind(0).distance, None);
    }
}
