//! Verification by self-describing blocks: a read must return what was last written.
//!
//! Each logical block of a write starts with a header: magic, offset, generation,
//! nonce of the run, CRC-32 of the header's other fields and of the payload. A read
//! block that this run wrote must carry the generation that was written last. Any
//! other block with the magic must at least agree with itself. A block without the
//! magic that this run did not write cannot be verified and is no error.

use std::collections::HashMap;

use crate::pattern::sizes::Direction;

const MAGIC: u64 = u64::from_le_bytes(*b"ioplanVB");
const HEADER_BYTES: usize = 40;
const CRC_AT: usize = 32;
const PAGE_BLOCKS: u64 = 4096;

/// The generation of every block that was written, in pages that exist only where
/// something was written: four bytes for each logical block there.
#[derive(Default)]
struct Generations {
    pages: HashMap<u64, Box<[u32]>>,
}

impl Generations {
    fn get(&self, block: u64) -> u32 {
        let page = self.pages.get(&(block / PAGE_BLOCKS));
        page.map_or(0, |page| page[(block % PAGE_BLOCKS) as usize])
    }

    fn set(&mut self, block: u64, generation: u32) {
        let new = || vec![0; PAGE_BLOCKS as usize].into_boxed_slice();
        let page = self.pages.entry(block / PAGE_BLOCKS).or_insert_with(new);
        page[(block % PAGE_BLOCKS) as usize] = generation;
    }
}

/// A block that failed verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub offset_bytes: u64,
    pub what: String,
}

#[derive(Debug, Default)]
pub struct Verdict {
    pub verified_bytes: u64,
    pub errors: u64,
    pub first: Option<Mismatch>,
}

pub struct Verifier {
    block_bytes: usize,
    nonce: u64,
    last_generation: u32,
    generations: Generations,
    /// Offset, end and whether it modifies, of each I/O in flight.
    in_flight: Vec<(u64, u64, bool)>,
}

impl Verifier {
    /// The nonce tells this run's blocks from those of an earlier one.
    pub fn new(block_bytes: u64, nonce: u64) -> Self {
        assert!(block_bytes as usize > HEADER_BYTES);
        Self {
            block_bytes: block_bytes as usize,
            nonce,
            last_generation: 0,
            generations: Generations::default(),
            in_flight: Vec::new(),
        }
    }

    /// Whether an I/O would overlap one in flight while one of them modifies.
    fn conflicts(&self, offset_bytes: u64, size_bytes: u64, modifies: bool) -> bool {
        let end_bytes = offset_bytes + size_bytes;
        let mut flights = self.in_flight.iter();
        flights.any(|&(start, end, writes)| {
            (modifies || writes) && start < end_bytes && offset_bytes < end
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
        let end_bytes = offset_bytes + size_bytes;
        self.in_flight.push((offset_bytes, end_bytes, modifies));
    }

    pub fn end(&mut self, offset_bytes: u64, size_bytes: u64) {
        let wanted = |flight: &(u64, u64, bool)| {
            flight.0 == offset_bytes && flight.1 == offset_bytes + size_bytes
        };
        if let Some(at) = self.in_flight.iter().position(wanted) {
            self.in_flight.swap_remove(at);
        }
    }

    /// Writes the headers into a buffer that is about to be written.
    pub fn stamp(&mut self, offset_bytes: u64, buffer: &mut [u8]) {
        // A generation of 0 means "not written by this run".
        self.last_generation = self.last_generation.checked_add(1).unwrap_or(1);
        let first = offset_bytes / self.block_bytes as u64;
        for (at, block) in buffer.chunks_exact_mut(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let header = [
                MAGIC,
                number * self.block_bytes as u64,
                u64::from(self.last_generation),
                self.nonce,
            ];
            for (field, value) in block.chunks_exact_mut(8).zip(header) {
                field.copy_from_slice(&value.to_le_bytes());
            }
            let crc = u64::from(checksum(block));
            block[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
            self.generations.set(number, self.last_generation);
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
        if direction == Direction::Trim || (direction == Direction::Write && !success) {
            self.forget(offset_bytes, size_bytes);
        }
        let read = data.filter(|_| success && direction == Direction::Read);
        read.map_or_else(Verdict::default, |data| self.check(offset_bytes, data))
    }

    /// The content is unknown from now on: it was trimmed, or the write failed.
    fn forget(&mut self, offset_bytes: u64, size_bytes: u64) {
        let block_bytes = self.block_bytes as u64;
        for number in offset_bytes / block_bytes..(offset_bytes + size_bytes) / block_bytes {
            self.generations.set(number, 0);
        }
    }

    /// Checks what was read.
    fn check(&self, offset_bytes: u64, buffer: &[u8]) -> Verdict {
        let mut verdict = Verdict::default();
        let first = offset_bytes / self.block_bytes as u64;
        for (at, block) in buffer.chunks_exact(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let written = self.generations.get(number);
            if written == 0 && word(block, 0) != MAGIC {
                continue;
            }
            verdict.verified_bytes += self.block_bytes as u64;
            if let Some(what) = self.fault(number, written, block) {
                verdict.errors += 1;
                let offset_bytes = number * self.block_bytes as u64;
                verdict.first.get_or_insert(Mismatch { offset_bytes, what });
            }
        }
        verdict
    }

    fn fault(&self, number: u64, written: u32, block: &[u8]) -> Option<String> {
        let [magic, offset, generation, nonce, crc] = [0, 1, 2, 3, 4].map(|at| word(block, at));
        let expected = number * self.block_bytes as u64;
        if magic != MAGIC {
            return Some("the header that this run wrote is gone".to_owned());
        }
        if crc != u64::from(checksum(block)) {
            return Some("the checksum does not match the data".to_owned());
        }
        if offset != expected {
            return Some(format!("the block was written for offset {offset}"));
        }
        if written != 0 && (generation != u64::from(written) || nonce != self.nonce) {
            let run = if nonce == self.nonce {
                ""
            } else {
                " of an earlier run"
            };
            return Some(format!(
                "generation {generation}{run} was read, {written} was written last"
            ));
        }
        None
    }
}

fn word(block: &[u8], index: usize) -> u64 {
    let bytes = block[8 * index..].first_chunk::<8>();
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn checksum(block: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&block[..CRC_AT]);
    crc.update(&block[HEADER_BYTES..]);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped() -> (Verifier, Vec<u8>) {
        let mut verifier = Verifier::new(512, 77);
        let mut buffer = vec![0xa5; 4096];
        verifier.stamp(8192, &mut buffer);
        (verifier, buffer)
    }

    #[test]
    fn what_was_written_is_right() {
        let (verifier, buffer) = stamped();
        let verdict = verifier.check(8192, &buffer);
        assert_eq!((verdict.verified_bytes, verdict.errors), (4096, 0));
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let (verifier, mut buffer) = stamped();
        for bit in 0..512 * 8 {
            buffer[512 + bit / 8] ^= 1 << (bit % 8);
            let verdict = verifier.check(8192, &buffer);
            assert_eq!(verdict.errors, 1, "bit {bit}");
            assert_eq!(verdict.first.map(|first| first.offset_bytes), Some(8704));
            buffer[512 + bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn stale_misplaced_and_foreign_blocks_are_told_apart() {
        let (mut verifier, old) = stamped();
        verifier.stamp(8192, &mut old.clone());
        assert_eq!(verifier.check(8192, &old).errors, 8);
        assert_eq!(Verifier::new(512, 78).check(8192, &old).errors, 0);
        assert_eq!(Verifier::new(512, 78).check(4096, &old).errors, 8);
        let foreign = verifier.check(1 << 20, &[0; 4096]);
        assert_eq!((foreign.verified_bytes, foreign.errors), (0, 0));
        verifier.forget(8192, 4096);
        assert_eq!(verifier.check(8192, &[0; 4096]).errors, 0);
    }

    #[test]
    fn only_overlaps_with_a_write_conflict() {
        let mut verifier = Verifier::new(512, 1);
        verifier.begin(4096, 4096, false);
        assert!(!verifier.conflicts(4096, 4096, false));
        assert!(verifier.conflicts(7680, 512, true));
        assert!(!verifier.conflicts(8192, 512, true));
        verifier.end(4096, 4096);
        verifier.begin(4096, 4096, true);
        assert!(verifier.conflicts(4096, 512, false));
        verifier.end(4096, 4096);
        assert!(!verifier.conflicts(4096, 512, true));
    }
}
