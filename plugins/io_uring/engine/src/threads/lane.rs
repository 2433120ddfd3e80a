//! A lane is one thread of a stream: it decides the next I/O and counts the last.
//!
//! It knows nothing of how I/O is done. In io_uring mode its thread owns it; in sync
//! mode the lane's slots share it behind a lock.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::job::{Job, Stream};
use crate::measure::tally::Tally;
use crate::pattern::arrivals::Arrivals;
use crate::pattern::seed::{self, Purpose};
use crate::pattern::sizes::{Direction, Mix, Sizes};
use crate::pattern::walk::{ThreadShare, Walk};
use crate::target::data::Filler;
use crate::target::verify::Verifier;
use crate::threads::conditions::{Load, Usage};
use crate::threads::message::{LaneEnd, Message};
use crate::threads::schedule::{Interval, Schedule};
use crate::threads::shared::{END_DRAIN_NS, IoError, Shared};

const REDRAWS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Io(Direction),
    Flush,
}

#[derive(Debug, Clone, Copy)]
pub struct Op {
    pub kind: Kind,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    /// Where its latency counts from: the intended start in an open loop; in a
    /// closed one it is set when the I/O is issued.
    pub start_ns: u64,
    /// Whether it started in the measured part.
    pub measured: bool,
}

impl Op {
    pub fn modifies(&self) -> bool {
        matches!(self.kind, Kind::Io(Direction::Write | Direction::Trim))
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy)]
pub enum Next {
    Op(Op),
    /// Nothing before this time.
    Wait(u64),
    /// Nothing before an I/O under way has completed.
    Blocked,
    /// No more I/O in this run.
    Over,
}

/// When a slot of the queue depth was first and last busy in the measured part.
#[derive(Debug, Clone, Copy)]
struct SlotTime {
    /// u64::MAX as long as it was not.
    first_ns: u64,
    last_ns: u64,
}

impl SlotTime {
    const NEVER: Self = Self {
        first_ns: u64::MAX,
        last_ns: 0,
    };
}

/// Which thread of which stream.
#[derive(Debug, Clone, Copy)]
pub struct LaneId {
    pub lane: usize,
    pub stream: usize,
    pub thread: usize,
}

pub struct Lane {
    id: LaneId,
    shared: Arc<Shared>,
    messages: Sender<Message>,
    schedule: Schedule,
    begun_ns: u64,
    interval: Interval,
    /// Whether `interval` is one of the warm-up.
    warming_up: bool,
    boundary_ns: u64,
    rng: fastrand::Rng,
    mix: Mix,
    sizes: [Sizes; 2],
    walk: Walk,
    /// The walk from its beginning, for the measured part starts there.
    fresh_walk: Walk,
    arrivals: Option<Arrivals>,
    /// Nothing but I/O after I/O: no rate, no limit, no flushes, no verification.
    plain: bool,
    filler: Filler,
    verifier: Option<Verifier>,
    deferred: Option<Op>,
    sync_every: Option<u64>,
    unsynced_writes: u64,
    measuring: bool,
    own_thread: bool,
    exhausted: bool,
    succeeded: bool,
    over_ns: Option<u64>,
    tally: Tally,
    slots: Vec<SlotTime>,
    lost_ios: u64,
    /// When the measured part began, and the thread's time then.
    usage_before: Option<(u64, Usage)>,
}

impl Lane {
    pub fn new(
        job: &Job,
        id: LaneId,
        own_thread: bool,
        shared: Arc<Shared>,
        messages: Sender<Message>,
    ) -> Self {
        let stream = &job.streams[id.stream];
        let generator = |purpose| seed::generator(job.seed, id.stream, id.thread, purpose);
        let share = ThreadShare {
            thread: id.thread,
            threads: stream.threads,
            scatter_seed: seed::derive(job.seed, id.stream, 0, Purpose::Scatter),
            cover_seed: seed::derive(job.seed, id.stream, 0, Purpose::Cover),
        };
        let walk = Walk::new(stream, job.block_bytes, job.passes, share);
        let smallest_bytes = stream.used_sizes().min().unwrap_or(job.block_bytes);
        let limited = job.limit_bytes.is_some();
        let more = stream.rate.is_some() || stream.sync_every.is_some() || stream.verify;
        let nonce = seed::mix(job.seed ^ crate::measure::clock::monotonic_ns());
        Self {
            id,
            schedule: Schedule::new(0, 0, None, job.interval_ns),
            begun_ns: 0,
            interval: 0,
            warming_up: false,
            boundary_ns: u64::MAX,
            rng: generator(Purpose::Operations),
            mix: Mix::new(stream),
            sizes: sizes_of(stream),
            fresh_walk: walk.clone(),
            walk,
            arrivals: arrivals_of(stream, id.thread, generator(Purpose::Arrivals)),
            filler: Filler::new(&stream.data, smallest_bytes, generator(Purpose::Data)),
            verifier: stream.verify.then(|| Verifier::new(job.block_bytes, nonce)),
            plain: !limited && !more,
            deferred: None,
            sync_every: stream.sync_every,
            unsynced_writes: 0,
            measuring: false,
            own_thread,
            exhausted: false,
            succeeded: false,
            over_ns: None,
            tally: Tally::new(),
            slots: vec![SlotTime::NEVER; stream.qd],
            lost_ios: 0,
            usage_before: None,
            shared,
            messages,
        }
    }

    /// The run begins.
    pub fn begin(&mut self, schedule: Schedule) {
        self.begun_ns = self.shared.clock.now_ns();
        self.schedule = schedule;
        self.enter_interval(schedule.interval_at(schedule.warmup_start_ns));
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.start_at(schedule.warmup_start_ns);
        }
    }

    fn enter_interval(&mut self, interval: Interval) {
        self.interval = interval;
        self.warming_up = self.schedule.is_warmup(interval);
        self.boundary_ns = self.schedule.boundary_ns(interval);
    }

    pub fn id(&self) -> LaneId {
        self.id
    }

    /// A worker wakes up at least here.
    pub fn boundary_ns(&self) -> u64 {
        self.boundary_ns.min(self.schedule.end_ns)
    }

    pub fn filler(&mut self) -> &mut Filler {
        &mut self.filler
    }

    /// Hands the interval's counts over when it has ended. To be called before
    /// anything that was observed at `now_ns` is counted.
    #[inline(always)]
    pub fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.boundary_ns {
            self.flush_counts(now_ns);
        }
    }

    #[cold]
    fn flush_counts(&mut self, now_ns: u64) {
        let ended = self.interval;
        self.enter_interval(self.schedule.interval_at(now_ns));
        let reported = self.interval;
        self.send_counts(ended, reported, now_ns);
    }

    fn send_counts(&mut self, interval: Interval, reported: Interval, now_ns: u64) {
        // The main thread is gone only when the process is about to end.
        let _ = self.messages.send(Message::Counts {
            lane: self.id.lane,
            interval,
            reported,
            backlog_ios: self.backlog(now_ns),
            counts: Box::new(self.tally.drain()),
        });
    }

    fn backlog(&self, now_ns: u64) -> u64 {
        let until_ns = now_ns.min(self.schedule.end_ns);
        self.arrivals
            .as_ref()
            .map_or(0, |arrivals| arrivals.backlog(until_ns))
    }

    /// The next I/O. With `reserve`, one whose time has not come is given as well,
    /// and the caller waits for it.
    pub fn next(&mut self, now_ns: u64, reserve: bool) -> Next {
        if self.is_over(now_ns) {
            return Next::Over;
        }
        self.next_unless_over(now_ns, reserve)
    }

    /// The same for a caller that has just asked `is_over`, which holds for a batch.
    #[inline(always)]
    pub fn next_unless_over(&mut self, now_ns: u64, reserve: bool) -> Next {
        let measured = now_ns >= self.schedule.start_ns;
        if self.plain && measured == self.measuring {
            if let Some(op) = self.draw(now_ns, measured) {
                return Next::Op(op);
            }
            return self.end_of_work(now_ns);
        }
        self.next_in_general(now_ns, reserve)
    }

    #[inline(never)]
    fn next_in_general(&mut self, now_ns: u64, reserve: bool) -> Next {
        if let Some(op) = self.deferred.take() {
            return self.admit(op);
        }
        if self.flush_is_due() {
            return Next::Op(self.flush(now_ns));
        }
        let start_ns = match &self.arrivals {
            None => now_ns,
            Some(arrivals) => {
                let start_ns = arrivals.next_ns();
                if start_ns >= self.schedule.end_ns || (start_ns > now_ns && !reserve) {
                    return Next::Wait(start_ns.min(self.schedule.end_ns));
                }
                start_ns
            }
        };
        self.start_io(start_ns, now_ns)
    }

    /// Whether no more I/O is to start; notes since when.
    #[inline(always)]
    pub fn is_over(&mut self, now_ns: u64) -> bool {
        let over = now_ns >= self.schedule.end_ns || self.exhausted || self.shared.stopped();
        if over && self.over_ns.is_none() {
            self.over_ns = Some(now_ns.min(self.schedule.end_ns));
        }
        over
    }

    fn start_io(&mut self, start_ns: u64, now_ns: u64) -> Next {
        let measured = start_ns >= self.schedule.start_ns;
        if measured && !self.measuring {
            self.measuring = true;
            self.usage_before = Some((now_ns, Usage::now()));
            self.walk = self.fresh_walk.clone();
        }
        let Some(op) = self.draw(start_ns, measured) else {
            return self.end_of_work(now_ns);
        };
        if measured && !self.shared.claim(op.size_bytes) {
            return self.end_of_work(now_ns);
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.advance(op.size_bytes);
        }
        if op.kind == Kind::Io(Direction::Write) {
            self.unsynced_writes += 1;
        }
        self.admit(op)
    }

    #[cold]
    fn end_of_work(&mut self, now_ns: u64) -> Next {
        self.exhausted = true;
        self.is_over(now_ns);
        Next::Over
    }

    #[inline(always)]
    fn draw(&mut self, start_ns: u64, measured: bool) -> Option<Op> {
        let direction = self.mix.pick(&mut self.rng);
        let sizes = &self.sizes[usize::from(direction != Direction::Read)];
        let size_bytes = sizes.pick(&mut self.rng);
        let place = match self.walk.next(size_bytes, &mut self.rng) {
            Some(place) => place,
            // A warm-up that is longer than the passes does them again.
            None if !measured => {
                self.walk = self.fresh_walk.clone();
                self.walk.next(size_bytes, &mut self.rng)?
            }
            None => return None,
        };
        Some(Op {
            kind: Kind::Io(direction),
            offset_bytes: place.offset_bytes,
            size_bytes: place.size_bytes,
            start_ns,
            measured,
        })
    }

    fn flush_is_due(&self) -> bool {
        self.sync_every
            .is_some_and(|every| self.unsynced_writes >= every)
    }

    fn flush(&mut self, now_ns: u64) -> Op {
        self.unsynced_writes = 0;
        Op {
            kind: Kind::Flush,
            offset_bytes: 0,
            size_bytes: 0,
            start_ns: now_ns,
            measured: now_ns >= self.schedule.start_ns,
        }
    }

    /// In a stream that verifies, no write may meet another I/O on its blocks: take
    /// another place if the pattern allows, else wait.
    #[inline]
    fn admit(&mut self, op: Op) -> Next {
        if self.verifier.is_none() {
            return Next::Op(op);
        }
        self.admit_verified(op)
    }

    #[inline(never)]
    fn admit_verified(&mut self, mut op: Op) -> Next {
        let Some(verifier) = &mut self.verifier else {
            return Next::Op(op);
        };
        for _ in 0..REDRAWS {
            if !verifier.conflicts(op.offset_bytes, op.size_bytes, op.modifies()) {
                verifier.begin(op.offset_bytes, op.size_bytes, op.modifies());
                return Next::Op(op);
            }
            if !self.walk.may_redraw() {
                break;
            }
            if let Some(place) = self.walk.next(op.size_bytes, &mut self.rng) {
                op.offset_bytes = place.offset_bytes;
            }
        }
        self.deferred = Some(op);
        Next::Blocked
    }

    /// Makes the data of a write.
    #[inline]
    pub fn prepare(&mut self, op: &Op, buffer: &mut [u8]) {
        self.filler.refresh(buffer);
        if let Some(verifier) = &mut self.verifier {
            verifier.stamp(op.offset_bytes, buffer);
        }
    }

    pub fn verifies(&self) -> bool {
        self.verifier.is_some()
    }

    /// Whether its latency counts from its issue, and not from an intended start.
    #[inline]
    pub fn starts_when_issued(&self, op: &Op) -> bool {
        self.arrivals.is_none() || op.kind == Kind::Flush
    }

    /// The I/O is about to be handed to the kernel.
    #[inline(always)]
    pub fn issue(&mut self, slot: usize, op: &mut Op, now_ns: u64) {
        if self.starts_when_issued(op) {
            op.start_ns = now_ns;
        }
        if op.measured {
            let time = &mut self.slots[slot];
            time.first_ns = time.first_ns.min(now_ns);
        }
    }

    /// The I/O was seen to be complete. `result` is bytes, or minus errno; `data` is
    /// what was read, where it is to be verified.
    #[inline(always)]
    pub fn complete(
        &mut self,
        slot: usize,
        op: &Op,
        result: i64,
        now_ns: u64,
        data: Option<&[u8]>,
    ) {
        if op.measured {
            self.slots[slot].last_ns = now_ns;
        }
        let expected = match op.kind {
            Kind::Io(Direction::Read | Direction::Write) => op.size_bytes as i64,
            _ => 0,
        };
        let success = result == expected;
        if self.verifier.is_some() {
            self.verify(op, success, data);
        }
        if !success {
            return self.error(op, result);
        }
        if !self.succeeded {
            self.succeeded = true;
            self.shared.succeeded();
        }
        if self.counts(op) {
            match op.kind {
                Kind::Io(direction) => {
                    let latency_ns = now_ns.saturating_sub(op.start_ns);
                    self.tally.record(direction, latency_ns, op.size_bytes);
                }
                Kind::Flush => self.tally.sync_ios += 1,
            }
        }
    }

    /// What started in the warm-up and ends after it is counted nowhere.
    #[inline(always)]
    fn counts(&self, op: &Op) -> bool {
        op.measured != self.warming_up
    }

    #[cold]
    fn error(&mut self, op: &Op, result: i64) {
        let errno = if result < 0 { -result as i32 } else { 0 };
        self.count_error(op);
        self.shared.failed(io_error(op, errno));
    }

    fn count_error(&mut self, op: &Op) {
        if self.counts(op) {
            self.tally.error(match op.kind {
                Kind::Io(direction) => direction,
                Kind::Flush => Direction::Write,
            });
        }
    }

    #[inline(never)]
    fn verify(&mut self, op: &Op, success: bool, data: Option<&[u8]>) {
        let counts = self.counts(op);
        let Some(verifier) = &mut self.verifier else {
            return;
        };
        let Kind::Io(direction) = op.kind else {
            return;
        };
        verifier.end(op.offset_bytes, op.size_bytes);
        if direction == Direction::Trim || (direction == Direction::Write && !success) {
            verifier.forget(op.offset_bytes, op.size_bytes);
        }
        let Some(data) = data.filter(|_| success && direction == Direction::Read) else {
            return;
        };
        let verdict = verifier.check(op.offset_bytes, data);
        if counts {
            self.tally.verified_bytes += verdict.verified_bytes;
            self.tally.verify_errors += verdict.errors;
        }
        if let Some(mismatch) = verdict.first {
            self.shared.mismatched(mismatch);
        }
    }

    /// A reserved I/O whose time did not come.
    pub fn cancel(&mut self, op: &Op) {
        if let Some(verifier) = &mut self.verifier {
            verifier.end(op.offset_bytes, op.size_bytes);
        }
    }

    /// Whether what is under way has had its time to come back.
    pub fn should_give_up(&self, now_ns: u64) -> bool {
        let own_ns = self.over_ns.map_or(u64::MAX, |over| over + END_DRAIN_NS);
        now_ns >= own_ns.min(self.shared.give_up_ns())
    }

    /// The I/O did not come back in time. That is an error, unless the run was stopped
    /// and did not wait for it long.
    pub fn record_lost(&mut self, slot: usize, op: &Op, now_ns: u64) {
        self.lost_ios += 1;
        if op.measured {
            self.slots[slot].last_ns = now_ns;
        }
        if !self.shared.stopped() {
            self.count_error(op);
            self.shared.lost(io_error(op, libc::ETIMEDOUT));
        }
    }

    /// How the thread spent the measured part, if the lane has one of its own.
    fn load(&self, now_ns: u64) -> Option<Load> {
        let before = self.usage_before.filter(|_| self.own_thread)?;
        Some(Load::between(
            self.id.stream,
            before,
            (now_ns, Usage::now()),
        ))
    }

    /// Hands over what is left.
    pub fn finish(&mut self, now_ns: u64) {
        self.tick(now_ns);
        let over_ns = self.over_ns.unwrap_or(now_ns);
        let backlog_ios = self.backlog(over_ns);
        self.send_counts(self.interval, Interval::MAX, over_ns);
        let busy = self
            .slots
            .iter()
            .filter(|slot| slot.first_ns < u64::MAX)
            .map(|slot| (slot.first_ns, slot.last_ns));
        let busy: Vec<(u64, u64)> = busy.collect();
        let _ = self.messages.send(Message::Finished {
            lane: self.id.lane,
            end: LaneEnd {
                begun_ns: self.begun_ns,
                end_ns: now_ns,
                over_ns,
                exhausted: self.exhausted,
                busy_slots: busy.len() as u64,
                busy_ns: busy
                    .iter()
                    .map(|(first, last)| last.saturating_sub(*first))
                    .sum(),
                first_ns: busy.iter().map(|slot| slot.0).min(),
                last_ns: busy.iter().map(|slot| slot.1).max(),
                backlog_ios,
                lost_ios: self.lost_ios,
                load: self.load(over_ns),
            },
        });
    }
}

fn io_error(op: &Op, errno: i32) -> IoError {
    IoError {
        errno,
        offset_bytes: op.offset_bytes,
        size_bytes: op.size_bytes,
        direction: match op.kind {
            Kind::Io(direction) => direction.name(),
            Kind::Flush => "flush",
        },
    }
}

fn sizes_of(stream: &Stream) -> [Sizes; 2] {
    let or_any = |used: bool, shares| {
        // A direction that never occurs may have any size, even none.
        let any = [crate::job::SizeShare {
            size_bytes: 512,
            percent: 100.0,
        }];
        Sizes::new(if used { shares } else { &any })
    };
    [
        or_any(stream.reads(), &stream.read_sizes),
        or_any(stream.modifies(), &stream.write_sizes),
    ]
}

fn arrivals_of(stream: &Stream, thread: usize, rng: fastrand::Rng) -> Option<Arrivals> {
    let rate = stream.rate.as_ref()?;
    let mean = |shares: &[crate::job::SizeShare]| -> f64 {
        let parts = shares
            .iter()
            .map(|share| share.size_bytes as f64 * share.percent / 100.0);
        parts.sum()
    };
    let reads = stream.read_percent * (100.0 - stream.trim_percent) / 1e4;
    let mean_bytes = match (stream.reads(), stream.modifies()) {
        (true, true) => {
            reads * mean(&stream.read_sizes) + (1.0 - reads) * mean(&stream.write_sizes)
        }
        (true, false) => mean(&stream.read_sizes),
        _ => mean(&stream.write_sizes),
    };
    Some(Arrivals::new(rate, thread, stream.threads, mean_bytes, rng))
}
