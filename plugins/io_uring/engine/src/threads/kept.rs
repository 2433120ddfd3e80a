//! Keeps what a thread issues, as the records of a trace file (`pattern/trace.rs`), in
//! the order in which it did, with how long each took.

use std::collections::VecDeque;
use std::fs::{File, remove_file};
use std::io::{BufWriter, Write};

use crate::pattern::op::{Kind, Op};
use crate::pattern::sizes::Direction;
use crate::pattern::trace::{FLAG_FUA, LONG_RECORD_BYTES, RECORD_BYTES};
use crate::threads::lane::LaneId;

const BUFFER_BYTES: usize = 1 << 20;
/// So many I/Os wait for the completion of the first of them, and then no longer.
const MOST_WAITING: usize = 1 << 18;
/// In place of a time that is not known.
const NO_RESPONSE: u64 = u64::MAX;

/// One file for each thread; one that cannot be written whole is removed, and missed.
pub struct Kept {
    path: String,
    file: Option<BufWriter<File>>,
    source: u16,
    fua: bool,
    start_ns: u64,
    /// What was issued and is not in the file; the number of the first of them.
    waiting: VecDeque<Waiting>,
    first: u64,
    /// By slot, the number of what it does.
    slots: Vec<Option<u64>>,
}

struct Waiting {
    record: [u8; RECORD_BYTES],
    response_ns: u64,
    over: bool,
}

impl Kept {
    pub fn new(prefix: &str, id: LaneId, fua: bool, slots: usize) -> Self {
        let path = format!("{prefix}.{}", id.lane);
        let file = File::create(&path).ok();
        Self {
            path,
            file: file.map(|file| BufWriter::with_capacity(BUFFER_BYTES, file)),
            source: id.lane as u16,
            fua,
            start_ns: 0,
            waiting: VecDeque::new(),
            first: 0,
            slots: vec![None; slots],
        }
    }

    /// Times count from then on.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// The I/O is about to be submitted; its time is that from which its latency counts.
    /// How long it takes is not known where it needs another attempt.
    pub fn issued(&mut self, slot: usize, op: &Op) {
        self.take(slot);
        if !op.measured || op.attempts > 0 {
            return;
        }
        self.slots[slot] = Some(self.first + self.waiting.len() as u64);
        self.waiting.push_back(Waiting {
            record: self.record(op),
            response_ns: NO_RESPONSE,
            over: false,
        });
        if self.waiting.len() > MOST_WAITING {
            self.write_first();
        }
    }

    /// The I/O has completed, with its data or with an error.
    pub fn completed(&mut self, slot: usize, op: &Op, success: bool, now_ns: u64) {
        let record = self.record(op);
        if let Some(found) = self.take(slot) {
            found.record = record; // in sync mode, it starts later than it was issued
            if success {
                found.response_ns = now_ns.saturating_sub(op.start_ns);
            }
        }
        while self.waiting.front().is_some_and(|first| first.over) {
            self.write_first();
        }
    }

    /// What the slot did, which is over; None where it is in the file already.
    fn take(&mut self, slot: usize) -> Option<&mut Waiting> {
        let place = self.slots[slot].take()?.checked_sub(self.first)?;
        let found = self.waiting.get_mut(place as usize)?;
        found.over = true;
        Some(found)
    }

    fn write_first(&mut self) {
        let Some(first) = self.waiting.pop_front() else {
            return;
        };
        self.first += 1;
        let mut made = [0; LONG_RECORD_BYTES];
        made[..RECORD_BYTES].copy_from_slice(&first.record);
        made[RECORD_BYTES..].copy_from_slice(&first.response_ns.to_le_bytes());
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
        while !self.waiting.is_empty() {
            self.write_first();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn op(start_ns: u64, attempts: u32) -> Op {
        Op {
            kind: Kind::Io(Direction::Read),
            offset_bytes: start_ns * 4096,
            size_bytes: 4096,
            start_ns,
            measured: true,
            fua: false,
            attempts: attempts as _,
            target: 0,
            tag: 0,
        }
    }

    /// Offsets in blocks, and how long each took.
    fn written(kept: &mut Kept) -> Vec<(u64, u64)> {
        kept.finish();
        let data = std::fs::read(&kept.path).unwrap();
        remove_file(&kept.path).unwrap();
        let long = |row: &[u8], at: usize| u64::from_le_bytes(row[at..at + 8].try_into().unwrap());
        let rows = data.chunks_exact(LONG_RECORD_BYTES);
        rows.map(|row| (long(row, 8) / 4096, long(row, RECORD_BYTES)))
            .collect()
    }

    #[test]
    fn each_has_its_time_in_the_order_of_issue() {
        let id = LaneId {
            lane: 0,
            stream: 0,
            thread: 0,
            place: None,
        };
        let folder = std::env::temp_dir();
        let prefix = folder.join(format!("kept-{}", std::process::id()));
        let mut kept = Kept::new(prefix.to_str().unwrap(), id, false, 3);
        let ops = [1, 2, 3, 4, 5].map(|start_ns| op(start_ns, 0));
        for (slot, op) in ops.iter().enumerate().take(3) {
            kept.issued(slot, op);
        }
        kept.completed(1, &ops[1], true, 102); // before the first
        kept.issued(1, &op(3, 1)); // another attempt of the third
        kept.completed(0, &ops[0], true, 1001);
        kept.completed(1, &op(3, 1), true, 2000);
        kept.issued(2, &ops[3]); // in its place
        kept.completed(2, &ops[3], false, 2001);
        kept.issued(0, &ops[4]); // never complete
        let unknown = NO_RESPONSE;
        let expected = [
            (1, 1000),
            (2, 100),
            (3, unknown),
            (4, unknown),
            (5, unknown),
        ];
        assert_eq!(written(&mut kept), expected);
    }
}
