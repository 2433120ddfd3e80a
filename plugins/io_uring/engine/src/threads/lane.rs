//! A lane is one thread of a stream: it decides which I/O comes next, and counts the
//! completed ones.
//!
//! It does no I/O itself. In io_uring mode its thread owns it; in sync mode its I/O
//! threads share it behind a lock.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::job::{Job, Stream, TracePace};
use crate::measure::schedule::Schedule;
use crate::pattern::arrivals::Arrivals;
use crate::pattern::op::{Kind, Next, Op};
use crate::pattern::pause::Pause;
use crate::pattern::seed::{self, Purpose};
use crate::pattern::sequence::Sequence;
use crate::pattern::sizes::Direction;
use crate::target::data::Filler;
use crate::target::stamps::Stamps;
use crate::target::verify::Verifier;
use crate::threads::by_phase::ByPhase;
use crate::threads::by_target::ByTarget;
use crate::threads::commits::Commits;
use crate::threads::gaps::LaneGap;
use crate::threads::interval_counts::IntervalCounts;
use crate::threads::kept::Kept;
use crate::threads::lane_end::{LaneEnd, SlotTimes, ThreadLoad};
use crate::threads::lateness::LaneLateness;
use crate::threads::log::{Follower, Following, LOOK_NS, LogWriter};
use crate::threads::message::Message;
use crate::threads::retries::{Retries, errno_of};
use crate::threads::shared::{IoError, Shared};

const REDRAWS: usize = 100;

/// Which thread of which stream.
#[derive(Debug, Clone, Copy)]
pub struct LaneId {
    pub lane: usize,
    pub stream: usize,
    pub thread: usize,
    /// At which place among the stream's targets; None where they take turns.
    pub place: Option<usize>,
}

impl LaneId {
    /// Its number among those of its stream.
    pub fn number(&self, stream: &Stream) -> usize {
        self.place.unwrap_or(0) * stream.threads + self.thread
    }

    /// Its targets, by their places in the job's.
    pub fn targets<'a>(&self, stream: &'a Stream) -> &'a [usize] {
        let all = stream.targets();
        self.place.map_or(all, |place| &all[place..=place])
    }
}

pub struct Lane {
    id: LaneId,
    shared: Arc<Shared>,
    /// When the stream does its I/O, and when it is measured.
    schedule: Schedule,
    part_ns: (u64, Option<u64>),
    begun_ns: u64,
    sequence: Sequence,
    arrivals: Option<Arrivals>,
    pause: Option<Pause>,
    /// A plain closed loop: no rate, pauses, limit, late start, flushes, verification or
    /// trace.
    plain: bool,
    /// Whether the pause, the verifier, the commits or a trace, replayed or kept, need to
    /// know of completions.
    tracked: bool,
    filler: Filler,
    verifier: Option<Verifier>,
    deferred: Option<Op>,
    retries: Retries,
    sync_every: Option<u64>,
    unsynced_writes: u64,
    commits: Option<Commits>,
    log: Option<LogWriter>,
    follower: Option<Follower>,
    measuring: bool,
    exhausted: bool,
    succeeded: bool,
    over_ns: Option<u64>,
    counts: IntervalCounts,
    by_target: ByTarget,
    by_phase: ByPhase,
    gap: LaneGap,
    slots: SlotTimes,
    lateness: Option<LaneLateness>,
    kept: Option<Kept>,
    lost_ios: u64,
    /// Of the warm-up as well.
    verified_bytes: u64,
    verify_read_bytes: u64,
    load: ThreadLoad,
}

impl Lane {
    pub fn new(
        job: &Job,
        id: LaneId,
        own_thread: bool,
        shared: Arc<Shared>,
        stamps: Option<&Arc<Stamps>>,
        messages: Sender<Message>,
    ) -> Self {
        let stream = &job.streams[id.stream];
        let (number, targets) = (id.number(stream), id.targets(stream));
        let first = number - id.thread;
        let generator =
            |thread| seed::generator(job.seed, id.stream, first + thread, Purpose::Arrivals);
        let smallest_bytes = stream.used_sizes().min().unwrap_or(job.block_bytes);
        let limited = job.limit_bytes.is_some();
        let trace = shared.trace(id.stream);
        let more = stream.is_open_loop()
            || stream.pauses()
            || stream.starts_ns > 0
            || stream.sync_every.is_some()
            || stream.retries > 0
            || stream.verify
            || stream.follows.is_some()
            || !job.targets.is_empty()
            || job.keep.is_some();
        let schedule = Schedule::new(0, 0, None, job.interval_ns);
        let log = shared.logs.writer(id.stream, stream.fua, stream.qd);
        let followed = job.log_of(id.stream);
        Self {
            id,
            schedule,
            part_ns: (stream.starts_ns, stream.ends_ns),
            begun_ns: 0,
            sequence: match id.place {
                Some(place) => Sequence::new(job, id.stream, id.thread, place),
                None => Sequence::over(job, id.stream, id.thread, targets.len()),
            }
            .replaying(trace.clone()),
            arrivals: match trace {
                Some(trace) if stream.replays_times() => Some(Arrivals::of_trace(trace)),
                _ => Arrivals::of(stream, id.thread, generator),
            },
            lateness: stream.replays_times().then(LaneLateness::new),
            kept: job
                .keep
                .as_ref()
                .map(|prefix| Kept::new(prefix, id, stream.fua, stream.qd)),
            filler: Filler::new(stream, smallest_bytes, fastrand::Rng::new()),
            verifier: stamps.filter(|_| stream.verify).map(|stamps| {
                Verifier::new(job.block_bytes, stamps.clone(), stream, log.is_some())
            }),
            pause: Pause::of(stream),
            plain: !limited && !more,
            tracked: stream.verify
                || stream.pauses()
                || stream.sync_every.is_some()
                || stream.pace == TracePace::After
                || log.is_some()
                || job.keep.is_some(),
            deferred: None,
            retries: Retries::of(stream),
            sync_every: stream.sync_every,
            unsynced_writes: 0,
            commits: stream.sync_every.map(|_| Commits::new(stream.qd)),
            log,
            follower: followed.and_then(|log| shared.logs.follower(id.stream, log)),
            measuring: false,
            exhausted: false,
            succeeded: false,
            over_ns: None,
            counts: IntervalCounts::new(id.lane, schedule, messages),
            gap: LaneGap::new(shared.gap(id.stream), number),
            by_target: ByTarget::of(job, targets, |target| {
                LaneGap::new(shared.gap_on(id.stream, target), number)
            }),
            by_phase: ByPhase::of(job),
            slots: SlotTimes::new(stream.qd),
            lost_ios: 0,
            verified_bytes: 0,
            verify_read_bytes: 0,
            load: ThreadLoad::new(id.stream, own_thread),
            shared,
        }
    }

    /// The run begins.
    pub fn begin(&mut self, schedule: Schedule) {
        self.begun_ns = self.shared.clock.now_ns();
        self.schedule = schedule.part(self.part_ns.0, self.part_ns.1);
        self.counts.begin(schedule);
        self.by_phase.begin(schedule.start_ns);
        self.gap.begin(self.schedule.start_ns);
        self.by_target.begin(self.schedule.start_ns);
        if let Some(kept) = &mut self.kept {
            kept.begin(schedule.start_ns);
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.start(&self.schedule);
        }
    }

    /// So many I/O threads share it, and tell when each begins an I/O and has counted it.
    pub fn share(&mut self, threads: usize) {
        self.counts.share(threads);
    }

    pub fn depart(&mut self, slot: usize) {
        self.counts.depart(slot);
    }

    pub fn arrive(&mut self, slot: usize, now_ns: u64) {
        self.counts.arrive(slot, now_ns);
    }

    pub fn id(&self) -> LaneId {
        self.id
    }

    /// The latest time at which a waiting thread has to wake up.
    pub fn boundary_ns(&self) -> u64 {
        self.counts.boundary_ns().min(self.schedule.end_ns)
    }

    pub fn filler(&mut self) -> &mut Filler {
        &mut self.filler
    }

    /// Flushes the counts of an interval that has ended. To be called before anything
    /// that was observed at `now_ns` is counted.
    #[inline(always)]
    pub fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.counts.boundary_ns() {
            self.flush_counts(now_ns);
        }
    }

    #[cold]
    fn flush_counts(&mut self, now_ns: u64) {
        let backlog_ios = self.backlog(now_ns);
        self.counts.flush(now_ns, backlog_ios);
    }

    fn backlog(&self, now_ns: u64) -> u64 {
        let until_ns = now_ns.min(self.schedule.end_ns);
        self.arrivals
            .as_ref()
            .map_or(0, |arrivals| arrivals.backlog(until_ns))
    }

    /// The next I/O. With `reserve`, also one whose start is in the future, for which
    /// the caller waits.
    pub fn next(&mut self, now_ns: u64, reserve: bool) -> Next {
        if self.is_over(now_ns) {
            return self.next_after_end();
        }
        self.next_unless_over(now_ns, reserve)
    }

    /// What has begun is brought to its end, also by another attempt.
    #[cold]
    pub fn next_after_end(&mut self) -> Next {
        self.retries.next().map_or(Next::Over, Next::Op)
    }

    /// The same for a caller that has checked `is_over`, once for a batch.
    #[inline(always)]
    pub fn next_unless_over(&mut self, now_ns: u64, reserve: bool) -> Next {
        if self.only_draws(now_ns) {
            let drawn = self.draw(now_ns).map(Next::Op);
            return drawn.unwrap_or_else(|| self.end_of_work(now_ns));
        }
        self.next_in_general(now_ns, reserve)
    }

    /// Whether the next I/O is a draw, and nothing else: a plain closed loop inside the
    /// warm-up, or inside the measured part.
    #[inline(always)]
    pub fn only_draws(&self, now_ns: u64) -> bool {
        self.plain && (now_ns >= self.schedule.start_ns) == self.measuring
    }

    /// The next I/O while that is so.
    #[inline(always)]
    pub fn draw(&mut self, now_ns: u64) -> Option<Op> {
        self.sequence.draw(now_ns, self.measuring)
    }

    #[inline(never)]
    fn next_in_general(&mut self, now_ns: u64, reserve: bool) -> Next {
        let next = self.choose(now_ns, reserve);
        match (&mut self.pause, &next) {
            (Some(pause), Next::Op(op)) if op.attempts == 0 => pause.issue(op),
            _ => {}
        }
        next
    }

    fn choose(&mut self, now_ns: u64, reserve: bool) -> Next {
        if now_ns < self.schedule.warmup_start_ns {
            return Next::Wait(self.schedule.warmup_start_ns);
        }
        if let Some(op) = self.retries.next() {
            return Next::Op(op);
        }
        if let Some(op) = self.deferred.take() {
            return self.admit(op);
        }
        if let Some(next) = self.follower.as_mut().and_then(Follower::next) {
            return self.follow(next, now_ns);
        }
        if let Some(next) = self.hold(now_ns) {
            return next;
        }
        if self.flush_is_due() {
            return Next::Op(self.flush(now_ns));
        }
        let start_ns = match &self.arrivals {
            None => now_ns,
            Some(arrivals) => {
                let Some(start_ns) = arrivals.due_ns() else {
                    return Next::Blocked;
                };
                if start_ns >= self.schedule.end_ns || (start_ns > now_ns && !reserve) {
                    return Next::Wait(start_ns.min(self.schedule.end_ns));
                }
                start_ns
            }
        };
        self.start_io(start_ns, now_ns)
    }

    /// What a pause makes the thread wait for. It does not delay the end of the work.
    fn hold(&mut self, now_ns: u64) -> Option<Next> {
        let pause = self.pause.as_mut()?;
        let next = pause.hold(now_ns)?;
        if self.measuring && (self.sequence.is_finished() || self.shared.limit_reached()) {
            return Some(self.end_of_work(now_ns));
        }
        Some(match next {
            Next::Wait(until_ns) => Next::Wait(until_ns.min(self.schedule.end_ns)),
            next => next,
        })
    }

    /// Whether no more I/O is to start; records since when.
    #[inline(always)]
    pub fn is_over(&mut self, now_ns: u64) -> bool {
        let over = now_ns >= self.schedule.end_ns || self.exhausted || self.shared.stopped();
        if over && self.over_ns.is_none() {
            self.over_ns = Some(now_ns.min(self.schedule.end_ns));
            self.load.stop();
        }
        over
    }

    fn start_io(&mut self, start_ns: u64, now_ns: u64) -> Next {
        let measured = start_ns >= self.schedule.start_ns;
        if measured && !self.measuring {
            self.measuring = true;
            self.load.begin();
            self.sequence.restart();
        }
        let Some(mut op) = self.sequence.draw(start_ns, measured) else {
            return self.end_of_work(now_ns);
        };
        if measured && !self.shared.claim(op.size_bytes) {
            return self.end_of_work(now_ns);
        }
        if let Some(arrivals) = &mut self.arrivals {
            op.tag = arrivals.begin();
            arrivals.advance(op.size_bytes);
        }
        if op.kind == Kind::Io(Direction::Write) {
            self.unsynced_writes += 1;
            if let Some(follower) = &mut self.follower {
                let next = follower.draw(op);
                return self.follow(next, now_ns);
            }
        }
        self.admit(op)
    }

    /// A write of a stream that follows a log.
    fn follow(&mut self, next: Following, now_ns: u64) -> Next {
        match next {
            Following::Issue(op) => self.admit(op),
            Following::Wait => Next::Wait((now_ns + LOOK_NS).min(self.schedule.end_ns)),
            Following::Never => self.end_of_work(now_ns),
        }
    }

    #[cold]
    pub fn end_of_work(&mut self, now_ns: u64) -> Next {
        self.exhausted = true;
        self.is_over(now_ns);
        Next::Over
    }

    fn flush_is_due(&self) -> bool {
        self.sync_every
            .is_some_and(|every| self.unsynced_writes >= every)
    }

    fn flush(&mut self, now_ns: u64) -> Op {
        self.unsynced_writes = 0;
        let verifier = self.verifier.as_mut();
        Op {
            kind: Kind::Flush,
            offset_bytes: verifier.map_or(0, Verifier::begin_flush),
            size_bytes: 0,
            start_ns: now_ns,
            measured: now_ns >= self.schedule.start_ns,
            fua: false,
            attempts: 0,
            target: 0,
            tag: 0,
        }
    }

    /// In a stream that verifies, no write may overlap another I/O in flight: draws
    /// another offset if the pattern allows it, else waits.
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
            if verifier.try_begin(op.offset_bytes, op.size_bytes, op.modifies()) {
                if op.kind == Kind::Io(Direction::Trim) {
                    verifier.forget(op.offset_bytes, op.size_bytes);
                }
                return Next::Op(op);
            }
            if !self.sequence.redraw(&mut op) {
                break;
            }
        }
        self.deferred = Some(op);
        Next::Blocked
    }

    /// Generates the data of a write.
    #[inline]
    pub fn prepare(&mut self, offset_bytes: u64, buffer: &mut [u8]) {
        self.filler.fill(buffer);
        if let Some(verifier) = &mut self.verifier {
            verifier.stamp(offset_bytes, buffer);
        }
    }

    pub fn verifies(&self) -> bool {
        self.verifier.is_some()
    }

    /// Whether its latency starts when it is issued, and not at an intended start.
    #[inline]
    pub fn starts_when_issued(&self, op: &Op) -> bool {
        self.arrivals.is_none() || (op.kind == Kind::Flush && self.lateness.is_none())
    }

    /// The I/O is about to be submitted.
    #[inline(always)]
    pub fn issue(&mut self, slot: usize, op: &mut Op, now_ns: u64) {
        if self.starts_when_issued(op) && op.attempts == 0 {
            op.start_ns = now_ns;
        }
        if op.measured {
            self.slots.issued(slot, now_ns);
        }
        if let (Some(lateness), 0) = (&mut self.lateness, op.attempts) {
            lateness.issued(op.start_ns, now_ns);
        }
        if let (Some(commits), Kind::Flush) = (&mut self.commits, op.kind) {
            commits.flushing(slot);
        }
        if let (Some(log), Kind::Flush) = (&mut self.log, op.kind) {
            log.flushing(slot);
        }
        if let Some(kept) = &mut self.kept {
            kept.issued(slot, op);
        }
    }

    /// Whether issuing sets the start of an I/O, and nothing else.
    #[inline(always)]
    pub fn only_stamps(&self) -> bool {
        self.plain && self.slots.all_begun()
    }

    /// Whether I/Os are reads and writes of one target, and completions are counted there,
    /// and nothing else.
    pub fn is_simple(&self, stream: &Stream) -> bool {
        !self.tracked && stream.trim_percent == 0.0 && self.by_target.is_of_one()
    }

    /// `complete` while that is so; the common outcome first.
    #[inline(always)]
    pub fn count(&mut self, slot: usize, op: &Op, result: i64, now_ns: u64) {
        let Kind::Io(direction) = op.kind else {
            return self.complete(slot, op, result, now_ns, None);
        };
        // A trim that succeeds has the result 0.
        let counts = self.counts.includes(op.measured) && self.succeeded;
        if !counts || result != op.size_bytes as i64 {
            return self.complete(slot, op, result, now_ns, None);
        }
        if op.measured {
            self.slots.completed(slot, now_ns);
            self.gap.completed(now_ns);
        }
        let latency_ns = now_ns.saturating_sub(op.start_ns);
        let tally = self.counts.tally();
        tally.record(direction, latency_ns, op.size_bytes);
        if op.measured {
            let tallies = self.by_phase.tallies(op.start_ns);
            tallies.for_each(|tally| tally.record(direction, latency_ns, op.size_bytes));
        }
    }

    /// The I/O has completed. `result` is bytes, or minus errno; `data` is what was read,
    /// if it is to be verified.
    #[inline(never)]
    pub fn complete(
        &mut self,
        slot: usize,
        op: &Op,
        result: i64,
        now_ns: u64,
        data: Option<&[u8]>,
    ) {
        if op.measured {
            self.slots.completed(slot, now_ns);
        }
        let expected = match op.kind {
            Kind::Io(Direction::Read | Direction::Write) => op.size_bytes as i64,
            _ => 0,
        };
        let success = result == expected;
        if !success && self.retries.again(op, result) {
            return self.shared.retried(self.id.stream, errno_of(result));
        }
        let mut commit_from_ns = None;
        if self.tracked {
            commit_from_ns = self.follow_up(slot, op, success, now_ns, data);
        }
        if !success {
            return self.error(op, result, now_ns);
        }
        if !self.succeeded {
            self.succeeded = true;
            self.shared.succeeded();
        }
        if let Some(tally) = self.counts.tally_at(now_ns, op.measured) {
            let latency_ns = now_ns.saturating_sub(op.start_ns);
            let from_ns = commit_from_ns.filter(|&ns| ns >= self.schedule.start_ns);
            let commit_ns = from_ns.map(|ns| now_ns.saturating_sub(ns));
            for tally in [Some(tally), self.by_target.tally(op)]
                .into_iter()
                .flatten()
            {
                match op.kind {
                    Kind::Io(direction) => tally.record(direction, latency_ns, op.size_bytes),
                    Kind::Flush => {
                        tally.record_flush(latency_ns);
                        commit_ns.into_iter().for_each(|ns| tally.record_commit(ns));
                    }
                }
            }
            if op.measured {
                self.count_by_phase(op, latency_ns, from_ns.zip(commit_ns));
            }
            if op.measured && op.kind != Kind::Flush {
                self.gap.completed(now_ns);
                self.by_target.completed(op, now_ns);
            }
        }
    }

    /// A commit has a start of its own.
    #[inline]
    fn count_by_phase(&mut self, op: &Op, latency_ns: u64, commit: Option<(u64, u64)>) {
        for tally in self.by_phase.tallies(op.start_ns) {
            match op.kind {
                Kind::Io(direction) => tally.record(direction, latency_ns, op.size_bytes),
                Kind::Flush => tally.record_flush(latency_ns),
            }
        }
        if let Some((start_ns, commit_ns)) = commit {
            let tallies = self.by_phase.tallies(start_ns);
            tallies.for_each(|tally| tally.record_commit(commit_ns));
        }
    }

    #[cold]
    fn error(&mut self, op: &Op, result: i64, now_ns: u64) {
        let errno = errno_of(result);
        self.count_error(op, errno, now_ns);
        let error = IoError::of(op, errno).on(self.by_target.name(op));
        self.shared.failed(self.id.stream, error);
    }

    fn count_error(&mut self, op: &Op, errno: i32, now_ns: u64) {
        if let Some(tally) = self.counts.tally_at(now_ns, op.measured) {
            let latency_ns = now_ns.saturating_sub(op.start_ns);
            self.shared.count_failure(self.id.stream, errno, latency_ns);
            let direction = match op.kind {
                Kind::Io(direction) => direction,
                Kind::Flush => Direction::Write,
            };
            tally.error(direction);
            if let Some(tally) = self.by_target.tally(op) {
                tally.error(direction);
            }
            if op.measured {
                let tallies = self.by_phase.tallies(op.start_ns);
                tallies.for_each(|tally| tally.error(direction));
            }
        }
    }

    #[inline(never)]
    fn follow_up(
        &mut self,
        slot: usize,
        op: &Op,
        success: bool,
        now_ns: u64,
        data: Option<&[u8]>,
    ) -> Option<u64> {
        if let Some(pause) = &mut self.pause {
            pause.complete(now_ns);
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.complete(op.tag, now_ns);
        }
        if let Some(kept) = &mut self.kept {
            kept.completed(slot, op, success, now_ns);
        }
        self.verify(op, success, now_ns, data);
        match (&mut self.log, op.kind) {
            (Some(log), Kind::Flush) => log.flushed(slot, success),
            (Some(log), Kind::Io(Direction::Write)) if success => log.written(),
            _ => {}
        }
        self.commit(slot, op, success)
    }

    /// The start of the commit that a flush completes.
    fn commit(&mut self, slot: usize, op: &Op, success: bool) -> Option<u64> {
        let commits = self.commits.as_mut()?;
        match op.kind {
            Kind::Flush => return commits.flushed(slot, success),
            Kind::Io(Direction::Write) if success => commits.written(op.start_ns),
            Kind::Io(_) => {}
        }
        None
    }

    fn verify(&mut self, op: &Op, success: bool, now_ns: u64, data: Option<&[u8]>) {
        let Some(verifier) = &mut self.verifier else {
            return;
        };
        let Kind::Io(direction) = op.kind else {
            return verifier.end_flush(op.offset_bytes, success);
        };
        let (offset_bytes, size_bytes) = (op.offset_bytes, op.size_bytes);
        let verdict = verifier.complete(direction, offset_bytes, size_bytes, success, data);
        if let Some(tally) = self.counts.tally_at(now_ns, op.measured) {
            tally.verified_bytes += verdict.verified_bytes;
            tally.verify_errors += verdict.mismatches.len() as u64;
        }
        self.verified_bytes += verdict.verified_bytes;
        self.verify_read_bytes += verdict.read_bytes;
        self.shared.survived(&verdict);
        for mismatch in verdict.mismatches {
            self.shared.mismatched(mismatch);
        }
    }

    /// Where a plain loop writes beside the lane itself.
    #[cfg(test)]
    pub fn written(&self) -> Vec<std::ops::Range<usize>> {
        let tally = self.counts.written();
        tally.chain([self.slots.written()]).collect()
    }

    /// A reserved I/O is not issued, because the run was stopped before its start.
    pub fn cancel(&mut self, op: &Op) {
        if let Some(verifier) = &mut self.verifier {
            verifier.end(op.offset_bytes, op.size_bytes);
            if op.kind == Kind::Io(Direction::Write) {
                verifier.take_back(op.offset_bytes, op.size_bytes);
            }
        }
    }

    /// Whether the I/Os in flight have had their time to complete.
    pub fn should_give_up(&self, now_ns: u64) -> bool {
        let own_ns = self
            .over_ns
            .map_or(u64::MAX, |over| over + self.shared.drain_ns());
        now_ns >= own_ns.min(self.shared.give_up_ns())
    }

    /// The I/O did not complete in time. That is an error, unless the run was stopped
    /// and did not wait for long.
    pub fn record_lost(&mut self, slot: usize, op: &Op, now_ns: u64) {
        self.lost_ios += 1;
        if op.measured {
            self.slots.completed(slot, now_ns);
        }
        if !self.shared.stopped() {
            self.count_error(op, libc::ETIMEDOUT, now_ns);
            let error = IoError::of(op, libc::ETIMEDOUT).on(self.by_target.name(op));
            self.shared.lost(error);
        }
    }

    /// With pauses the queue depth is not held, and slots may be idle for long: the lane
    /// then counts as one slot.
    fn slots_end(&self, over_ns: u64) -> LaneEnd {
        match self.pause {
            Some(_) => self.slots.end().spanning(over_ns),
            None => self.slots.end(),
        }
    }

    /// Sends the remaining counts and the lane's end.
    pub fn finish(&mut self, now_ns: u64) {
        self.tick(now_ns);
        while let Some((op, result)) = self.retries.left() {
            self.error(&op, result, now_ns);
        }
        if let Some(kept) = &mut self.kept {
            kept.finish();
        }
        if let Some(log) = &self.log {
            log.finish();
        }
        let over_ns = self.over_ns.unwrap_or(now_ns);
        let waited = self.arrivals.as_ref().and_then(Arrivals::waited);
        let end = LaneEnd {
            begun_ns: self.begun_ns,
            end_ns: now_ns,
            over_ns,
            exhausted: self.exhausted,
            backlog_ios: self.backlog(over_ns),
            lost_ios: self.lost_ios,
            verified_bytes: self.verified_bytes,
            verify_read_bytes: self.verify_read_bytes,
            load: self.load.end(),
            lateness: self.lateness.as_mut().map(|late| late.end(waited)),
            by_target: self.by_target.end(),
            by_phase: self.by_phase.end(),
            ..self.slots_end(over_ns)
        };
        self.counts.finish(end);
    }
}
