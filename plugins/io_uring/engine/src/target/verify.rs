//! Verification by self-describing blocks: a read must return what was last written.
//!
//! Each logical block of a write starts with a header: magic, offset, generation, key of
//! the map, CRC-32 of the header's other fields and of the payload. A block of which the
//! map (`stamps.rs`) knows the generation must carry it, whichever run wrote it. Any other
//! block with the magic must at least agree with itself. A block without the magic of
//! which nothing is known cannot be verified and is no error.

use std::sync::Arc;

use crate::pattern::sizes::Direction;
use crate::target::stamps::{GENERATION, IN_FLIGHT, Stamps, UNKNOWN_BEFORE};

const MAGIC: u64 = u64::from_le_bytes(*b"ioplanVB");
const HEADER_BYTES: usize = 40;
const CRC_AT: usize = 32;

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NoStamp,
    Checksum,
    Misdirected,
    Stale,
}

/// Each with its name in the facts of the result.
pub const FAULTS: [(Fault, &str); 4] = [
    (Fault::NoStamp, "no_stamp"),
    (Fault::Checksum, "checksum"),
    (Fault::Misdirected, "misdirected"),
    (Fault::Stale, "stale"),
];

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
    pub mismatches: Vec<Mismatch>,
}

pub struct Verifier {
    block_bytes: usize,
    stamps: Arc<Stamps>,
    /// Draws the generation of blocks of which nothing is known, so that one that was
    /// written in the same place long ago is not taken for it.
    rng: fastrand::Rng,
    /// Offset, end and whether it modifies, of each I/O in flight.
    in_flight: Vec<(u64, u64, bool)>,
}

impl Verifier {
    pub fn new(block_bytes: u64, stamps: Arc<Stamps>) -> Self {
        assert!(block_bytes as usize > HEADER_BYTES);
        Self {
            block_bytes: block_bytes as usize,
            stamps,
            rng: fastrand::Rng::new(),
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

    fn blocks(&self, offset_bytes: u64, size_bytes: u64) -> std::ops::Range<u64> {
        let block_bytes = self.block_bytes as u64;
        offset_bytes / block_bytes..(offset_bytes + size_bytes) / block_bytes
    }

    /// Writes the headers into a buffer that is about to be written.
    pub fn stamp(&mut self, offset_bytes: u64, buffer: &mut [u8]) {
        let first = offset_bytes / self.block_bytes as u64;
        for (at, block) in buffer.chunks_exact_mut(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let entry = self.next_entry(self.stamps.get(number));
            self.stamps.set(number, entry);
            let header = [
                MAGIC,
                number * self.block_bytes as u64,
                u64::from(entry & GENERATION),
                self.stamps.key(),
            ];
            for (field, value) in block.chunks_exact_mut(8).zip(header) {
                field.copy_from_slice(&value.to_le_bytes());
            }
            let crc = u64::from(checksum(block));
            block[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
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
            let before = match entry & UNKNOWN_BEFORE {
                0 => before(entry & GENERATION),
                _ => 0,
            };
            self.stamps.set(number, before);
        }
    }

    /// The content is unknown from now on: it is trimmed, or a write of it failed.
    pub fn forget(&mut self, offset_bytes: u64, size_bytes: u64) {
        for number in self.blocks(offset_bytes, size_bytes) {
            self.stamps.set(number, 0);
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
            Direction::Write => self.forget(offset_bytes, size_bytes),
            _ => {}
        }
        let read = data.filter(|_| success && direction == Direction::Read);
        read.map_or_else(Verdict::default, |data| self.check(offset_bytes, data))
    }

    fn acknowledge(&mut self, offset_bytes: u64, size_bytes: u64) {
        for number in self.blocks(offset_bytes, size_bytes) {
            self.stamps
                .set(number, self.stamps.get(number) & GENERATION);
        }
    }

    /// Checks what was read.
    fn check(&self, offset_bytes: u64, buffer: &[u8]) -> Verdict {
        let mut verdict = Verdict::default();
        let first = offset_bytes / self.block_bytes as u64;
        for (at, block) in buffer.chunks_exact(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let offset_bytes = number * self.block_bytes as u64;
            verdict.read_bytes += self.block_bytes as u64;
            match self.judge(number, offset_bytes, block) {
                Ok(true) => verdict.verified_bytes += self.block_bytes as u64,
                Ok(false) => {}
                Err((fault, what)) => verdict.mismatches.push(Mismatch {
                    offset_bytes,
                    fault,
                    what,
                }),
            }
        }
        verdict
    }

    /// Whether a block is right, and not just unknown.
    fn judge(&self, number: u64, offset: u64, block: &[u8]) -> Result<bool, (Fault, String)> {
        let entry = self.stamps.get(number);
        let last = entry & GENERATION;
        let in_flight = entry & IN_FLIGHT != 0;
        // A write in flight at a kill, over what nobody knows: anything may be there.
        let any = last == 0 || (in_flight && entry & UNKNOWN_BEFORE != 0);
        let [magic, written_for, generation, key, crc] = [0, 1, 2, 3, 4].map(|at| word(block, at));
        if magic != MAGIC {
            if any {
                return Ok(false);
            }
            let what = format!("no stamp, where generation {last} was written");
            return Err((Fault::NoStamp, what));
        }
        if crc != u64::from(checksum(block)) {
            let what = "the checksum does not match the data".to_owned();
            return Err((Fault::Checksum, what));
        }
        if written_for != offset {
            let what = format!("the block was written for offset {written_for}");
            return Err((Fault::Misdirected, what));
        }
        let is = |wanted: u32| generation == u64::from(wanted) && key == self.stamps.key();
        if in_flight && (is(last) || (!any && is(before(last)))) {
            self.stamps.set(number, generation as u32); // what it is from now on
        } else if !any && !is(last) {
            let of = if key == self.stamps.key() {
                ""
            } else {
                " of an earlier recording"
            };
            let what = format!("generation {generation}{of} was read, {last} was written last");
            return Err((Fault::Stale, what));
        }
        Ok(true)
    }
}

/// The generation after another one; 0 is none.
fn after(generation: u32) -> u32 {
    match (generation + 1) & GENERATION {
        0 => 1,
        next => next,
    }
}

fn before(generation: u32) -> u32 {
    match generation - 1 {
        0 => GENERATION,
        last => last,
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
    use crate::job::Job;

    /// In the file, if there is one.
    fn verifier(file: Option<&str>) -> Verifier {
        let job = serde_json::json!({
            "target": "/dev/zero", "capacity_bytes": 4 << 20, "block_bytes": 512,
            "stamps": file, "streams": []});
        let job: Job = serde_json::from_value(job).expect("a job");
        Verifier::new(512, Arc::new(Stamps::open(&job).expect("a map")))
    }

    fn write(verifier: &mut Verifier, offset_bytes: u64) -> Vec<u8> {
        let mut buffer: Vec<u8> = (0..4096).map(|_| fastrand::u8(..)).collect();
        verifier.stamp(offset_bytes, &mut buffer);
        verifier.complete(Direction::Write, offset_bytes, 4096, true, None);
        buffer
    }

    fn faults(verifier: &Verifier, offset_bytes: u64, data: &[u8]) -> Vec<Fault> {
        let found = verifier.check(offset_bytes, data).mismatches;
        found.iter().map(|one| one.fault).collect()
    }

    #[test]
    fn what_was_written_is_right() {
        let mut verifier = verifier(None);
        let buffer = write(&mut verifier, 8192);
        let verdict = verifier.check(8192, &buffer);
        assert_eq!((verdict.verified_bytes, verdict.read_bytes), (4096, 4096));
        assert!(verdict.mismatches.is_empty());
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut verifier = verifier(None);
        let mut buffer = write(&mut verifier, 8192);
        for bit in 0..512 * 8 {
            buffer[512 + bit / 8] ^= 1 << (bit % 8);
            let verdict = verifier.check(8192, &buffer);
            assert_eq!(verdict.mismatches.len(), 1, "bit {bit}");
            assert_eq!(verdict.mismatches[0].offset_bytes, 8704);
            buffer[512 + bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn each_kind_of_damage_has_its_name() {
        let mut verifier = verifier(None);
        let old = write(&mut verifier, 8192);
        assert_eq!(faults(&verifier, 8192, &[0; 4096]), [Fault::NoStamp; 8]);
        let other = write(&mut verifier, 4096);
        assert_eq!(faults(&verifier, 8192, &other), [Fault::Misdirected; 8]);
        let new = write(&mut verifier, 8192);
        assert_eq!(faults(&verifier, 8192, &old), [Fault::Stale; 8]);
        let torn = [&new[..2048], &old[2048..]].concat();
        assert_eq!(faults(&verifier, 8192, &torn), [Fault::Stale; 4]);
        let torn = [&new[..256], &old[256..]].concat();
        assert_eq!(faults(&verifier, 8192, &torn)[0], Fault::Checksum);
    }

    #[test]
    fn what_is_not_known_is_no_error_and_not_verified() {
        let mut verifier = verifier(None);
        let old = write(&mut verifier, 8192);
        let strange = verifier.check(1 << 20, &[0; 4096]);
        assert_eq!((strange.verified_bytes, strange.read_bytes), (0, 4096));
        assert!(strange.mismatches.is_empty());
        verifier.forget(8192, 4096);
        assert_eq!(faults(&verifier, 8192, &[0; 4096]), []);
        assert_eq!(verifier.check(8192, &old).verified_bytes, 4096);
        assert_eq!(faults(&verifier, 4096, &old), [Fault::Misdirected; 8]);
    }

    #[test]
    fn a_later_run_knows_what_an_earlier_one_wrote() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let path = path.to_str();
        let (old, new) = {
            let mut first = verifier(path);
            let old = write(&mut first, 8192);
            (old, write(&mut first, 8192))
        };
        let later = verifier(path);
        assert_eq!(later.check(8192, &new).verified_bytes, 4096);
        assert_eq!(faults(&later, 8192, &old), [Fault::Stale; 8]);
        assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::NoStamp; 8]);
        assert_eq!(later.check(0, &[0; 4096]).verified_bytes, 0);
    }

    #[test]
    fn of_a_write_in_flight_at_a_kill_either_generation_is_right() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let path = path.to_str();
        let (older, old, mut new) = {
            let mut killed = verifier(path);
            let older = write(&mut killed, 8192);
            (older, write(&mut killed, 8192), vec![0xa5; 4096])
        };
        verifier(path).stamp(8192, &mut new);
        verifier(path).stamp(0, &mut vec![0; 4096]);
        let later = verifier(path);
        assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::NoStamp; 8]);
        assert_eq!(faults(&later, 8192, &older), [Fault::Stale; 8]);
        assert_eq!(faults(&later, 0, &[0; 4096]), []);
        let half = [&new[..2048], &old[2048..]].concat();
        assert_eq!(later.check(8192, &half).verified_bytes, 4096);
        // What it was found to be it has to stay.
        assert_eq!(faults(&later, 8192, &old), [Fault::Stale; 4]);
        assert_eq!(faults(&later, 8192, &new), [Fault::Stale; 4]);
    }

    #[test]
    fn a_write_that_is_taken_back_was_never_there() {
        let mut verifier = verifier(None);
        let old = write(&mut verifier, 8192);
        verifier.stamp(8192, &mut vec![0; 4096]);
        verifier.take_back(8192, 4096);
        assert_eq!(verifier.check(8192, &old).verified_bytes, 4096);
        verifier.stamp(0, &mut vec![0; 4096]);
        verifier.take_back(0, 4096);
        assert_eq!(faults(&verifier, 0, &[0; 4096]), []);
    }

    #[test]
    fn generations_wrap_around_zero() {
        assert_eq!((after(GENERATION), before(1)), (1, GENERATION));
    }

    #[test]
    fn only_overlaps_with_a_write_conflict() {
        let mut verifier = verifier(None);
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
