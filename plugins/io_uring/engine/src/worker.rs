//! The io_uring loop of one lane: prepare, enter, reap.
//!
//! One stamp is taken just before `enter` for all I/Os of a batch, one when their
//! completions are seen in the queue. A latency is the difference.

use std::sync::Arc;

use serde_json::json;

use crate::buffers::Buffers;
use crate::event::Facts;
use crate::failure::{Cause, Failure};
use crate::job::{Job, Stream};
use crate::lane::{Kind, Lane, Next, Op};
use crate::ring::{Ring, Wait};
use crate::shared::Shared;
use crate::sizes::Direction;
use crate::target::{self, PUNCH, Target, TargetKind};
use crate::uring_abi::*;

/// I/Os handed over at a time. All that are free, or the depth would not be held:
/// where handing over takes long, the others would wait outside the queue.
const LARGEST_BATCH: usize = 4096;
/// Of a batch, handed over in one system call. The kernel rings the device's doorbell
/// at the end of each: with 32 at once, a virtual disk stood idle meanwhile and did
/// 10 % less. Where I/O completes inside the call there is nothing to wait for.
const CHUNK: u32 = 8;
/// Data made for one batch: the slots that it is made for wait.
const BATCH_DATA_BYTES: u64 = 256 << 10;
/// Nearer arrivals are waited for by spinning.
const SPIN_NS: u64 = 50_000;
/// How often a sleeping worker looks at the stop flag.
const NAP_NS: u64 = 20_000_000;
/// A device that answers this fast does so inside `enter`, without an interrupt.
const INLINE_NS: u64 = 1_000;

pub struct Worker {
    lane: Lane,
    shared: Arc<Shared>,
    target: Arc<Target>,
    ring: Ring,
    buffers: Buffers,
    ops: Vec<Op>,
    free: Vec<u32>,
    fresh: Vec<u32>,
    in_flight: usize,
    batch: usize,
    /// Writes have buffers of their own, which reads do not overwrite.
    write_buffers_at: usize,
    fixed_file: bool,
    fixed_buffers: bool,
    discards: bool,
    spin: bool,
    inline: bool,
}

/// How a worker is to behave.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub spin: bool,
    pub discards: bool,
}

impl Worker {
    pub fn new(
        mut lane: Lane,
        stream: &Stream,
        shared: Arc<Shared>,
        target: Arc<Target>,
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
        let ring = Ring::new(batch as u32, stream.qd as u32);
        let mut ring = ring.map_err(|error| ring_failure(&error))?;
        let idle = Op {
            kind: Kind::Flush,
            offset_bytes: 0,
            size_bytes: 0,
            start_ns: 0,
            measured: false,
        };
        Ok(Self {
            fixed_file: ring.register_file(target.fd()),
            fixed_buffers: ring.register_buffers(&buffers),
            lane,
            shared,
            target,
            ring,
            buffers,
            ops: vec![idle; stream.qd],
            free: (0..stream.qd as u32).rev().collect(),
            fresh: Vec::with_capacity(batch),
            in_flight: 0,
            batch,
            write_buffers_at,
            discards: options.discards,
            spin: options.spin,
            inline: true,
        })
    }

    /// Registers the ring, and says what it is like.
    pub fn facts(&mut self) -> Facts {
        let registered = self.ring.register_ring();
        let mut facts = Facts::new();
        facts.insert("ring_flags".into(), json!(self.ring.flag_names()));
        facts.insert("registered_ring".into(), json!(registered));
        facts.insert("fixed_files".into(), json!(self.fixed_file));
        facts.insert("fixed_buffers".into(), json!(self.fixed_buffers));
        facts.insert("huge_pages".into(), json!(self.buffers.huge_pages()));
        facts
    }

    pub fn lane(&mut self) -> &mut Lane {
        &mut self.lane
    }

    /// Until the run is over and all I/O has come back, or has been given up.
    pub fn run(mut self) -> Result<(), Failure> {
        let mut now_ns = self.shared.clock.now_ns();
        loop {
            self.lane.tick(now_ns);
            let next = self.fill(now_ns);
            let over = matches!(next, Some(Next::Over));
            if over && self.in_flight == 0 {
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

    /// Queues I/Os for free slots: as many as a batch has, or as the lane gives. None
    /// when there may be more to queue at once.
    #[inline]
    fn fill(&mut self, now_ns: u64) -> Option<Next> {
        for _ in 0..self.batch {
            if self.free.is_empty() {
                return Some(self.blocked(now_ns));
            }
            match self.lane.next(now_ns, false) {
                Next::Op(op) => self.start(op),
                other => return Some(other),
            }
        }
        self.free.is_empty().then(|| self.blocked(now_ns))
    }

    /// All slots are busy. When the run is over, they are waited for in another way.
    fn blocked(&mut self, now_ns: u64) -> Next {
        if self.lane.over(now_ns) {
            Next::Over
        } else {
            Next::Blocked
        }
    }

    #[inline]
    fn start(&mut self, op: Op) {
        let Some(slot) = self.free.pop() else {
            unreachable!("`fill` looks for a free slot first");
        };
        let index = slot as usize;
        self.ops[index] = op;
        let buffer = self.buffer_of(index, &op);
        if op.kind == Kind::Io(Direction::Write) {
            self.lane
                .prepare(&op, self.buffers.slice(buffer, op.size_bytes));
        }
        let is_discard = op.kind == Kind::Io(Direction::Trim);
        if is_discard && self.target.kind == TargetKind::Block && !self.discards {
            return self.discard_inline(slot);
        }
        let sqe = self.entry(slot, &op, buffer);
        // SAFETY: the entry points into `buffers`, at the buffer of a slot that is not
        // free. It is not touched before the completion makes the slot free again,
        // and is leaked if that never comes.
        unsafe { self.ring.push(sqe) };
        self.fresh.push(slot);
        self.in_flight += 1;
    }

    fn buffer_of(&self, slot: usize, op: &Op) -> usize {
        match op.kind {
            Kind::Io(Direction::Write) => self.write_buffers_at + slot,
            _ => slot,
        }
    }

    #[inline]
    fn entry(&self, slot: u32, op: &Op, buffer: usize) -> Sqe {
        let (fd, flags) = if self.fixed_file {
            (0, SQE_FIXED_FILE)
        } else {
            (self.target.fd(), 0)
        };
        let sqe = Sqe {
            flags,
            fd,
            off: op.offset_bytes,
            user_data: u64::from(slot),
            ..Sqe::default()
        };
        let transfer = |fixed: u8, plain: u8| Sqe {
            opcode: if self.fixed_buffers { fixed } else { plain },
            addr: self.buffers.address(buffer) as u64,
            len: op.size_bytes as u32,
            buf_index: if self.fixed_buffers { buffer as u16 } else { 0 },
            ..sqe
        };
        match op.kind {
            Kind::Io(Direction::Read) => transfer(OP_READ_FIXED, OP_READ),
            Kind::Io(Direction::Write) => transfer(OP_WRITE_FIXED, OP_WRITE),
            Kind::Io(Direction::Trim) => discard_entry(sqe, op, self.target.kind),
            Kind::Flush => Sqe {
                opcode: OP_FSYNC,
                off: 0,
                op_flags: FSYNC_DATASYNC,
                ..sqe
            },
        }
    }

    /// A kernel without the discard command: the thread does it itself.
    fn discard_inline(&mut self, slot: u32) {
        let index = slot as usize;
        self.lane
            .issue(index, &mut self.ops[index], self.shared.clock.now_ns());
        let op = self.ops[index];
        let (fd, kind) = (self.target.fd(), self.target.kind);
        let result = target::discard(fd, kind, op.offset_bytes, op.size_bytes);
        let now_ns = self.shared.clock.now_ns();
        self.lane.tick(now_ns);
        self.lane.complete(index, &op, result, now_ns, None);
        self.free.push(slot);
    }

    #[inline]
    fn submit(&mut self, next: Option<Next>, now_ns: u64) -> Result<(), Failure> {
        let before_ns = self.shared.clock.now_ns();
        let submitted = self.fresh.len();
        for &slot in &self.fresh {
            let index = slot as usize;
            self.lane.issue(index, &mut self.ops[index], before_ns);
        }
        self.fresh.clear();
        let wait = self.wait(next, now_ns.max(before_ns));
        let entered = match wait {
            Wait::UpTo(_) if self.inline && submitted > 0 => self.enter_inline(wait),
            Wait::Poll if self.in_flight == 0 => {
                std::hint::spin_loop();
                Ok(())
            }
            Wait::UpTo(_) => self.enter_waiting(wait, before_ns, submitted),
            _ => self.ring.enter(wait, CHUNK),
        };
        entered.map_err(|error| Failure::internal("io_uring_enter", &error))
    }

    /// Where completions come inside `enter`, asking to wait for them costs time.
    #[inline]
    fn enter_inline(&mut self, wait: Wait) -> std::io::Result<()> {
        self.ring.enter(Wait::No, u32::MAX)?;
        if self.ring.ready() > 0 {
            return Ok(());
        }
        self.inline = false;
        self.ring.enter(wait, CHUNK)
    }

    #[inline]
    fn enter_waiting(
        &mut self,
        wait: Wait,
        before_ns: u64,
        submitted: usize,
    ) -> std::io::Result<()> {
        self.ring.enter(wait, CHUNK)?;
        let all_back = submitted > 0 && self.ring.ready() as usize >= submitted;
        if all_back {
            let took_ns = self.shared.clock.now_ns() - before_ns;
            self.inline = took_ns < INLINE_NS * submitted as u64;
        }
        Ok(())
    }

    #[inline]
    fn wait(&self, next: Option<Next>, now_ns: u64) -> Wait {
        let latest_ns = self.lane.boundary_ns().min(now_ns + NAP_NS);
        let until_ns = match next {
            None => return Wait::Poll,
            Some(Next::Wait(at_ns)) if self.spin && at_ns < now_ns + SPIN_NS => return Wait::Poll,
            // Wakes up early, and spins for the rest.
            Some(Next::Wait(at_ns)) if self.spin => (at_ns - SPIN_NS).min(latest_ns),
            Some(Next::Wait(at_ns)) => at_ns.min(latest_ns),
            // Beyond the end of the run, the boundary has passed.
            Some(Next::Over) => now_ns + NAP_NS,
            _ => latest_ns,
        };
        Wait::UpTo(until_ns.saturating_sub(now_ns).max(1))
    }

    /// Counts all completions that are there; returns when that was.
    #[inline]
    fn reap(&mut self) -> u64 {
        let ready = self.ring.ready();
        let now_ns = self.shared.clock.now_ns();
        if ready == 0 {
            return now_ns;
        }
        self.lane.tick(now_ns);
        for _ in 0..ready {
            let cqe = self.ring.pop();
            let slot = cqe.user_data as usize;
            let op = self.ops[slot];
            let verified = self.lane.verifies() && op.kind == Kind::Io(Direction::Read);
            let buffer = self.buffer_of(slot, &op);
            let data = verified.then(|| &*self.buffers.slice(buffer, op.size_bytes));
            self.lane
                .complete(slot, &op, i64::from(cqe.res), now_ns, data);
            self.free.push(slot as u32);
        }
        self.in_flight -= ready as usize;
        self.ring.release();
        now_ns
    }

    /// The kernel may still write to the buffers of what did not come back: they and
    /// the ring stay until the process ends.
    fn abandon(mut self, now_ns: u64) {
        let mut lost = vec![true; self.ops.len()];
        self.free
            .iter()
            .for_each(|&slot| lost[slot as usize] = false);
        for slot in (0..lost.len()).filter(|&slot| lost[slot]) {
            let op = self.ops[slot];
            self.lane.lose(slot, &op, now_ns);
        }
        self.lane.finish(now_ns);
        self.buffers.leak();
        std::mem::forget(self.ring);
    }
}

fn discard_entry(sqe: Sqe, op: &Op, kind: TargetKind) -> Sqe {
    match kind {
        TargetKind::Block => Sqe {
            opcode: OP_URING_CMD,
            off: BLOCK_URING_CMD_DISCARD,
            addr: op.offset_bytes,
            addr3: op.size_bytes,
            ..sqe
        },
        _ => Sqe {
            opcode: OP_FALLOCATE,
            addr: op.size_bytes,
            len: PUNCH as u32,
            ..sqe
        },
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
            "the kernel has no memory for a ring of this queue depth; use a lower one",
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

/// Makes a lane's worker on the calling thread, to which its ring then belongs.
pub fn make(
    job: &Job,
    lane: Lane,
    shared: &Arc<Shared>,
    target: &Arc<Target>,
    options: Options,
) -> Result<Worker, Failure> {
    let stream = &job.streams[lane.id().stream];
    Worker::new(lane, stream, shared.clone(), target.clone(), options)
}
