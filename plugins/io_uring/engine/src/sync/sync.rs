//! Blocking I/O (pread, pwrite): an I/O thread for each slot of the queue depth.
//!
//! The I/O threads of a lane share it behind a lock, so that the sequence of I/Os is the
//! same as with io_uring.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::job::Stream;
use crate::job::failure::Failure;
use crate::measure::clock::Clock;
use crate::measure::schedule::Schedule;
use crate::pattern::op::{Kind, Next, Op};
use crate::pattern::sizes::Direction;
use crate::target::buffers::Buffers;
use crate::target::{self, Target};
use crate::threads::lane::Lane;
use crate::threads::shared::{Shared, lock};

const NAP_NS: u64 = 20_000_000;
const SPIN_NS: u64 = 50_000;
/// How long to wait when an I/O of another lane has to complete first.
const BLOCKED_NS: u64 = 10_000;

/// A lane and the I/O that each of its threads has in flight, in case it never completes.
struct LaneState {
    lane: Lane,
    in_flight: Vec<Option<Op>>,
    /// How often a thread got something to do, or the end.
    turns: u64,
    /// How many threads wait for an I/O of another to complete.
    blocked: usize,
}

/// A lane, and how many I/O threads still use it. Apart from other lanes.
#[repr(align(128))]
pub struct SharedLane {
    state: Mutex<LaneState>,
    turned: Condvar,
    pub active: AtomicUsize,
}

impl SharedLane {
    pub fn new(mut lane: Lane, slots: usize) -> Self {
        lane.share(slots);
        let in_flight = vec![None; slots];
        Self {
            state: Mutex::new(LaneState {
                lane,
                in_flight,
                turns: 0,
                blocked: 0,
            }),
            turned: Condvar::new(),
            active: AtomicUsize::new(slots),
        }
    }

    pub fn begin(&self, schedule: Schedule) {
        lock(&self.state).lane.begin(schedule);
    }

    pub fn tick(&self, now_ns: u64) {
        lock(&self.state).lane.tick(now_ns);
    }

    /// Finishes a lane whose I/O threads are stuck in the kernel.
    pub fn abandon(&self, now_ns: u64) {
        let state = &mut *lock(&self.state);
        for (slot, op) in state.in_flight.iter_mut().enumerate() {
            if let Some(op) = op.take() {
                state.lane.record_lost(slot, &op, now_ns);
            }
        }
        state.lane.finish(now_ns);
    }

    /// One blocked thread asks when another got an I/O, all of them at the end.
    fn pass_on(&self, state: &mut LaneState, next: &Next) {
        match next {
            Next::Op(_) if state.blocked > 0 => self.turned.notify_one(),
            Next::Over => self.turned.notify_all(),
            _ => {}
        }
        state.turns += u64::from(matches!(next, Next::Op(_) | Next::Over));
    }

    pub fn should_give_up(&self, now_ns: u64) -> bool {
        lock(&self.state).lane.should_give_up(now_ns)
    }
}

pub struct IoThread {
    index: usize,
    lane: Arc<SharedLane>,
    shared: Arc<Shared>,
    clock: Clock,
    targets: Vec<Arc<Target>>,
    buffers: Buffers,
    open_loop: bool,
    replays: bool,
    fua: bool,
    spin: bool,
    /// The lane's `turns` when this thread last asked it.
    seen: u64,
}

/// The outcome of an I/O.
struct Completion {
    op: Op,
    result: i64,
    now_ns: u64,
}

impl IoThread {
    pub fn new(
        index: usize,
        lane: Arc<SharedLane>,
        stream: &Stream,
        shared: Arc<Shared>,
        targets: Vec<Arc<Target>>,
        spin: bool,
    ) -> Result<Self, Failure> {
        // One for reads and one for writes, which reads do not overwrite.
        let mut buffers = Buffers::new(2, stream.largest_bytes())?;
        if stream.writes() {
            let each_bytes = buffers.each_bytes() as u64;
            let filler = &mut lock(&lane.state).lane;
            filler.filler().fill(buffers.slice(1, each_bytes));
        }
        Ok(Self {
            index,
            lane,
            clock: shared.clock,
            shared,
            targets,
            buffers,
            open_loop: stream.is_open_loop(),
            replays: stream.replays_times(),
            fua: stream.fua,
            spin,
            seen: 0,
        })
    }

    pub fn run(mut self) {
        let mut completion = None;
        loop {
            match self.next_io(completion.take()) {
                Next::Op(op) => completion = self.perform(op),
                Next::Wait(at_ns) | Next::Drain(at_ns) => self.sleep_until(at_ns),
                Next::Blocked => self.await_turn(),
                Next::Over => break,
            }
        }
        if self.lane.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            lock(&self.lane.state).lane.finish(self.clock.now_ns());
        }
    }

    /// Counts the last I/O and prepares the next one, under one lock.
    #[inline]
    fn next_io(&mut self, completion: Option<Completion>) -> Next {
        let state = &mut *lock(&self.lane.state);
        let LaneState {
            lane, in_flight, ..
        } = state;
        let now_ns = completion
            .as_ref()
            .map_or_else(|| self.clock.now_ns(), |completion| completion.now_ns);
        lane.tick(now_ns);
        if let Some(Completion { op, result, .. }) = completion {
            // The main thread has given the I/O up.
            if in_flight[self.index].take().is_none() {
                return Next::Over;
            }
            let verified = lane.verifies() && op.kind == Kind::Io(Direction::Read);
            let data = verified.then(|| &*self.buffers.slice(0, op.size_bytes));
            lane.complete(self.index, &op, result, now_ns, data);
            lane.arrive(self.index, now_ns);
        }
        let mut next = lane.next(now_ns, true);
        if let Next::Op(op) = &mut next {
            if op.kind == Kind::Io(Direction::Write) {
                lane.prepare(op.offset_bytes, self.buffers.slice(1, op.size_bytes));
            }
            if lane.starts_when_issued(op) {
                lane.issue(self.index, op, now_ns);
                lane.depart(self.index);
                in_flight[self.index] = Some(*op);
            }
        }
        self.lane.pass_on(state, &next);
        self.seen = state.turns;
        next
    }

    /// Sleeps until another thread got something to do, or for a nap: an I/O becomes
    /// possible as one completes, and who completed it asks first.
    fn await_turn(&self) {
        let mut state = lock(&self.lane.state);
        if state.turns == self.seen {
            let left_ns = state.lane.boundary_ns().saturating_sub(self.clock.now_ns());
            // What is verified may be in use by another lane.
            let most_ns = if state.lane.verifies() {
                BLOCKED_NS
            } else {
                NAP_NS
            };
            let nap = Duration::from_nanos(left_ns.clamp(1000, most_ns));
            state.blocked += 1;
            let woken = self.lane.turned.wait_timeout(state, nap);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
            state.blocked -= 1;
        }
        state.lane.tick(self.clock.now_ns());
    }

    /// Waits for its start, if it has one, and performs the I/O. None if the run was
    /// stopped before.
    #[inline]
    fn perform(&mut self, mut op: Op) -> Option<Completion> {
        if self.open_loop && (self.replays || op.kind != Kind::Flush) {
            if !self.await_start(&mut op) {
                return None;
            }
        } else if op.attempts == 0 {
            // After the lock: the wait for it is no latency of the device.
            op.start_ns = self.clock.now_ns();
        }
        let result = self.system_call(&op);
        let now_ns = self.clock.now_ns();
        Some(Completion { op, result, now_ns })
    }

    /// False if the run was stopped before.
    fn await_start(&mut self, op: &mut Op) -> bool {
        while self.clock.now_ns() < op.start_ns {
            if self.shared.stopped() {
                lock(&self.lane.state).lane.cancel(op);
                return false;
            }
            self.sleep_until(op.start_ns);
        }
        let state = &mut *lock(&self.lane.state);
        state.lane.issue(self.index, op, self.clock.now_ns());
        state.lane.depart(self.index);
        state.in_flight[self.index] = Some(*op);
        true
    }

    #[inline]
    fn system_call(&mut self, op: &Op) -> i64 {
        let target = &self.targets[op.target as usize];
        let (fd, kind, offset_bytes) = (target.fd(), target.kind, op.offset_bytes);
        match op.kind {
            Kind::Io(Direction::Read) => {
                target::read_at(fd, self.buffers.slice(0, op.size_bytes), offset_bytes)
            }
            Kind::Io(Direction::Write) => {
                let data = self.buffers.slice(1, op.size_bytes);
                target::write_at(fd, data, offset_bytes, self.fua || op.fua)
            }
            Kind::Io(Direction::Trim) => target::discard(fd, kind, offset_bytes, op.size_bytes),
            Kind::Flush => target::flush(fd),
        }
    }

    /// Sleeps, but returns early for stop requests and interval boundaries.
    fn sleep_until(&self, at_ns: u64) {
        let now_ns = self.clock.now_ns();
        let left_ns = at_ns.saturating_sub(now_ns);
        if self.spin && left_ns <= SPIN_NS {
            while self.clock.now_ns() < at_ns {
                std::hint::spin_loop();
            }
            return;
        }
        let early_ns = if self.spin { SPIN_NS } else { 0 };
        let boundary_ns = lock(&self.lane.state).lane.boundary_ns();
        let until_boundary_ns = boundary_ns.saturating_sub(now_ns).max(1000);
        let nap_ns = (left_ns - early_ns).min(NAP_NS).min(until_boundary_ns);
        std::thread::sleep(Duration::from_nanos(nap_ns));
        self.lane.tick(self.clock.now_ns());
    }
}
