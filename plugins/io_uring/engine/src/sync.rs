//! The portable way: one thread for each slot of the queue depth, and system calls.
//!
//! The slots of a lane share it behind a lock, so that the sequence of I/Os is the
//! same as with io_uring.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::buffers::Buffers;
use crate::failure::Failure;
use crate::job::Stream;
use crate::lane::{Kind, Lane, Next, Op};
use crate::shared::{Shared, lock};
use crate::sizes::Direction;
use crate::target::{self, Target};

const NAP_NS: u64 = 20_000_000;
const SPIN_NS: u64 = 50_000;
/// A slot that cannot go on before another one's I/O has completed.
const BLOCKED_NS: u64 = 10_000;

/// A lane and how many of its slots are at work.
pub struct SharedLane {
    pub lane: Mutex<Lane>,
    pub active: AtomicUsize,
    /// What each slot has under way, for when it does not come back.
    under_way: Vec<Mutex<Option<Op>>>,
}

impl SharedLane {
    pub fn new(lane: Lane, slots: usize) -> Self {
        Self {
            lane: Mutex::new(lane),
            active: AtomicUsize::new(slots),
            under_way: (0..slots).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// Finishes a lane whose slots hang in the kernel.
    pub fn abandon(&self, now_ns: u64) {
        let mut lane = lock(&self.lane);
        for (slot, op) in self.under_way.iter().enumerate() {
            if let Some(op) = lock(op).take() {
                lane.lose(slot, &op, now_ns);
            }
        }
        lane.finish(now_ns);
    }

    pub fn should_give_up(&self, now_ns: u64) -> bool {
        lock(&self.lane).should_give_up(now_ns)
    }
}

pub struct Slot {
    index: usize,
    lane: Arc<SharedLane>,
    shared: Arc<Shared>,
    target: Arc<Target>,
    buffers: Buffers,
    spin: bool,
}

impl Slot {
    pub fn new(
        index: usize,
        lane: Arc<SharedLane>,
        stream: &Stream,
        shared: Arc<Shared>,
        target: Arc<Target>,
        spin: bool,
    ) -> Result<Self, Failure> {
        // One for reads and one for writes, which reads do not overwrite.
        let mut buffers = Buffers::new(2, stream.largest_bytes())?;
        if stream.writes() {
            let each_bytes = buffers.each_bytes() as u64;
            lock(&lane.lane).filler().fill(buffers.slice(1, each_bytes));
        }
        Ok(Self {
            index,
            lane,
            shared,
            target,
            buffers,
            spin,
        })
    }

    pub fn run(mut self) {
        let mut done: Option<(Op, i64, u64)> = None;
        loop {
            let next = self.turn(done.take());
            match next {
                Next::Op(op) => done = self.perform(op),
                Next::Wait(at_ns) => self.sleep_until(at_ns),
                Next::Blocked => self.sleep_until(self.shared.clock.now_ns() + BLOCKED_NS),
                Next::Over => break,
            }
        }
        if self.lane.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            lock(&self.lane.lane).finish(self.shared.clock.now_ns());
        }
    }

    /// Counts the last I/O and takes the next, under one lock.
    fn turn(&mut self, done: Option<(Op, i64, u64)>) -> Next {
        let mut lane = lock(&self.lane.lane);
        if let Some((op, result, now_ns)) = done {
            // Gone when the main thread has given the I/O up.
            if lock(&self.lane.under_way[self.index]).take().is_none() {
                return Next::Over;
            }
            lane.tick(now_ns);
            let verified = lane.verifies() && op.kind == Kind::Io(Direction::Read);
            let data = verified.then(|| &*self.buffers.slice(0, op.size_bytes));
            lane.complete(self.index, &op, result, now_ns, data);
        }
        let now_ns = self.shared.clock.now_ns();
        lane.tick(now_ns);
        let next = lane.next(now_ns, true);
        if let Next::Op(op) = &next {
            if op.kind == Kind::Io(Direction::Write) {
                lane.prepare(op, self.buffers.slice(1, op.size_bytes));
            }
        }
        next
    }

    /// Waits for its time, issues it, and gives result and time of completion. None
    /// when the run was stopped before its time.
    fn perform(&mut self, mut op: Op) -> Option<(Op, i64, u64)> {
        while self.shared.clock.now_ns() < op.start_ns {
            if self.shared.stopped() {
                lock(&self.lane.lane).cancel(&op);
                return None;
            }
            self.sleep_until(op.start_ns);
        }
        let closed_loop = {
            let mut lane = lock(&self.lane.lane);
            lane.issue(self.index, &mut op, self.shared.clock.now_ns());
            *lock(&self.lane.under_way[self.index]) = Some(op);
            lane.starts_when_issued(&op)
        };
        if closed_loop {
            // After the locks: waiting for them is no latency of the device.
            op.start_ns = self.shared.clock.now_ns();
        }
        let result = self.system_call(&op);
        Some((op, result, self.shared.clock.now_ns()))
    }

    fn system_call(&mut self, op: &Op) -> i64 {
        let (fd, offset_bytes) = (self.target.fd(), op.offset_bytes);
        match op.kind {
            Kind::Io(Direction::Read) => {
                target::read_at(fd, self.buffers.slice(0, op.size_bytes), offset_bytes)
            }
            Kind::Io(Direction::Write) => {
                target::write_at(fd, self.buffers.slice(1, op.size_bytes), offset_bytes)
            }
            Kind::Io(Direction::Trim) => {
                target::discard(fd, self.target.kind, offset_bytes, op.size_bytes)
            }
            Kind::Flush => target::flush(fd),
        }
    }

    /// Sleeps, but wakes up often enough for stop requests and interval boundaries.
    fn sleep_until(&self, at_ns: u64) {
        let now_ns = self.shared.clock.now_ns();
        let left_ns = at_ns.saturating_sub(now_ns);
        if self.spin && left_ns <= SPIN_NS {
            while self.shared.clock.now_ns() < at_ns {
                std::hint::spin_loop();
            }
            return;
        }
        let early_ns = if self.spin { SPIN_NS } else { 0 };
        let boundary_ns = lock(&self.lane.lane).boundary_ns();
        let until_boundary_ns = boundary_ns.saturating_sub(now_ns).max(1000);
        let nap_ns = (left_ns - early_ns).min(NAP_NS).min(until_boundary_ns);
        std::thread::sleep(Duration::from_nanos(nap_ns));
        lock(&self.lane.lane).tick(self.shared.clock.now_ns());
    }
}
