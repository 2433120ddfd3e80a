//! A recorded trace: I/Os with their times, mapped from a file of fixed records.
//!
//! The layout is that of `ioplan.trace.prepared`: a header of 64 bytes, then 24 bytes for
//! each I/O in the order of their times.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::job::failure::Failure;
use crate::job::{Job, Offsets, Stream};
use crate::pattern::op::{Kind, Op};
use crate::pattern::sizes::Direction;

const MAGIC: &[u8; 8] = b"IOTRACE1";
const HEADER_BYTES: usize = 64;
pub const RECORD_BYTES: usize = 24;
pub const FLAG_FUA: u8 = 1;
const PAGE_BYTES: usize = 4096;
/// After so many I/Os, the memory of those before is released.
const RELEASED_IOS: usize = 1 << 18;

#[derive(Debug)]
pub struct TraceFile {
    base: NonNull<u8>,
    length_bytes: usize,
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
        let ios = (length_bytes - HEADER_BYTES) / RECORD_BYTES;
        let found = Self {
            base,
            length_bytes,
            ios,
        };
        let told = u64::from_le_bytes(found.bytes(8));
        match &found.bytes::<8>(0) == MAGIC && told == ios as u64 {
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

    fn time_ns(&self, number: usize) -> u64 {
        u64::from_le_bytes(self.bytes(HEADER_BYTES + number * RECORD_BYTES))
    }

    fn get(&self, number: usize) -> Recorded {
        let row: [u8; RECORD_BYTES] = self.bytes(HEADER_BYTES + number * RECORD_BYTES);
        let long = |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().expect("8 bytes"));
        let size = u32::from_le_bytes(row[16..20].try_into().expect("4 bytes"));
        Recorded {
            time_ns: long(0),
            kind: match row[20] {
                0 => Kind::Io(Direction::Read),
                1 => Kind::Io(Direction::Write),
                2 => Kind::Flush,
                _ => Kind::Io(Direction::Trim),
            },
            offset_bytes: long(8),
            size_bytes: u64::from(size),
            fua: row[21] & FLAG_FUA != 0,
        }
    }
}

impl TraceFile {
    /// Those before that number are in the kernel's memory only, until they are needed.
    fn release(&self, number: usize) {
        let length_bytes = (HEADER_BYTES + number * RECORD_BYTES) & !(PAGE_BYTES - 1);
        let address = self.base.as_ptr().cast();
        // SAFETY: inside the mapping of a file, whose pages come back when they are read.
        unsafe { libc::madvise(address, length_bytes, libc::MADV_DONTNEED) };
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
    /// The I/O that is next.
    next: usize,
}

/// How recorded offsets become those of the target, in units of `grid_bytes`, on which
/// all of them are.
#[derive(Debug, Clone, Copy)]
struct Places {
    offsets: Offsets,
    grid_bytes: u64,
    /// Where an I/O may begin on the target, and where it did in the trace.
    here: u64,
    there: u64,
}

impl Places {
    fn of(job: &Job, stream: &Stream, end_bytes: u64) -> Self {
        let grid_bytes = stream.align_bytes.unwrap_or(job.block_bytes).max(1);
        let largest_bytes = stream.largest_bytes();
        let units = |bytes: u64| bytes.saturating_sub(largest_bytes) / grid_bytes + 1;
        Self {
            offsets: stream.offsets,
            grid_bytes,
            here: units(job.capacity_bytes),
            there: units(end_bytes.next_multiple_of(grid_bytes) + largest_bytes),
        }
    }

    fn place(&self, offset_bytes: u64) -> u64 {
        let unit = offset_bytes / self.grid_bytes;
        let moved = match self.offsets {
            Offsets::Recorded => return offset_bytes,
            Offsets::Wrapped => unit % self.here,
            Offsets::Scaled => {
                (u128::from(unit) * u128::from(self.here) / u128::from(self.there)) as u64
            }
        };
        moved * self.grid_bytes
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
        if file.ios as u64 != replay.ios {
            return Err(refused(format!(
                "{path} has {} I/Os, not {}: it has changed",
                file.ios, replay.ios
            )));
        }
        let found = Self {
            file: Arc::new(file),
            speed: stream.speed,
            places: Places::of(job, stream, replay.end_bytes),
            next: 0,
        };
        found.check(job, stream).map_err(refused)?;
        found.file.release(found.file.ios);
        Ok(found)
    }

    /// Each I/O is on the target, in whole blocks, and of no other kind than was said.
    fn check(&self, job: &Job, stream: &Stream) -> Result<(), String> {
        let mut last_ns = 0;
        for number in 0..self.file.ios {
            let mut io = self.file.get(number);
            io.offset_bytes = self.places.place(io.offset_bytes);
            let end = io.offset_bytes.checked_add(io.size_bytes);
            let whole = (io.offset_bytes | io.size_bytes).is_multiple_of(job.block_bytes);
            let allowed = match io.kind {
                Kind::Io(Direction::Read) => stream.reads(),
                Kind::Io(Direction::Write) => stream.writes(),
                Kind::Io(Direction::Trim) => stream.trims(),
                Kind::Flush => true,
            };
            let fits = end.is_some_and(|end| end <= job.capacity_bytes)
                && io.size_bytes <= stream.largest_bytes();
            if !(whole && allowed && fits && io.time_ns >= last_ns) {
                return Err(format!(
                    "has an I/O that cannot be done: {} of {}",
                    number + 1,
                    self.file.ios
                ));
            }
            last_ns = io.time_ns;
        }
        Ok(())
    }

    /// When the next I/O is due, from the start of the replay; of the last one for ever.
    pub fn due_ns(&self) -> u64 {
        self.time_of(self.next.min(self.file.ios - 1))
    }

    fn time_of(&self, number: usize) -> u64 {
        (self.file.time_ns(number) as f64 / self.speed).round() as u64
    }

    pub fn advance(&mut self) {
        self.next += 1;
    }

    pub fn is_finished(&self) -> bool {
        self.next >= self.file.ios
    }

    /// How many I/Os were due before that time and have not been taken.
    pub fn due_before(&self, since_ns: u64) -> u64 {
        let (mut low, mut high) = (self.next, self.file.ios);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.time_of(middle) < since_ns {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (low - self.next.min(low)) as u64
    }

    /// The next I/O, and on to the one after it.
    pub fn take(&mut self, start_ns: u64, measured: bool) -> Option<Op> {
        let io = (!self.is_finished()).then(|| self.file.get(self.next))?;
        if self.next.is_multiple_of(RELEASED_IOS) {
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
            file: Arc::new(file),
            speed,
            places: AS_RECORDED,
            next: 0,
        }
    }

    const AS_RECORDED: Places = Places {
        offsets: Offsets::Recorded,
        grid_bytes: 4096,
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
        assert!(trace.is_finished() && trace.due_ns() == 9_000_001);
    }

    #[test]
    fn twice_as_fast_is_due_in_half_the_time() {
        let mut trace = opened(&ROWS, 2.0);
        let mut due = Vec::new();
        while !trace.is_finished() {
            due.push(trace.due_ns());
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
