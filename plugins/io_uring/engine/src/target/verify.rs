//! Verification by self-describing blocks: a read must return what was last written.
//!
//! Each logical block of a write starts with a header: magic, offset, generation and place
//! in the write, key of the map, number of the write, CRC-32 of the header's other fields
//! and of the payload. A block of which the
//! map (`stamps.rs`) knows the generation must carry it, whichever run wrote it. Any other
//! block with the magic must at least agree with itself. A block without the magic of
//! which nothing is known cannot be verified and is no error.

use std::sync::Arc;

use crate::job::Stream;
use crate::pattern::sizes::Direction;
use crate::target::aftermath::{Aftermath, Place};
use crate::target::durable::{Durable, Promise};
use crate::target::stamps::{GENERATION, IN_FLIGHT, Stamps, UNKNOWN_BEFORE};

const MAGIC: u64 = u64::from_le_bytes(*b"ioplanVB");
const HEADER_BYTES: usize = 48;
const CRC_AT: usize = 40;

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
    /// Blocks that a power cut left as they were last written, or took back, as it may.
    pub kept: u64,
    pub rolled_back: u64,
    pub aftermath: Aftermath,
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
    fua: bool,
    flushes: Flushes,
}

/// A block, with the generation that was acknowledged.
type Written = (u64, u32);

/// What a flush will have made durable: the writes that completed before it was issued.
#[derive(Debug, Default)]
struct Flushes {
    wanted: bool,
    pending: Vec<Written>,
    issued: u64,
    in_flight: Vec<(u64, Vec<Written>)>,
}

/// What a block says of itself.
struct Header {
    stamped: bool,
    offset: u64,
    generation: u32,
    key: u64,
    place: Place,
    whole: bool,
}

impl Header {
    fn of(block: &[u8]) -> Self {
        let [magic, offset, generation, key, write, crc] =
            [0, 1, 2, 3, 4, 5].map(|at| word(block, at));
        Self {
            stamped: magic == MAGIC,
            offset,
            generation: generation as u32,
            key,
            place: Place::of(write, generation),
            whole: crc == u64::from(checksum(block)),
        }
    }
}

/// How a block was found.
enum Found {
    Right,
    Unknown,
    Kept,
    RolledBack { stamped: bool },
}

impl Verifier {
    pub fn new(block_bytes: u64, stamps: Arc<Stamps>, stream: &Stream) -> Self {
        assert!(block_bytes as usize > HEADER_BYTES);
        Self {
            block_bytes: block_bytes as usize,
            stamps,
            rng: fastrand::Rng::new(),
            in_flight: Vec::new(),
            fua: stream.fua,
            flushes: Flushes {
                wanted: stream.sync_every.is_some(),
                ..Flushes::default()
            },
        }
    }

    /// A flush is about to be issued; returns its number.
    pub fn begin_flush(&mut self) -> u64 {
        let flushes = &mut self.flushes;
        flushes.issued += 1;
        let covered = std::mem::take(&mut flushes.pending);
        flushes.in_flight.push((flushes.issued, covered));
        flushes.issued
    }

    /// What a flush that failed covers, the next one covers.
    pub fn end_flush(&mut self, number: u64, success: bool) {
        let mut flights = self.flushes.in_flight.iter();
        let Some(at) = flights.position(|(one, _)| *one == number) else {
            return;
        };
        let (_, covered) = self.flushes.in_flight.swap_remove(at);
        if !success {
            return self.flushes.pending.extend(covered);
        }
        for (block, generation) in covered {
            self.flushed(block, generation);
        }
    }

    /// A later generation may have been written meanwhile, or made durable.
    fn flushed(&self, block: u64, generation: u32) {
        let last = self.stamps.get(block) & GENERATION;
        if last == 0 {
            return;
        }
        let distance = age(last, generation);
        let known = self.stamps.durable(block).distance;
        if known.is_none_or(|known| distance < known) {
            let durable = Durable::last(Promise::Flush, self.stamps.epoch());
            let distance = Some(distance);
            let durable = Durable {
                distance,
                ..durable
            };
            self.stamps.set_durable(block, durable);
            self.stamps.set_flushed(block);
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
        let (write, blocks) = (self.stamps.next_write(), buffer.len() / self.block_bytes);
        for (at, block) in buffer.chunks_exact_mut(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let before = self.stamps.get(number);
            let (durable, epoch) = (self.stamps.durable(number), self.stamps.epoch());
            let mut entry = self.next_entry(before);
            if before == 0 {
                self.stamps.set_durable(number, Durable::nothing(epoch));
            } else {
                if durable.epoch != epoch {
                    entry |= UNKNOWN_BEFORE;
                }
                self.stamps.set_durable(number, durable.behind(epoch));
            }
            self.stamps.set(number, entry);
            let header = [
                MAGIC,
                number * self.block_bytes as u64,
                u64::from(entry & GENERATION) | Place::new(write, at, blocks).bits(),
                self.stamps.key(),
                write,
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
            let durable = self.stamps.durable(number);
            let distance = durable.distance.map(|distance| distance.saturating_sub(1));
            let durable = Durable {
                distance,
                ..durable
            };
            self.stamps.set_durable(number, durable);
            self.stamps.set(number, before);
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
            if self.fua {
                let durable = Durable::last(Promise::Fua, self.stamps.epoch());
                self.stamps.set_durable(number, durable);
            } else if self.flushes.wanted {
                self.flushes.pending.push((number, generation));
            }
        }
    }

    /// Checks what was read.
    fn check(&self, offset_bytes: u64, buffer: &[u8]) -> Verdict {
        let mut verdict = Verdict {
            aftermath: self.aftermath(offset_bytes, buffer),
            ..Verdict::default()
        };
        let first = offset_bytes / self.block_bytes as u64;
        for (at, block) in buffer.chunks_exact(self.block_bytes).enumerate() {
            let number = first + at as u64;
            let offset_bytes = number * self.block_bytes as u64;
            verdict.read_bytes += self.block_bytes as u64;
            let found = self.judge(number, offset_bytes, block);
            verdict.kept += u64::from(matches!(found, Ok(Found::Kept)));
            verdict.rolled_back += u64::from(matches!(found, Ok(Found::RolledBack { .. })));
            match found {
                Ok(Found::Unknown | Found::RolledBack { stamped: false }) => {}
                Ok(_) => verdict.verified_bytes += self.block_bytes as u64,
                Err((fault, what)) => {
                    if fault == Fault::LostFlushed {
                        verdict.aftermath.lost(self.stamps.flushed(number));
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
        let generation = header.generation & GENERATION;
        let age = age(last, generation);
        let settled = if stamped && whole && here {
            generation
        } else {
            0
        };
        self.stamps.set(number, settled);
        let seen = Durable::last(Promise::Seen, self.stamps.epoch());
        self.stamps.set_durable(number, seen);
        if !whole {
            let what = "the block is part of one write and part of another".to_owned();
            return Err((Fault::Torn, what));
        }
        if !here {
            let what = format!("the block was written for offset {}", header.offset);
            return Err((Fault::Misdirected, what));
        }
        if stamped && age > GENERATION / 2 {
            let what = format!("generation {generation}, of which the last is {last}");
            return Err((Fault::Foreign, what));
        }
        match durable.distance {
            _ if stamped && age == 0 => Ok(Found::Kept),
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
            let what = "the checksum does not match the data".to_owned();
            return Err((Fault::Checksum, what));
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

/// How many generations one is before the last one.
fn age(last: u32, generation: u32) -> u32 {
    (last + GENERATION - generation) % GENERATION
}

fn back(last: u32, generations: u32) -> u32 {
    match (last + GENERATION - generations) % GENERATION {
        0 => GENERATION,
        generation => generation,
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
        promising(file, false)
    }

    /// Of a stream with FUA, or else with flushes.
    fn promising(file: Option<&str>, fua: bool) -> Verifier {
        let stream = serde_json::json!({
            "pattern": "random", "read_percent": 100.0, "read_sizes": [], "write_sizes": [],
            "region_start_bytes": 0, "region_end_bytes": 0, "fua": fua, "sync_every": 9});
        let job = serde_json::json!({
            "target": "/dev/zero", "capacity_bytes": 4 << 20, "block_bytes": 512,
            "stamps": file, "streams": [stream]});
        let job: Job = serde_json::from_value(job).expect("a job");
        let stamps = Arc::new(Stamps::open(&job).expect("a map"));
        Verifier::new(512, stamps, &job.streams[0])
    }

    /// A map in a file, and what a verifier wrote before a cut of the power.
    fn cut(fua: bool, work: impl Fn(&mut Verifier) -> Vec<Vec<u8>>) -> (Verifier, Vec<Vec<u8>>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let written = work(&mut promising(path.to_str(), fua));
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        let one = 1u64.to_le_bytes();
        std::os::unix::fs::FileExt::write_all_at(&file.expect("it"), &one, 48).expect("a write");
        (promising(path.to_str(), fua), written)
    }

    fn flush(verifier: &mut Verifier) {
        let number = verifier.begin_flush();
        verifier.end_flush(number, true);
    }

    #[test]
    fn a_cut_may_take_back_what_no_flush_covers() {
        let (later, written) = cut(false, |verifier| {
            (0..3).map(|_| write(verifier, 8192)).collect()
        });
        let verdict = later.check(8192, &written[0]);
        assert_eq!((verdict.rolled_back, verdict.mismatches), (8, vec![]));
        // What it was found to be it has to stay.
        assert_eq!(faults(&later, 8192, &written[2]), [Fault::Stale; 8]);
        let (later, _) = cut(false, |verifier| vec![write(verifier, 8192)]);
        let verdict = later.check(8192, &[0; 4096]);
        assert_eq!((verdict.rolled_back, verdict.mismatches), (8, vec![]));
    }

    #[test]
    fn a_cut_may_not_take_back_what_a_flush_covers() {
        let work = |verifier: &mut Verifier| {
            let old = write(verifier, 8192);
            let flushed = write(verifier, 8192);
            let number = verifier.begin_flush();
            let during = write(verifier, 8192);
            verifier.end_flush(number, true);
            vec![old, flushed, during]
        };
        for (found, kept, rolled_back, lost) in [(2, 8, 0, 0), (1, 0, 8, 0), (0, 0, 0, 8)] {
            let (later, written) = cut(false, work);
            let verdict = later.check(8192, &written[found]);
            assert_eq!((verdict.kept, verdict.rolled_back), (kept, rolled_back));
            let lost_flushed = verdict.mismatches.iter();
            let lost_flushed = lost_flushed.filter(|one| one.fault == Fault::LostFlushed);
            assert_eq!(lost_flushed.count(), lost);
        }
        let (later, _) = cut(false, work);
        assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::LostFlushed; 8]);
    }

    #[test]
    fn a_flush_that_fails_promises_nothing() {
        let (later, written) = cut(false, |verifier| {
            let old = write(verifier, 8192);
            write(verifier, 8192);
            let number = verifier.begin_flush();
            verifier.end_flush(number, false);
            vec![old]
        });
        assert_eq!(later.check(8192, &written[0]).rolled_back, 8);
    }

    /// As those do whose power goes while they are written.
    #[test]
    fn a_write_that_fails_takes_back_no_promise() {
        let work = |verifier: &mut Verifier| {
            let old = write(verifier, 8192);
            let flushed = write(verifier, 8192);
            flush(verifier);
            let mut failed = vec![0xa5; 4096];
            verifier.stamp(8192, &mut failed);
            verifier.complete(Direction::Write, 8192, 4096, false, None);
            assert_eq!(faults(verifier, 8192, &[0; 4096]), [], "not known yet");
            assert_eq!(faults(verifier, 8192, &old), []);
            vec![old, flushed, failed]
        };
        for (found, kept, rolled_back) in [(2, 8, 0), (1, 0, 8)] {
            let (later, written) = cut(false, work);
            let verdict = later.check(8192, &written[found]);
            assert_eq!((verdict.kept, verdict.rolled_back), (kept, rolled_back));
        }
        let (later, written) = cut(false, work);
        assert_eq!(faults(&later, 8192, &written[0]), [Fault::LostFlushed; 8]);
        let (later, _) = cut(false, work);
        assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::LostFlushed; 8]);
    }

    #[test]
    fn a_write_with_fua_is_kept() {
        let work = |verifier: &mut Verifier| (0..2).map(|_| write(verifier, 8192)).collect();
        let (later, written) = cut(true, work);
        assert_eq!(later.check(8192, &written[1]).kept, 8);
        let (later, written) = cut(true, work);
        assert_eq!(faults(&later, 8192, &written[0]), [Fault::LostFua; 8]);
        let (later, written) = cut(true, work);
        let torn = [&written[1][..256], &written[0][256..]].concat();
        assert_eq!(faults(&later, 8192, &torn)[0], Fault::Torn);
        let (later, written) = cut(true, work);
        assert_eq!(faults(&later, 4096, &written[0]), [Fault::Misdirected; 8]);
    }

    #[test]
    fn what_was_read_after_a_cut_survives_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let path = path.to_str();
        let count = |cuts: u64| {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(path.expect("a path"));
            let file = file.expect("the map");
            std::os::unix::fs::FileExt::write_all_at(&file, &cuts.to_le_bytes(), 48).expect("it");
        };
        let mut first = promising(path, false);
        let (old, new) = (write(&mut first, 8192), write(&mut first, 8192));
        count(1);
        assert_eq!(promising(path, false).check(8192, &new).kept, 8);
        count(2);
        let later = promising(path, false);
        assert_eq!(faults(&later, 8192, &old), [Fault::OlderThanDurable; 8]);
        // A write since the cut, of which nothing was read, is strict again.
        count(3);
        let mut third = promising(path, false);
        let newest = write(&mut third, 8192);
        assert_eq!(faults(&third, 8192, &newest), []);
        flush(&mut third);
        count(4);
        let fourth = promising(path, false);
        assert_eq!(faults(&fourth, 8192, &old), [Fault::LostFlushed; 8]);
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
