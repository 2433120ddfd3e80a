//! The batch of a simple stream: reads and writes in a plain closed loop, with entries of
//! the common size, into which nobody looks. What others need is asked once a batch here,
//! or not at all: at queue depth 1 a batch is an I/O.

use crate::pattern::op::{Kind, Next};
use crate::pattern::sizes::Direction;
use crate::ring::worker::Worker;

impl Worker {
    /// Queues an I/O for each free slot, up to a batch.
    #[inline(always)]
    pub fn fill_by_draws(&mut self, now_ns: u64) -> Option<Next> {
        let count = self.batch.min(self.slots.free());
        let mut queued = 0;
        // The slot that was released last is the first: its memory is still in the cache.
        for &slot in self.slots.take_many(count).iter().rev() {
            let index = slot as usize;
            let Some(op) = self.lane.draw(now_ns) else {
                break;
            };
            let write = op.kind == Kind::Io(Direction::Write);
            let (offset_bytes, size_bytes) = (op.offset_bytes, op.size_bytes);
            let buffer = self.entries.buffer_of(index, write);
            if write {
                let data = self.buffers.slice(buffer, size_bytes);
                self.lane.prepare(offset_bytes, data);
            }
            self.ops[index] = op;
            let entry = self.entries.transfer(buffer);
            // SAFETY: as in `Worker::start`.
            unsafe {
                self.ring
                    .push_transfer(entry, slot, offset_bytes, size_bytes as u32);
            }
            queued += 1;
        }
        if queued < count {
            self.slots.undo_take(count - queued);
            return Some(self.lane.end_of_work(now_ns));
        }
        self.slots.none_free().then_some(Next::Blocked)
    }

    /// Counts so many completions.
    #[inline(always)]
    pub fn count_completions(&mut self, ready: u32, now_ns: u64) {
        let free = self.slots.release_many(ready as usize);
        for (free, cqe) in free.iter_mut().zip(self.ring.completions(ready)) {
            let slot = cqe.user_data as usize;
            *free = slot as u32;
            let op = &self.ops[slot];
            self.lane.count(slot, op, i64::from(cqe.res), now_ns);
        }
        self.ring.release(ready);
    }
}
