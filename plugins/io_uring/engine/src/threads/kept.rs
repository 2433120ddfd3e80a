//! Keeps what a thread issues, as the records of a trace file (`pattern/trace.rs`).

use std::fs::{File, remove_file};
use std::io::{BufWriter, Write};

use crate::pattern::op::{Kind, Op};
use crate::pattern::sizes::Direction;
use crate::pattern::trace::{FLAG_FUA, RECORD_BYTES};
use crate::threads::lane::LaneId;

const BUFFER_BYTES: usize = 1 << 20;

/// One file for each thread; one that cannot be written whole is removed, and missed.
pub struct Kept {
    path: String,
    file: Option<BufWriter<File>>,
    source: u16,
    fua: bool,
    start_ns: u64,
}

impl Kept {
    pub fn new(prefix: &str, id: LaneId, fua: bool) -> Self {
        let path = format!("{prefix}.{}", id.lane);
        let file = File::create(&path).ok();
        Self {
            path,
            file: file.map(|file| BufWriter::with_capacity(BUFFER_BYTES, file)),
            source: id.lane as u16,
            fua,
            start_ns: 0,
        }
    }

    /// Times count from then on.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// The I/O is about to be submitted; its time is that from which its latency counts.
    pub fn issued(&mut self, op: &Op) {
        if !op.measured || op.attempts > 0 {
            return;
        }
        let made = self.record(op);
        let file = self.file.as_mut();
        if file.is_some_and(|file| file.write_all(&made).is_err()) {
            self.give_up();
        }
    }

    fn record(&self, op: &Op) -> [u8; RECORD_BYTES] {
        let (kind, offset) = match op.kind {
            Kind::Io(Direction::Read) => (0, op.offset_bytes),
            Kind::Io(Direction::Write) => (1, op.offset_bytes),
            Kind::Flush => (2, 0),
            Kind::Io(Direction::Trim) => (3, op.offset_bytes),
        };
        let fua = kind == 1 && (self.fua || op.fua);
        let mut made = [0; RECORD_BYTES];
        made[..8].copy_from_slice(&op.start_ns.saturating_sub(self.start_ns).to_le_bytes());
        made[8..16].copy_from_slice(&offset.to_le_bytes());
        made[16..20].copy_from_slice(&(op.size_bytes as u32).to_le_bytes());
        made[20] = kind;
        made[21] = if fua { FLAG_FUA } else { 0 };
        made[22..].copy_from_slice(&self.source.to_le_bytes());
        made
    }

    pub fn finish(&mut self) {
        if self.file.as_mut().is_some_and(|file| file.flush().is_err()) {
            self.give_up();
        }
    }

    #[cold]
    fn give_up(&mut self) {
        // What is buffered would be written once more, and fail once more.
        self.file.take().map(BufWriter::into_parts);
        let _ = remove_file(&self.path);
    }
}
