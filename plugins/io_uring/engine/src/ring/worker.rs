//! The io_uring loop of one thread: prepare, enter, reap.
//!
//! One time stamp is taken just before `enter` for all I/Os of a batch, one when their
//! completions are seen in the queue. The completion latency is the difference.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::job::event::Facts;
use crate::job::failure::{Cause, Failure};
use crate::job::{Job, Stream};
use crate::measure::clock::Clock;
use crate::pattern::op::{Kind, Next, Op};
use crate::pattern::sizes::Direction;
use crate::ring::entries::{Entries, Fixed};
use crate::ring::slots::Slots;
use crate::ring::{Ring, Shape, Wait};
use crate::target::buffers::Buffers;
use crate::target::passthrough;
use crate::target::{self, Target, TargetKind};
use crate::threads::apart::ApartSlice;
use crate::threads::lane::Lane;

/// I/Os submitted in one batch: all free slots, or the queue depth would not be held,
/// because the others would wait outside the queue while the batch is submitted.
const LARGEST_BATCH: usize = 4096;
/// I/Os of a batch that are submitted in one system call. The kernel rings the device's doorbell
/// at the end of each: with 32 at once, a virtual disk stood idle meanwhile and did
/// 10 % less. Where I/O completes inside the call there is nothing to wait for.
const CHUNK: u32 = 8;
/// Data generated for one batch: its slots are idle meanwhile.
const BATCH_DATA_BYTES: u64 = 256 << 10;
/// The last part of a wait for an arrival or the end of a pause, which is spun.
const SPIN_NS: u64 = 50_000;
/// How often a sleeping worker checks the stop flag.
const NAP_NS: u64 = 20_000_000;
/// A device that completes this fast does so inside `enter`, without an interrupt.
const INLINE_NS: u64 = 1_000;

pub struct Worker {
    pub(super) lane: Lane,
    /// Those of the lane; commands and flushes are for the first.
    targets: Vec<Arc<Target>>,
    pub(super) ring: Ring,
    pub(super) buffers: Buffers,
    pub(super) ops: ApartSlice<Op>,
    pub(super) slots: Slots,
    pub(super) batch: usize,
    pub(super) entries: Entries,
    fixed: Fixed,
    fua: bool,
    clock: Clock,
    discards: bool,
    polled: bool,
    spin: bool,
    inline: bool,
    /// See `simple.rs`.
    simple: bool,
}

/// What all workers of a run have in common.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub spin: bool,
    pub discards: bool,
    pub polled: bool,
}

impl Worker {
    pub fn new(
        mut lane: Lane,
        stream: &Stream,
        clock: Clock,
        targets: Vec<Arc<Target>>,
        options: Options,
    ) -> Result<Self, Failure> {
        let mixed = stream.reads() && stream.writes();
        let count = stream.qd * if mixed { 2 } else { 1 };
        let mut buffers = Buffers::new(count, stream.largest_bytes())?;
        let write_buffers_at = if mixed { stream.qd } else { 0 };
        let each_bytes = buffers.each_bytes() as u64;
        for index in 0..if stream.writes() { stream.qd } else { 0 } {
            lane.filler()
                .fill(buffers.slice(write_buffers_at + index, each_bytes));
        }
        let batch = batch_of(stream);
        let shape = Shape {
            polled: options.polled,
            wide: targets[0].namespace.is_some(),
        };
        let ring = Ring::new(batch as u32, stream.qd as u32, shape);
        let mut ring = ring.map_err(|error| ring_failure(&error))?;
        let idle = Op {
            kind: Kind::Flush,
            offset_bytes: 0,
            size_bytes: 0,
            start_ns: 0,
            measured: false,
            fua: false,
            attempts: 0,
            target: 0,
            tag: 0,
        };
        let fds: Vec<_> = targets.iter().map(|target| target.io_fd()).collect();
        let fixed = Fixed {
            file: ring.register_files(&fds),
            buffers: ring.register_buffers(&buffers),
        };
        Ok(Self {
            simple: lane.is_simple(stream) && targets[0].namespace.is_none(),
            entries: Entries::new(&targets, &buffers, stream, write_buffers_at, fixed),
            fixed,
            fua: stream.fua,
            clock,
            lane,
            targets,
            ring,
            buffers,
            ops: ApartSlice::new(idle, stream.qd),
            slots: Slots::new(stream.qd),
            batch,
            discards: options.discards,
            polled: options.polled,
            spin: options.spin,
            inline: true,
        })
    }

    /// Registers the ring, and reports its properties.
    pub fn facts(&mut self) -> Facts {
        let registered = self.ring.register_ring();
        let mut facts = Facts::new();
        facts.insert("ring_flags".into(), json!(self.ring.flag_names()));
        facts.insert("registered_ring".into(), json!(registered));
        facts.insert("fixed_files".into(), json!(self.fixed.file));
        facts.insert("fixed_buffers".into(), json!(self.fixed.buffers));
        facts.insert("huge_pages".into(), json!(self.buffers.huge_pages()));
        facts
    }

    pub fn lane(&mut self) -> &mut Lane {
        &mut self.lane
    }

    /// Runs until the run is over and all I/O has completed or been given up.
    pub fn run(mut self) -> Result<(), Failure> {
        let mut now_ns = self.clock.now_ns();
        self.lane.tick(now_ns);
        loop {
            let next = self.fill(now_ns);
            let over = matches!(next, Some(Next::Over));
            if over && self.slots.in_flight() == 0 {
                self.lane.finish(now_ns);
                return Ok(());
            }
            if over && self.lane.should_give_up(now_ns) {
                self.abandon(now_ns);
                return Ok(());
            }
            self.submit(next, now_ns)?;
            now_ns = self.reap();
        }
    }

    /// Queues I/Os for free slots, up to a batch or as many as the lane gives. None if
    /// more could be queued at once.
    #[inline(always)]
    fn fill(&mut self, now_ns: u64) -> Option<Next> {
        if self.lane.is_over(now_ns) {
            return Some(self.fill_after_end());
        }
        if self.simple && self.lane.only_draws(now_ns) {
            return self.fill_by_draws(now_ns);
        }
        self.fill_in_general(now_ns)
    }

    #[cold]
    fn fill_after_end(&mut self) -> Next {
        while let Some(slot) = self.slots.take() {
            match self.lane.next_after_end() {
                Next::Op(op) => self.start(slot, op),
                other => {
                    self.slots.undo_take(1);
                    return other;
                }
            }
        }
        Next::Over // also where no slot is free, so that what hangs is given up
    }

    #[inline(never)]
    fn fill_in_general(&mut self, now_ns: u64) -> Option<Next> {
        for _ in 0..self.batch {
            let Some(slot) = self.slots.take() else {
                return Some(Next::Blocked);
            };
            match self.lane.next_unless_over(now_ns, false) {
                Next::Op(op) => self.start(slot, op),
                other => {
                    self.slots.undo_take(1);
                    return Some(other);
                }
            }
        }
        self.slots.none_free().then_some(Next::Blocked)
    }

    #[inline(always)]
    fn start(&mut self, slot: u32, op: Op) {
        let index = slot as usize;
        self.ops[index] = op;
        let Kind::Io(direction @ (Direction::Read | Direction::Write)) = op.kind else {
            return self.start_other(slot, &op);
        };
        let write = direction == Direction::Write;
        let buffer = self.entries.buffer_of(index, write);
        if write {
            let data = self.buffers.slice(buffer, op.size_bytes);
            self.lane.prepare(op.offset_bytes, data);
        }
        if self.targets[0].namespace.is_some() {
            return self.start_command(slot, &op, buffer);
        }
        let (mut entry, size_bytes) = (self.entries.transfer(buffer), op.size_bytes as u32);
        let special = if op.fua || op.target > 0 {
            Some(self.entries.special(buffer, &op))
        } else {
            None
        };
        if let Some(special) = &special {
            entry = special;
        }
        // SAFETY: the entry points into `buffers`, at the buffer of a slot that is not
        // free. It is not touched before the completion makes the slot free again,
        // and is leaked if it never completes.
        unsafe {
            self.ring
                .push_transfer(entry, slot, op.offset_bytes, size_bytes);
        }
    }

    fn start_command(&mut self, slot: u32, op: &Op, buffer: usize) {
        let Some(namespace) = &self.targets[0].namespace else {
            unreachable!("`start` looks for it");
        };
        let write = op.kind == Kind::Io(Direction::Write);
        let address = self.buffers.address(buffer) as u64;
        let command = match op.kind {
            Kind::Flush => namespace.flush(),
            Kind::Io(_) => {
                let command = namespace.transfer(write, op.offset_bytes, address, op.size_bytes);
                match write && (self.fua || op.fua) {
                    true => passthrough::Namespace::forced(command),
                    false => command,
                }
            }
        };
        let entry = self.entries.command(buffer);
        // SAFETY: as in `start`; a flush points to no memory.
        unsafe { self.ring.push_command(&entry, slot, &command) };
    }

    #[inline(never)]
    fn start_other(&mut self, slot: u32, op: &Op) {
        let discard = op.kind != Kind::Flush;
        let kind = self.targets[op.target as usize].kind;
        if discard && kind == TargetKind::Block && !self.discards {
            return self.discard_inline(slot);
        }
        if self.targets[0].namespace.is_some() {
            return self.start_command(slot, op, slot as usize);
        }
        let entry = if discard {
            self.entries.discard(op)
        } else {
            self.entries.flush()
        };
        // SAFETY: neither of them points to memory.
        unsafe { self.ring.push(&entry, slot) };
    }

    /// Without the kernel's discard command, the thread discards by a system call.
    fn discard_inline(&mut self, slot: u32) {
        let index = slot as usize;
        self.lane
            .issue(index, &mut self.ops[index], self.clock.now_ns());
        let op = self.ops[index];
        let target = &self.targets[op.target as usize];
        let (fd, kind) = (target.fd(), target.kind);
        let result = target::discard(fd, kind, op.offset_bytes, op.size_bytes);
        let now_ns = self.clock.now_ns();
        self.lane.tick(now_ns);
        self.lane.complete(index, &op, result, now_ns, None);
        self.slots.undo_take(1);
    }

    #[inline(always)]
    fn submit(&mut self, next: Option<Next>, now_ns: u64) -> Result<(), Failure> {
        let before_ns = self.clock.now_ns();
        let submitted = self.slots.unsubmitted().len();
        let unsubmitted = self.slots.unsubmitted().iter().map(|&slot| slot as usize);
        if self.lane.only_stamps() {
            unsubmitted.for_each(|slot| self.ops[slot].start_ns = before_ns);
        } else {
            unsubmitted.for_each(|slot| self.lane.issue(slot, &mut self.ops[slot], before_ns));
        }
        self.slots.mark_submitted();
        let entered = self.enter(next, now_ns.max(before_ns), before_ns, submitted);
        entered.map_err(|error| Failure::internal("io_uring_enter", &error))
    }

    /// Submits the batch. Where I/Os complete inside that call, asking it to wait for
    /// completions as well costs time.
    #[inline(always)]
    fn enter(
        &mut self,
        next: Option<Next>,
        now_ns: u64,
        before_ns: u64,
        submitted: usize,
    ) -> std::io::Result<()> {
        if self.inline && submitted > 0 {
            self.ring.enter(Wait::No, u32::MAX)?;
            // All of them: a single one may be ready while the others need the waiting call.
            if self.ring.ready() as usize == self.slots.in_flight() {
                return Ok(());
            }
            self.inline = false;
        }
        self.enter_in_general(next, now_ns, before_ns, submitted)
    }

    #[inline(never)]
    fn enter_in_general(
        &mut self,
        next: Option<Next>,
        now_ns: u64,
        before_ns: u64,
        submitted: usize,
    ) -> std::io::Result<()> {
        match self.wait(next, now_ns) {
            Wait::Poll if self.slots.in_flight() == 0 => {
                std::hint::spin_loop();
                Ok(())
            }
            // Nothing is in flight, so that nothing has to be polled for.
            Wait::UpTo(timeout_ns) if self.polled => {
                std::thread::sleep(Duration::from_nanos(timeout_ns));
                Ok(())
            }
            wait @ Wait::UpTo(_) => self.enter_waiting(wait, before_ns, submitted),
            wait => self.ring.enter(wait, CHUNK),
        }
    }

    fn enter_waiting(
        &mut self,
        wait: Wait,
        before_ns: u64,
        submitted: usize,
    ) -> std::io::Result<()> {
        self.ring.enter(wait, CHUNK)?;
        let all_back = submitted > 0 && self.ring.ready() as usize >= submitted;
        if all_back {
            let took_ns = self.clock.now_ns() - before_ns;
            self.inline = took_ns < INLINE_NS * submitted as u64;
        }
        Ok(())
    }

    fn wait(&self, next: Option<Next>, now_ns: u64) -> Wait {
        let latest_ns = self.lane.boundary_ns().min(now_ns + NAP_NS);
        let until_ns = match next {
            // Completions of a polled ring wake nobody up.
            _ if self.polled && self.slots.in_flight() > 0 => return Wait::Poll,
            None => return Wait::Poll,
            Some(Next::Wait(at_ns)) if self.spin && at_ns < now_ns + SPIN_NS => return Wait::Poll,
            // Wake up early, and spin for the rest.
            Some(Next::Wait(at_ns)) if self.spin => (at_ns - SPIN_NS).min(latest_ns),
            Some(Next::Wait(at_ns)) => at_ns.min(latest_ns),
            // The boundary has passed.
            Some(Next::Over) => now_ns + NAP_NS,
            _ => latest_ns,
        };
        Wait::UpTo(until_ns.saturating_sub(now_ns).max(1))
    }

    /// Counts all available completions; returns the time when they were seen.
    #[inline(always)]
    fn reap(&mut self) -> u64 {
        let ready = self.ring.ready();
        let now_ns = self.clock.now_ns();
        self.lane.tick(now_ns);
        if ready == 0 {
            return now_ns;
        }
        if self.simple {
            self.count_completions(ready, now_ns);
        } else {
            self.reap_in_general(ready, now_ns);
        }
        now_ns
    }

    #[inline(never)]
    fn reap_in_general(&mut self, ready: u32, now_ns: u64) {
        let verifies = self.lane.verifies();
        let commands = self.targets[0].namespace.is_some();
        for cqe in self.ring.completions(ready) {
            let (slot, mut result) = (cqe.user_data as usize, i64::from(cqe.res));
            let op = &self.ops[slot];
            if commands {
                result = passthrough::outcome(result, op.size_bytes);
            }
            if verifies && op.kind == Kind::Io(Direction::Read) {
                let buffer = self.entries.buffer_of(slot, false);
                let data = self.buffers.slice(buffer, op.size_bytes);
                self.lane.complete(slot, op, result, now_ns, Some(data));
            } else {
                self.lane.complete(slot, op, result, now_ns, None);
            }
            self.slots.release(slot as u32);
        }
        self.ring.release(ready);
    }

    /// The kernel may still write to the buffers of I/Os that did not complete: buffers
    /// and ring stay until the process ends.
    fn abandon(mut self, now_ns: u64) {
        for slot in (0..self.ops.len()).filter(|&slot| !self.slots.is_free(slot)) {
            let op = self.ops[slot];
            self.lane.record_lost(slot, &op, now_ns);
        }
        self.lane.finish(now_ns);
        self.buffers.leak();
        std::mem::forget(self.ring);
    }
}

fn batch_of(stream: &Stream) -> usize {
    let all = stream.qd.min(LARGEST_BATCH);
    if !stream.writes() {
        return all;
    }
    let by_data = BATCH_DATA_BYTES / stream.largest_bytes();
    (by_data as usize).clamp(1, all)
}

fn ring_failure(error: &std::io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::ENOMEM) => Failure::new(
            Cause::Memory,
            "the kernel has no memory for a ring of this queue depth; use a lower one, \
             or raise the limit of locked memory (ulimit -l)",
        ),
        _ => Failure::internal("io_uring_setup", error),
    }
}

/// Whether the kernel has the discard command (Linux 6.12).
pub fn kernel_discards() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release
        .split(['.', '-'])
        .map(|part| part.trim().parse::<u32>());
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 12),
        _ => false,
    }
}

/// Makes a lane's worker on the calling thread, which then owns its ring.
pub fn make(
    job: &Job,
    lane: Lane,
    clock: Clock,
    targets: Vec<Arc<Target>>,
    options: Options,
) -> Result<Worker, Failure> {
    let stream = &job.streams[lane.id().stream];
    Worker::new(lane, stream, clock, targets, options)
}
