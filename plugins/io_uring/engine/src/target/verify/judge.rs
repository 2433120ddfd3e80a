//! What a block that was read is: right, unknown, left by a power cut, or at fault.

use super::Verifier;
use super::generations::{age, back, before};
use super::header::{Header, is_flipped};
use crate::target::aftermath::{Aftermath, Place};
use crate::target::durable::{Durable, PROMISES, Promise};
use crate::target::stamps::{GENERATION, IN_FLIGHT, UNKNOWN_BEFORE};

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NoStamp,
    Checksum,
    Misdirected,
    Stale,
    LostFlushed,
    LostFua,
    OlderThanDurable,
    Torn,
    Foreign,
}

/// Each with its name in the facts of the result.
pub const FAULTS: [(Fault, &str); 9] = [
    (Fault::NoStamp, "no_stamp"),
    (Fault::Checksum, "checksum"),
    (Fault::Misdirected, "misdirected"),
    (Fault::Stale, "stale"),
    (Fault::LostFlushed, "lost_flushed"),
    (Fault::LostFua, "lost_fua"),
    (Fault::OlderThanDurable, "older_than_durable"),
    (Fault::Torn, "torn"),
    (Fault::Foreign, "foreign"),
];

const CHECKSUM: &str = "the checksum does not match the data";

/// A block that failed verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub offset_bytes: u64,
    pub fault: Fault,
    pub what: String,
}

#[derive(Debug, Default)]
pub struct Verdict {
    /// What was read and found right.
    pub verified_bytes: u64,
    pub read_bytes: u64,
    /// Blocks that a power cut left as their last acknowledged write, or one that failed
    /// later, and those that it took back, as it may.
    pub kept: u64,
    pub rolled_back: u64,
    /// Blocks read for the first time after a power cut of which something was promised,
    /// by what promised it.
    pub promised: [u64; PROMISES.len()],
    pub aftermath: Aftermath,
    pub mismatches: Vec<Mismatch>,
}

/// How a block was found.
enum Found {
    Right,
    Unknown,
    Kept,
    RolledBack { stamped: bool },
}

impl Verifier {
    /// Checks what was read.
    pub fn check(&self, offset_bytes: u64, buffer: &[u8]) -> Verdict {
        let mut verdict = Verdict {
            aftermath: self.aftermath(offset_bytes, buffer),
            ..Verdict::default()
        };
        let first = offset_bytes / self.block_bytes as u64;
        for (at, block) in buffer.chunks_exact(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let offset_bytes = number * self.block_bytes as u64;
            verdict.read_bytes += self.block_bytes as u64;
            let durable = self.stamps.durable(number);
            if self.is_after_cut(number) && durable.distance.is_some() {
                verdict.promised[durable.by as usize] += 1;
            }
            let found = self.judge(number, offset_bytes, block);
            verdict.kept += u64::from(matches!(found, Ok(Found::Kept)));
            verdict.rolled_back += u64::from(matches!(found, Ok(Found::RolledBack { .. })));
            match found {
                Ok(Found::Unknown | Found::RolledBack { stamped: false }) => {}
                Ok(_) => verdict.verified_bytes += self.block_bytes as u64,
                Err((fault, what)) => {
                    if matches!(fault, Fault::LostFlushed | Fault::LostFua) {
                        let (issued, log) = (self.stamps.issued(number), durable.log);
                        verdict.aftermath.lost(issued, log);
                    }
                    verdict.mismatches.push(Mismatch {
                        offset_bytes,
                        fault,
                        what,
                    });
                }
            }
        }
        verdict
    }

    /// What was read together, if it is read for the first time after a cut.
    fn aftermath(&self, offset_bytes: u64, buffer: &[u8]) -> Aftermath {
        let numbers = self.blocks(offset_bytes, buffer.len() as u64);
        if !numbers.clone().any(|number| self.is_after_cut(number)) {
            return Aftermath::default();
        }
        let blocks = buffer.chunks_exact(self.block_bytes).zip(numbers);
        let places: Vec<_> = blocks
            .map(|(block, number)| self.is_after_cut(number).then(|| self.place(number, block)))
            .collect();
        Aftermath::of(&places)
    }

    /// Whether the last write of a block was before a power cut, and nothing read it since.
    fn is_after_cut(&self, number: u64) -> bool {
        self.stamps.get(number) & GENERATION != 0
            && self.stamps.durable(number).epoch != self.stamps.epoch()
    }

    fn place(&self, number: u64, block: &[u8]) -> Place {
        let header = Header::of(block);
        let ours = header.stamped && header.key == self.stamps.key();
        let here = header.offset == number * self.block_bytes as u64;
        match ours && here && header.whole {
            true => header.place,
            false => Place::default(),
        }
    }

    /// A block whose last write was before a power cut: it may be any generation from the
    /// durable one on. What it is now it has to stay.
    fn judge_after_cut(
        &self,
        number: u64,
        offset: u64,
        block: &[u8],
    ) -> Result<Found, (Fault, String)> {
        let last = self.stamps.get(number) & GENERATION;
        let durable = self.stamps.durable(number);
        let header = Header::of(block);
        let stamped = header.stamped && header.key == self.stamps.key();
        let whole = !header.stamped || header.whole;
        let here = !header.stamped || header.offset == offset;
        let generation = header.generation;
        let age = age(last, generation);
        let settled = if stamped && whole && here {
            generation
        } else {
            0
        };
        self.stamps.set(number, settled);
        let acknowledged = self.stamps.acknowledged(number);
        self.stamps.set_acknowledged(number, settled);
        let seen = Durable::last(Promise::Seen, self.stamps.epoch());
        self.stamps.set_durable(number, seen);
        if !whole && (durable.distance == Some(0) || is_flipped(block)) {
            // Nothing was written to it that could be torn.
            return Err((Fault::Checksum, CHECKSUM.to_owned()));
        }
        if !whole {
            let what = "the block is part of one write and part of another".to_owned();
            return Err((Fault::Torn, what));
        }
        if !here {
            let what = format!("the block was written for offset {}", header.offset);
            return Err((Fault::Misdirected, what));
        }
        // What was forgotten may come back, with generations that tell nothing of today's.
        if stamped && age > GENERATION / 2 && !self.stamps.has_forgotten() {
            let what = format!("generation {generation}, of which the last is {last}");
            return Err((Fault::Foreign, what));
        }
        let unacknowledged = match acknowledged {
            0 => 0,
            known => self::age(last, known),
        };
        match durable.distance {
            _ if stamped && age <= unacknowledged => Ok(Found::Kept),
            None if acknowledged == 0 => Ok(Found::Unknown),
            None => Ok(Found::RolledBack { stamped }),
            Some(distance) if stamped && age <= distance => Ok(Found::RolledBack { stamped }),
            Some(distance) => Err(lost(durable.by, last, distance, stamped.then_some(age))),
        }
    }

    /// Whether a block is right, and not just unknown.
    fn judge(&self, number: u64, offset: u64, block: &[u8]) -> Result<Found, (Fault, String)> {
        let entry = self.stamps.get(number);
        let last = entry & GENERATION;
        if self.is_after_cut(number) {
            return self.judge_after_cut(number, offset, block);
        }
        let in_flight = entry & IN_FLIGHT != 0;
        // A write in flight at a kill, over what nobody knows: anything may be there.
        let any = last == 0 || (in_flight && entry & UNKNOWN_BEFORE != 0);
        let header = Header::of(block);
        if !header.stamped {
            if any {
                return Ok(Found::Unknown);
            }
            let what = format!("no stamp, where generation {last} was written");
            return Err((Fault::NoStamp, what));
        }
        if !header.whole {
            return Err((Fault::Checksum, CHECKSUM.to_owned()));
        }
        if header.offset != offset {
            let what = format!("the block was written for offset {}", header.offset);
            return Err((Fault::Misdirected, what));
        }
        let Header {
            generation, key, ..
        } = header;
        let is = |wanted: u32| generation == wanted && key == self.stamps.key();
        if in_flight && (is(last) || (!any && is(before(last)))) {
            self.stamps.set(number, generation); // what it is from now on
            self.stamps.set_acknowledged(number, generation);
        } else if !any && !is(last) {
            let of = if key == self.stamps.key() {
                ""
            } else {
                " of an earlier recording"
            };
            let what = format!("generation {generation}{of} was read, {last} was written last");
            return Err((Fault::Stale, what));
        }
        Ok(Found::Right)
    }
}

/// What was promised and is not there; `age` is that of what is.
fn lost(by: Promise, last: u32, distance: u32, age: Option<u32>) -> (Fault, String) {
    let (fault, how) = match by {
        Promise::Flush => (Fault::LostFlushed, "flushed"),
        Promise::Fua => (Fault::LostFua, "written with FUA"),
        Promise::Seen => (Fault::OlderThanDurable, "there after an earlier power cut"),
    };
    let found = match age {
        Some(age) => format!("generation {}", back(last, age)),
        None => "no stamp of this recording".to_owned(),
    };
    let wanted = back(last, distance);
    let what = format!("{found}, where generation {wanted} was {how} and {last} was written last");
    (fault, what)
}
