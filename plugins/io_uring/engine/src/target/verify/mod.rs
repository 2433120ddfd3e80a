//! Verification by self-describing blocks: a read must return what was last written.
//!
//! Each logical block of a write starts with a header: magic, offset, generation and place
//! in the write, key of the map, number of the write, CRC-32 of the header's other fields
//! and of the payload. A block of which the map (`stamps.rs`) knows the generation must
//! carry it, whichever run wrote it. Any other block with the magic must at least agree
//! with itself. A block without the magic of which nothing is known cannot be verified and
//! is no error.

mod flushes;
mod generations;
mod header;
mod judge;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::job::Stream;
use crate::pattern::sizes::Direction;
use crate::target::aftermath::Place;
use crate::target::durable::{Durable, Promise};
use crate::target::stamps::{GENERATION, IN_FLIGHT, Stamps, UNKNOWN_BEFORE};

use flushes::Flushes;
use generations::{after, before};
use header::HEADER_BYTES;
pub use judge::{FAULTS, Mismatch, Verdict};

pub struct Verifier {
    block_bytes: usize,
    stamps: Arc<Stamps>,
    /// Draws the generation of blocks of which nothing is known, so that one that was
    /// written in the same place long ago is not taken for it.
    rng: fastrand::Rng,
    in_flight: Vec<Flight>,
    fua: bool,
    /// Whether another stream follows this one, and whether this one follows another.
    is_log: bool,
    follows: bool,
    flushes: Flushes,
}

/// An I/O in flight.
struct Flight {
    start: u64,
    end: u64,
    modifies: bool,
}

impl Verifier {
    pub fn new(block_bytes: u64, stamps: Arc<Stamps>, stream: &Stream, is_log: bool) -> Self {
        assert!(block_bytes as usize > HEADER_BYTES);
        Self {
            block_bytes: block_bytes as usize,
            stamps,
            rng: fastrand::Rng::new(),
            in_flight: Vec::new(),
            fua: stream.fua,
            is_log,
            follows: stream.follows.is_some(),
            flushes: Flushes {
                wanted: stream.sync_every.is_some(),
                ..Flushes::default()
            },
        }
    }

    /// Whether an I/O would overlap one in flight while one of them modifies.
    fn conflicts(&self, offset_bytes: u64, size_bytes: u64, modifies: bool) -> bool {
        let end_bytes = offset_bytes + size_bytes;
        let mut flights = self.in_flight.iter();
        flights.any(|one| {
            (modifies || one.modifies) && one.start < end_bytes && offset_bytes < one.end
        })
    }

    /// Adds an I/O to those in flight, unless it conflicts with another one.
    pub fn try_begin(&mut self, offset_bytes: u64, size_bytes: u64, modifies: bool) -> bool {
        let free = !self.conflicts(offset_bytes, size_bytes, modifies);
        if free {
            self.begin(offset_bytes, size_bytes, modifies);
        }
        free
    }

    fn begin(&mut self, offset_bytes: u64, size_bytes: u64, modifies: bool) {
        self.in_flight.push(Flight {
            start: offset_bytes,
            end: offset_bytes + size_bytes,
            modifies,
        });
    }

    pub fn end(&mut self, offset_bytes: u64, size_bytes: u64) {
        let wanted =
            |one: &Flight| one.start == offset_bytes && one.end == offset_bytes + size_bytes;
        if let Some(at) = self.in_flight.iter().position(wanted) {
            self.in_flight.swap_remove(at);
        }
    }

    fn blocks(&self, offset_bytes: u64, size_bytes: u64) -> std::ops::Range<u64> {
        let block_bytes = self.block_bytes as u64;
        offset_bytes / block_bytes..(offset_bytes + size_bytes) / block_bytes
    }

    /// Writes the headers into a buffer that is about to be written.
    pub fn stamp(&mut self, offset_bytes: u64, buffer: &mut [u8]) {
        let first = offset_bytes / self.block_bytes as u64;
        let (write, blocks) = (self.stamps.next_write(), buffer.len() / self.block_bytes);
        for (at, block) in buffer.chunks_exact_mut(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let before = self.stamps.get(number);
            let (durable, epoch) = (self.stamps.durable(number), self.stamps.epoch());
            let mut entry = self.next_entry(before);
            if before == 0 {
                self.stamps.set_durable(number, Durable::nothing(epoch));
                self.stamps.set_acknowledged(number, 0);
            } else {
                if durable.epoch != epoch {
                    entry |= UNKNOWN_BEFORE;
                }
                self.stamps.set_durable(number, durable.behind(epoch));
            }
            self.stamps.set(number, entry);
            let offset = number * self.block_bytes as u64;
            let place = Place::new(write, at, blocks).of_follower(self.follows);
            header::stamp(block, offset, entry & GENERATION, self.stamps.key(), place);
        }
    }

    /// The entry of a block while it is written, after what it is now.
    fn next_entry(&mut self, entry: u32) -> u32 {
        match entry & GENERATION {
            0 => IN_FLIGHT | UNKNOWN_BEFORE | self.rng.u32(1..=GENERATION),
            known if entry & IN_FLIGHT != 0 => IN_FLIGHT | UNKNOWN_BEFORE | after(known),
            known => IN_FLIGHT | after(known),
        }
    }

    /// A write that was stamped is not submitted after all.
    pub fn take_back(&mut self, offset_bytes: u64, size_bytes: u64) {
        for number in self.blocks(offset_bytes, size_bytes) {
            let entry = self.stamps.get(number);
            let durable = self.stamps.durable(number);
            let distance = durable.distance.map(|distance| distance.saturating_sub(1));
            let durable = Durable {
                distance,
                ..durable
            };
            self.stamps.set_durable(number, durable);
            match entry & UNKNOWN_BEFORE {
                0 => self.stamps.set(number, before(entry & GENERATION)),
                _ => self.stamps.forget(number),
            }
        }
    }

    /// A write failed: its block may be any of those written, as after a kill. What was
    /// promised of it still holds if the power is cut.
    fn failed(&mut self, offset_bytes: u64, size_bytes: u64) {
        for number in self.blocks(offset_bytes, size_bytes) {
            let entry = self.stamps.get(number) | IN_FLIGHT | UNKNOWN_BEFORE;
            self.stamps.set(number, entry);
        }
    }

    /// The content is unknown from now on: it is trimmed.
    pub fn forget(&mut self, offset_bytes: u64, size_bytes: u64) {
        for number in self.blocks(offset_bytes, size_bytes) {
            self.stamps.forget(number);
        }
    }

    /// Removes a completed I/O from those in flight and checks `data`, what was read.
    pub fn complete(
        &mut self,
        direction: Direction,
        offset_bytes: u64,
        size_bytes: u64,
        success: bool,
        data: Option<&[u8]>,
    ) -> Verdict {
        self.end(offset_bytes, size_bytes);
        match direction {
            Direction::Write if success => self.acknowledge(offset_bytes, size_bytes),
            Direction::Write => self.failed(offset_bytes, size_bytes),
            _ => {}
        }
        let read = data.filter(|_| success && direction == Direction::Read);
        read.map_or_else(Verdict::default, |data| self.check(offset_bytes, data))
    }

    fn acknowledge(&mut self, offset_bytes: u64, size_bytes: u64) {
        for number in self.blocks(offset_bytes, size_bytes) {
            let generation = self.stamps.get(number) & GENERATION;
            self.stamps.set(number, generation);
            self.stamps.set_acknowledged(number, generation);
            if self.fua {
                let durable = Durable::last(Promise::Fua, self.stamps.epoch());
                let log = self.is_log;
                self.stamps.set_durable(number, Durable { log, ..durable });
                self.stamps.set_issued(number);
            } else if self.flushes.wanted {
                self.flushes.pending.push((number, generation));
            }
        }
    }
}
