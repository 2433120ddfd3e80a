//! A recorded trace: I/Os with their times, mapped from a file of fixed records.
//!
//! The layout is that of `ioplan.trace.prepared`: a header of 64 bytes, then 24 bytes for
//! each I/O in the order of their times, or 32 with the time that each one took.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::job::failure::Failure;
use crate::job::{Job, Offsets, Only, Stream, TracePace};
use crate::pattern::op::{Kind, Op};
use crate::pattern::sizes::Direction;
use crate::pattern::waits::Waits;

const MAGIC: &[u8; 8] = b"IOTRACE1";
const HEADER_BYTES: usize = 64;
pub const RECORD_BYTES: usize = 24;
/// Of a trace whose header says that each record ends with the time its I/O took.
pub const LONG_RECORD_BYTES: usize = 32;
const FLAGS_AT: usize = 32;
const FLAG_RESPONSES: u64 = 1;
const KIND_AT: usize = 20;
pub const FLAG_FUA: u8 = 1;
const PAGE_BYTES: usize = 4096;
/// After so many I/Os, the memory of those before is released.
const RELEASED_IOS: usize = 1 << 18;
/// Of what is due, so many I/Os are looked at one by one.
const MOST_COUNTED: usize = 1_000_000;

#[derive(Debug)]
pub struct TraceFile {
    base: NonNull<u8>,
    length_bytes: usize,
    record_bytes: usize,
    ios: usize,
}

// SAFETY: the mapping is only read, and lives as long as the value.
unsafe impl Send for TraceFile {}
// SAFETY: as above.
unsafe impl Sync for TraceFile {}

/// One I/O of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    pub time_ns: u64,
    pub kind: Kind,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    pub fua: bool,
}

impl TraceFile {
    fn open(path: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        let length_bytes = file.metadata()?.len() as usize;
        if length_bytes < HEADER_BYTES + RECORD_BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length_bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        let base = (address != libc::MAP_FAILED).then(|| NonNull::new(address.cast()));
        let base = base.flatten().ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the whole mapping; advice that fails changes nothing.
        unsafe { libc::madvise(address, length_bytes, libc::MADV_SEQUENTIAL) };
        let mut found = Self {
            base,
            length_bytes,
            record_bytes: RECORD_BYTES,
            ios: 0,
        };
        let flags = found.long(FLAGS_AT);
        if flags == FLAG_RESPONSES {
            found.record_bytes = LONG_RECORD_BYTES;
        }
        found.ios = (length_bytes - HEADER_BYTES) / found.record_bytes;
        let whole = found.long(8) == found.ios as u64 && flags <= FLAG_RESPONSES;
        match &found.bytes::<8>(0) == MAGIC && whole {
            true => Ok(found),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        assert!(at + N <= self.length_bytes);
        let mut found = [0; N];
        // SAFETY: inside the mapping, as was just checked.
        unsafe { std::ptr::copy_nonoverlapping(self.base.as_ptr().add(at), found.as_mut_ptr(), N) };
        found
    }

    fn long(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }

    /// Where the record of an I/O begins.
    fn at(&self, number: usize) -> usize {
        HEADER_BYTES + number * self.record_bytes
    }

    fn time_ns(&self, number: usize) -> u64 {
        self.long(self.at(number))
    }

    /// When it was complete; None where the trace does not tell.
    fn completed_ns(&self, number: usize) -> Option<u64> {
        let response_ns = self.long(self.at(number) + RECORD_BYTES);
        self.time_ns(number).checked_add(response_ns)
    }

    fn get(&self, number: usize) -> Recorded {
        let row: [u8; RECORD_BYTES] = self.bytes(self.at(number));
        let long = |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().expect("8 bytes"));
        let size = u32::from_le_bytes(row[16..20].try_into().expect("4 bytes"));
        Recorded {
            time_ns: long(0),
            kind: kind_of(row[KIND_AT]),
            offset_bytes: long(8),
            size_bytes: u64::from(size),
            fua: row[21] & FLAG_FUA != 0,
        }
    }

    fn kind(&self, number: usize) -> Kind {
        let [kind] = self.bytes(self.at(number) + KIND_AT);
        kind_of(kind)
    }

    /// The numbers of the I/Os from one time to another.
    fn part(&self, from_ns: u64, to_ns: u64) -> Range<usize> {
        let before = |at_ns: u64| first_not(0..self.ios, |number| self.time_ns(number) < at_ns);
        before(from_ns)..before(to_ns)
    }

    /// Those before that number are in the kernel's memory only, until they are needed.
    fn release(&self, number: usize) {
        let length_bytes = self.at(number) & !(PAGE_BYTES - 1);
        let address = self.base.as_ptr().cast();
        // SAFETY: inside the mapping of a file, whose pages come back when they are read.
        unsafe { libc::madvise(address, length_bytes, libc::MADV_DONTNEED) };
    }
}

/// The first number that is not so, where all that are so come before.
fn first_not(mut among: Range<usize>, is_so: impl Fn(usize) -> bool) -> usize {
    while !among.is_empty() {
        let middle = among.start + among.len() / 2;
        match is_so(middle) {
            true => among.start = middle + 1,
            false => among.end = middle,
        }
    }
    among.start
}

fn kind_of(code: u8) -> Kind {
    match code {
        0 => Kind::Io(Direction::Read),
        1 => Kind::Io(Direction::Write),
        2 => Kind::Flush,
        _ => Kind::Io(Direction::Trim),
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to the mapping.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length_bytes) };
    }
}

/// By stream; None for one that replays nothing.
pub type Traces = Vec<Option<Replayed>>;

/// A trace, and how many times as fast it is replayed.
#[derive(Debug, Clone)]
pub struct Replayed {
    file: Arc<TraceFile>,
    speed: f64,
    places: Places,
    chosen: Chosen,
    /// The I/Os of the part that is replayed, and when the first of them was recorded.
    part: Range<usize>,
    begins_ns: u64,
    /// The I/O that is next, one of those that are chosen.
    next: usize,
    /// What it waits for; None where it starts at its time.
    waits: Option<Waits>,
}

/// Which I/Os of a part are replayed, and how many of them all these are.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    only: Only,
    writes_as_reads: bool,
    share: f64,
}

impl Chosen {
    fn all(&self) -> bool {
        self.only == Only::All && !self.writes_as_reads
    }

    fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Io(Direction::Read) => self.only != Only::Writes,
            Kind::Io(Direction::Write) => self.only != Only::Reads,
            Kind::Io(Direction::Trim) | Kind::Flush => self.all(),
        }
    }

    /// What becomes of an I/O that is replayed.
    fn changed(&self, mut io: Recorded) -> Recorded {
        if self.writes_as_reads {
            io.kind = Kind::Io(Direction::Read);
            io.fua = false;
        }
        io
    }
}

/// How recorded offsets become those of the target, in units of `grid_bytes`, on which
/// all of them are; they count from the start of the region.
#[derive(Debug, Clone, Copy)]
struct Places {
    offsets: Offsets,
    grid_bytes: u64,
    base_bytes: u64,
    /// Where an I/O may begin in the region, and where it did in the trace.
    here: u64,
    there: u64,
}

impl Places {
    fn of(job: &Job, stream: &Stream, end_bytes: u64) -> Self {
        let grid_bytes = stream.align_bytes.unwrap_or(job.block_bytes).max(1);
        let largest_bytes = stream.largest_bytes();
        let region_bytes = stream
            .region_end_bytes
            .saturating_sub(stream.region_start_bytes);
        let units = |bytes: u64| bytes.saturating_sub(largest_bytes) / grid_bytes + 1;
        Self {
            offsets: stream.offsets,
            grid_bytes,
            base_bytes: stream.region_start_bytes,
            here: units(region_bytes),
            there: units(end_bytes.next_multiple_of(grid_bytes) + largest_bytes),
        }
    }

    fn place(&self, offset_bytes: u64) -> u64 {
        let unit = offset_bytes / self.grid_bytes;
        let moved = match self.offsets {
            Offsets::Recorded => return self.base_bytes.saturating_add(offset_bytes),
            Offsets::Wrapped => unit % self.here,
            Offsets::Scaled => {
                (u128::from(unit) * u128::from(self.here) / u128::from(self.there)) as u64
            }
        };
        self.base_bytes + moved * self.grid_bytes
    }
}

impl Replayed {
    pub fn all(job: &Job) -> Result<Traces, Failure> {
        let open = |stream: &Stream| stream.replay.is_some().then(|| Self::of(job, stream));
        let found = job.streams.iter().map(|stream| open(stream).transpose());
        found.collect()
    }

    fn of(job: &Job, stream: &Stream) -> Result<Self, Failure> {
        let replay = stream.replay.as_ref().expect("it has one");
        let refused =
            |why: String| Failure::bad_job(format!("stream {}: the trace {why}", stream.name));
        let path = job.traces.get(&replay.digest);
        let path = path.ok_or_else(|| refused(format!("{} has no file", replay.digest)))?;
        let file = TraceFile::open(path).map_err(|error| refused(format!("{path}: {error}")))?;
        let part = file.part(replay.from_ns, replay.to_ns.unwrap_or(u64::MAX));
        if part.is_empty() {
            return Err(refused(format!("{path} has no I/O in this part of it")));
        }
        let mut found = Self {
            begins_ns: file.time_ns(part.start),
            file: Arc::new(file),
            speed: stream.speed,
            places: Places::of(job, stream, replay.end_bytes),
            chosen: Chosen {
                only: stream.only,
                writes_as_reads: stream.writes_as_reads,
                share: replay.ios as f64 / part.len() as f64,
            },
            next: part.start,
            part,
            waits: (stream.pace == TracePace::After).then(Waits::default),
        };
        if found.waits.is_some() && found.file.record_bytes == RECORD_BYTES {
            return Err(refused(format!("{path} has no times of completion")));
        }
        let ios = found.check(job, stream).map_err(refused)?;
        if ios != replay.ios {
            return Err(refused(format!(
                "{path} has {ios} such I/Os, not {}: it has changed",
                replay.ios
            )));
        }
        found.file.release(found.part.end);
        found.skip();
        Ok(found)
    }

    /// Each I/O is on the target, in whole blocks, and of no other kind than was said.
    /// How many of them are chosen.
    fn check(&self, job: &Job, stream: &Stream) -> Result<u64, String> {
        let (mut last_ns, mut ios) = (self.begins_ns, 0);
        for number in self.part.clone() {
            let recorded = self.file.get(number);
            let in_order = recorded.time_ns >= last_ns;
            last_ns = recorded.time_ns;
            let chosen = self.chosen.has(recorded.kind);
            ios += u64::from(chosen);
            if !in_order || chosen && !self.fits(self.chosen.changed(recorded), job, stream) {
                return Err(format!(
                    "has an I/O that cannot be done: {} of {}",
                    number + 1,
                    self.file.ios
                ));
            }
        }
        Ok(ios)
    }

    fn fits(&self, io: Recorded, job: &Job, stream: &Stream) -> bool {
        let offset_bytes = self.places.place(io.offset_bytes);
        let end = offset_bytes.checked_add(io.size_bytes);
        let whole = (offset_bytes | io.size_bytes) % job.block_bytes == 0;
        let allowed = match io.kind {
            Kind::Io(Direction::Read) => stream.reads(),
            Kind::Io(Direction::Write) => stream.writes(),
            Kind::Io(Direction::Trim) => stream.trims(),
            Kind::Flush => true,
        };
        let has_room = end.is_some_and(|end| end <= stream.region_end_bytes);
        whole && allowed && has_room && io.size_bytes <= stream.largest_bytes()
    }

    /// When the next I/O is due, from the start of the replay; of the last one for ever.
    /// None while it waits for another one.
    pub fn due_ns(&self) -> Option<u64> {
        let at_ns = self.time_of(self.next.min(self.part.end - 1));
        match &self.waits {
            Some(waits) => waits.start_ns(at_ns),
            None => Some(at_ns),
        }
    }

    /// The next I/O begins: its tag, by which its completion is told.
    pub fn begin(&mut self) -> u16 {
        if self.waits.is_none() || self.is_finished() {
            return 0;
        }
        let completed_ns = self.file.completed_ns(self.next);
        let completed_ns = completed_ns.map(|at_ns| self.since_begin(at_ns));
        let (number, at_ns) = (self.next, self.time_of(self.next));
        let waits = self.waits.as_mut();
        waits.map_or(0, |waits| waits.begin(number, at_ns, completed_ns))
    }

    pub fn complete(&mut self, tag: u16, since_ns: u64) {
        if let Some(waits) = &mut self.waits {
            waits.complete(tag, since_ns);
        }
    }

    /// How many of the I/Os began when one before them was complete.
    pub fn waited(&self) -> Option<u64> {
        self.waits.as_ref().map(Waits::waited)
    }

    fn time_of(&self, number: usize) -> u64 {
        self.since_begin(self.file.time_ns(number))
    }

    /// A time of the trace as one of the replay.
    fn since_begin(&self, at_ns: u64) -> u64 {
        ((at_ns - self.begins_ns) as f64 / self.speed).round() as u64
    }

    pub fn advance(&mut self) {
        self.next += 1;
        self.skip();
        if self.waits.is_none() || self.is_finished() {
            return;
        }
        let at_ns = self.time_of(self.next);
        if let Some(waits) = &mut self.waits {
            waits.pass(at_ns);
        }
    }

    /// On to the next one that is chosen.
    fn skip(&mut self) {
        if self.chosen.all() {
            return;
        }
        while self.next < self.part.end && !self.chosen.has(self.file.kind(self.next)) {
            self.next += 1;
        }
    }

    pub fn is_finished(&self) -> bool {
        self.next >= self.part.end
    }

    /// How many I/Os were due before that time and have not been taken. Of many, that is
    /// the share of them that is replayed.
    pub fn due_before(&self, since_ns: u64) -> u64 {
        if self.waits.is_some() {
            return 0; // what waits is not due, and when it will be is not known
        }
        let rest = self.next.min(self.part.end)..self.part.end;
        let due = rest.start..first_not(rest, |number| self.time_of(number) < since_ns);
        if self.chosen.all() {
            return due.len() as u64;
        }
        if due.len() > MOST_COUNTED {
            return (due.len() as f64 * self.chosen.share).round() as u64;
        }
        due.filter(|number| self.chosen.has(self.file.kind(*number)))
            .count() as u64
    }

    /// The next I/O, and on to the one after it.
    pub fn take(&mut self, start_ns: u64, measured: bool) -> Option<Op> {
        let io = (!self.is_finished()).then(|| self.file.get(self.next))?;
        let io = self.chosen.changed(io);
        if self.next % RELEASED_IOS == 0 {
            self.file.release(self.next);
        }
        self.advance();
        Some(Op {
            kind: io.kind,
            offset_bytes: self.places.place(io.offset_bytes),
            size_bytes: io.size_bytes,
            start_ns,
            measured,
            fua: io.fua,
            attempts: 0,
            target: 0,
            tag: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[(u64, u64, u32, u8, u8)]) -> std::path::PathBuf {
        let mut bytes = [&MAGIC[..], &(rows.len() as u64).to_le_bytes(), &[0; 48]].concat();
        for (time_ns, offset, size, kind, flags) in rows {
            bytes.extend(time_ns.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend([*kind, *flags, 0, 0]);
        }
        let name = format!("ioplan-trace-{}-{}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }

    fn opened(rows: &[(u64, u64, u32, u8, u8)], speed: f64) -> Replayed {
        let path = written(rows);
        let file = TraceFile::open(path.to_str().expect("text")).expect("a trace");
        std::fs::remove_file(path).expect("removed");
        Replayed {
            part: 0..file.ios,
            file: Arc::new(file),
            speed,
            places: AS_RECORDED,
            chosen: Chosen {
                only: Only::All,
                writes_as_reads: false,
                share: 1.0,
            },
            begins_ns: 0,
            next: 0,
            waits: None,
        }
    }

    /// The same trace, of which only some is replayed.
    fn choosing(only: Only, writes_as_reads: bool, part: Range<usize>) -> Replayed {
        let mut trace = opened(&ROWS, 1.0);
        trace.chosen = Chosen {
            only,
            writes_as_reads,
            share: 0.5,
        };
        trace.begins_ns = trace.file.time_ns(part.start);
        (trace.next, trace.part) = (part.start, part);
        trace.skip();
        trace
    }

    /// When each I/O is due, and what it is.
    fn taken(mut trace: Replayed) -> Vec<(u64, Kind, u64)> {
        let mut found = Vec::new();
        while !trace.is_finished() {
            let due_ns = trace.due_ns().expect("due");
            let op = trace.take(0, true).expect("one more");
            found.push((due_ns, op.kind, op.offset_bytes));
        }
        found
    }

    #[test]
    fn what_is_not_chosen_is_left_out_and_the_rest_keeps_its_time() {
        let io = Kind::Io;
        let read = (0, io(Direction::Read), 4096);
        let write = (1_000_000, io(Direction::Write), 0);
        assert_eq!(taken(choosing(Only::Reads, false, 0..4)), [read]);
        assert_eq!(taken(choosing(Only::Writes, false, 0..4)), [write]);
        let as_read = (1_000_000, io(Direction::Read), 0);
        assert_eq!(taken(choosing(Only::All, true, 0..4)), [read, as_read]);
        assert_eq!(taken(choosing(Only::Writes, true, 0..4)), [as_read]);
        assert_eq!(choosing(Only::Writes, false, 0..4).due_before(u64::MAX), 1);
    }

    #[test]
    fn a_part_begins_with_its_first_io() {
        let trace = opened(&ROWS, 1.0);
        assert_eq!(trace.file.part(0, u64::MAX), 0..4);
        assert_eq!(trace.file.part(1, 9_000_001), 1..3);
        assert_eq!(trace.file.part(1_000_001, 9_000_001), 3..3);
        let flush = (0, Kind::Flush, 0);
        let part = taken(choosing(Only::All, false, 1..3));
        assert_eq!(part, [(0, Kind::Io(Direction::Write), 0), flush]);
    }

    const AS_RECORDED: Places = Places {
        offsets: Offsets::Recorded,
        grid_bytes: 4096,
        base_bytes: 0,
        here: 10,
        there: 100,
    };

    #[test]
    fn places_are_kept_wrapped_or_scaled() {
        let placed = |offsets, unit: u64| {
            Places {
                offsets,
                ..AS_RECORDED
            }
            .place(unit * 4096)
                / 4096
        };
        let units = [0, 1, 9, 10, 57, 99];
        assert_eq!(units.map(|unit| placed(Offsets::Recorded, unit)), units);
        assert_eq!(
            units.map(|unit| placed(Offsets::Wrapped, unit)),
            [0, 1, 9, 0, 7, 9]
        );
        assert_eq!(
            units.map(|unit| placed(Offsets::Scaled, unit)),
            [0, 0, 0, 1, 5, 9]
        );
        let in_region = |offsets| Places {
            offsets,
            base_bytes: 1 << 20,
            ..AS_RECORDED
        };
        for (offsets, unit) in [
            (Offsets::Recorded, 57),
            (Offsets::Wrapped, 7),
            (Offsets::Scaled, 5),
        ] {
            assert_eq!(in_region(offsets).place(57 * 4096), (1 << 20) + unit * 4096);
        }
    }

    const ROWS: [(u64, u64, u32, u8, u8); 4] = [
        (0, 4096, 8192, 0, 0),
        (1_000_000, 0, 4096, 1, 1),
        (1_000_000, 0, 0, 2, 0),
        (9_000_001, 16384, 4096, 3, 0),
    ];

    #[test]
    fn each_io_is_what_was_recorded_and_they_end() {
        let mut trace = opened(&ROWS, 1.0);
        let mut found = Vec::new();
        while let Some(op) = trace.take(7, true) {
            found.push((op.kind, op.offset_bytes, op.size_bytes, op.fua));
        }
        let io = |direction| Kind::Io(direction);
        assert_eq!(
            found,
            [
                (io(Direction::Read), 4096, 8192, false),
                (io(Direction::Write), 0, 4096, true),
                (Kind::Flush, 0, 0, false),
                (io(Direction::Trim), 16384, 4096, false),
            ]
        );
        assert!(trace.is_finished() && trace.due_ns() == Some(9_000_001));
    }

    #[test]
    fn twice_as_fast_is_due_in_half_the_time() {
        let mut trace = opened(&ROWS, 2.0);
        let mut due = Vec::new();
        while !trace.is_finished() {
            due.push(trace.due_ns().expect("due"));
            trace.advance();
        }
        assert_eq!(due, [0, 500_000, 500_000, 4_500_001]);
    }

    #[test]
    fn what_is_due_and_not_taken_is_counted() {
        let mut trace = opened(&ROWS, 1.0);
        assert_eq!(
            [0, 1, 1_000_000, 1_000_001].map(|at| trace.due_before(at)),
            [0, 1, 1, 3]
        );
        trace.advance();
        assert_eq!(
            [0, 1_000_001, u64::MAX].map(|at| trace.due_before(at)),
            [0, 2, 3]
        );
    }

    #[test]
    fn what_is_cut_off_is_no_trace() {
        let path = written(&ROWS);
        let whole = std::fs::read(&path).expect("read");
        for length in [0, 10, 63, 64, 87, whole.len() - 1, whole.len() - 24] {
            std::fs::write(&path, &whole[..length]).expect("written");
            assert!(
                TraceFile::open(path.to_str().expect("text")).is_err(),
                "{length}"
            );
        }
        std::fs::remove_file(path).expect("removed");
    }
}
