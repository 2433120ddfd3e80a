//! State that all threads of a run share. It is rarely written, so that threads do not
//! contend for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::job::Stream;
use crate::job::event::Facts;
use crate::job::failure::errno_name;
use crate::measure::clock::{Clock, monotonic_ns};
use crate::pattern::op::{Kind, Op};
use crate::pattern::trace::{Replayed, Traces};
use crate::target::aftermath::Aftermath;
use crate::target::durable::PROMISES;
use crate::target::verify::{FAULTS, Mismatch, Verdict};
use crate::threads::apart::Apart;
use crate::threads::failures::Failures;
use crate::threads::gaps::StreamGap;
use crate::threads::log::Logs;

/// A run with more errors is stopped: it measures errors.
const MOST_ERRORS: u64 = 1000;
/// So is a run whose first I/Os all failed.
const FIRST_ERRORS: u64 = 64;

const STOP_DRAIN_NS: u64 = 2_000_000_000;
const END_DRAIN_NS: u64 = 30_000_000_000;

const MISMATCHES_KEPT: usize = 8;

/// Blocks that were not what was last written.
#[derive(Default)]
struct Mismatches {
    counts: [u64; FAULTS.len()],
    kept: u64,
    rolled_back: u64,
    promised: [u64; PROMISES.len()],
    aftermath: Aftermath,
    first: Vec<Mismatch>,
}

#[derive(Debug, Clone)]
pub struct IoError {
    pub errno: i32,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    pub direction: &'static str,
    /// Its name, where the run has several.
    pub target: Option<String>,
    /// When it was seen, by CLOCK_MONOTONIC.
    pub at_ns: u64,
}

impl IoError {
    pub fn of(op: &Op, errno: i32) -> Self {
        Self {
            errno,
            offset_bytes: match op.kind {
                Kind::Io(_) => op.offset_bytes,
                Kind::Flush => 0,
            },
            size_bytes: op.size_bytes,
            direction: match op.kind {
                Kind::Io(direction) => direction.name(),
                Kind::Flush => "flush",
            },
            target: None,
            at_ns: monotonic_ns(),
        }
    }

    /// The same on a target of that name.
    pub fn on(self, target: Option<String>) -> Self {
        Self { target, ..self }
    }

    pub fn facts(&self) -> serde_json::Value {
        let mut facts = json!({
            "errno": self.errno, "name": errno_name(self.errno), "offset": self.offset_bytes,
            "bytes": self.size_bytes, "direction": self.direction,
            "at_ns": self.at_ns,
        });
        if let Some(name) = &self.target {
            facts["target"] = json!(name);
        }
        facts
    }
}

pub struct Shared {
    pub clock: Clock,
    stop: AtomicBool,
    give_up_ns: AtomicU64,
    limit_bytes: Option<u64>,
    /// Written for each I/O where there is a limit.
    claimed_bytes: Apart<AtomicU64>,
    errors: AtomicU64,
    any_success: AtomicBool,
    too_many_errors: AtomicBool,
    first_error: Mutex<Option<IoError>>,
    failures: Failures,
    /// By stream: of all targets, and of each, where the run has several.
    gaps: Vec<(Arc<StreamGap>, Vec<Arc<StreamGap>>)>,
    /// By stream.
    traces: Traces,
    pub logs: Logs,
    drain_ns: u64,
    mismatches: Mutex<Mismatches>,
}

impl Shared {
    pub fn new(clock: Clock, limit_bytes: Option<u64>) -> Self {
        Self {
            clock,
            stop: AtomicBool::new(false),
            give_up_ns: AtomicU64::new(u64::MAX),
            limit_bytes,
            claimed_bytes: Apart::default(),
            errors: AtomicU64::new(0),
            any_success: AtomicBool::new(false),
            too_many_errors: AtomicBool::new(false),
            first_error: Mutex::new(None),
            failures: Failures::default(),
            gaps: Vec::new(),
            traces: Traces::new(),
            logs: Logs::default(),
            drain_ns: END_DRAIN_NS,
            mismatches: Mutex::default(),
        }
    }

    /// With the failures that these streams may have, the longest of their hangs, and
    /// their gaps on so many targets.
    pub fn of_streams(mut self, streams: &[Stream], targets: usize) -> Self {
        let hangs = streams.iter().map(|stream| stream.hang_ns);
        self.drain_ns = hangs.max().unwrap_or(0).max(END_DRAIN_NS);
        self.failures = Failures::of(streams);
        let gap = |stream: &Stream| Arc::new(StreamGap::new(stream.lanes()));
        let gaps = |stream| (gap(stream), (0..targets).map(|_| gap(stream)).collect());
        self.gaps = streams.iter().map(gaps).collect();
        self
    }

    /// With the logs that some of them are.
    pub fn logging(mut self, logs: Logs) -> Self {
        self.logs = logs;
        self
    }

    /// With the traces that they replay.
    pub fn replaying(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    /// The trace of a stream, from its beginning.
    pub fn trace(&self, stream: usize) -> Option<Replayed> {
        self.traces.get(stream).cloned().flatten()
    }

    /// The gap of a stream.
    pub fn gap(&self, stream: usize) -> Arc<StreamGap> {
        let known = self.gaps.get(stream).map(|(all, _)| all.clone());
        known.unwrap_or_else(|| Arc::new(StreamGap::new(1)))
    }

    /// Its gap on one of several targets.
    pub fn gap_on(&self, stream: usize, target: usize) -> Arc<StreamGap> {
        let known = self.gaps.get(stream).and_then(|(_, on)| on.get(target));
        known
            .cloned()
            .unwrap_or_else(|| Arc::new(StreamGap::new(1)))
    }

    /// How long I/Os in flight at the end have to complete.
    pub fn drain_ns(&self) -> u64 {
        self.drain_ns
    }

    /// No more I/O is issued; those in flight have two seconds to complete.
    pub fn stop(&self) {
        self.give_up_by(self.clock.now_ns() + STOP_DRAIN_NS);
        self.stop.store(true, Ordering::Release);
    }

    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn give_up_by(&self, at_ns: u64) {
        self.give_up_ns.fetch_min(at_ns, Ordering::AcqRel);
    }

    pub fn give_up_ns(&self) -> u64 {
        self.give_up_ns.load(Ordering::Acquire)
    }

    /// Claims bytes of the limit. The I/O that reaches it is still done.
    #[inline]
    pub fn claim(&self, bytes: u64) -> bool {
        let Some(limit_bytes) = self.limit_bytes else {
            return true;
        };
        self.claimed_bytes.0.fetch_add(bytes, Ordering::Relaxed) < limit_bytes
    }

    /// Whether `claim` would refuse.
    pub fn limit_reached(&self) -> bool {
        let claimed_bytes = self.claimed_bytes.0.load(Ordering::Relaxed);
        self.limit_bytes.is_some_and(|limit| claimed_bytes >= limit)
    }

    pub fn succeeded(&self) {
        self.any_success.store(true, Ordering::Relaxed);
    }

    pub fn failed(&self, stream: usize, error: IoError) {
        lock(&self.first_error).get_or_insert(error);
        let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
        let hopeless = errors >= FIRST_ERRORS && !self.any_success.load(Ordering::Relaxed);
        let too_many = match self.failures.exceeded(stream) {
            Some(exceeded) => exceeded,
            None => errors > MOST_ERRORS || hopeless,
        };
        if too_many {
            self.too_many_errors.store(true, Ordering::Relaxed);
            self.stop();
        }
    }

    /// A failed I/O that is counted, with its own latency.
    pub fn count_failure(&self, stream: usize, errno: i32, latency_ns: u64) {
        self.failures.count(stream, errno, latency_ns);
    }

    /// An attempt failed, and another one follows.
    pub fn retried(&self, stream: usize, errno: i32) {
        self.failures.retried(stream, errno);
    }

    /// An I/O never completed. It is recorded; the run has ended anyway.
    pub fn lost(&self, error: IoError) {
        lock(&self.first_error).get_or_insert(error);
    }

    pub fn mismatched(&self, mismatch: Mismatch) {
        let mut found = lock(&self.mismatches);
        found.counts[mismatch.fault as usize] += 1;
        if found.first.len() < MISMATCHES_KEPT {
            found.first.push(mismatch);
        }
    }

    /// What a power cut has left of blocks.
    pub fn survived(&self, verdict: &Verdict) {
        let Verdict {
            kept,
            rolled_back,
            promised,
            aftermath,
            ..
        } = verdict;
        let judged = kept + rolled_back + promised.iter().sum::<u64>();
        if judged > 0 || !aftermath.is_empty() {
            let mut found = lock(&self.mismatches);
            found.kept += kept;
            found.rolled_back += rolled_back;
            for (sum, blocks) in found.promised.iter_mut().zip(promised) {
                *sum += blocks;
            }
            found.aftermath.add(aftermath);
        }
    }

    /// The error that makes the run a failure, and how many there were.
    pub fn fatal_error(&self) -> Option<(IoError, u64)> {
        let errors = self.errors.load(Ordering::Relaxed);
        let nothing_else = errors > 0 && !self.any_success.load(Ordering::Relaxed);
        let fatal = self.too_many_errors.load(Ordering::Relaxed) || nothing_else;
        let first = lock(&self.first_error).clone();
        first.filter(|_| fatal).map(|error| (error, errors))
    }

    pub fn error_facts(&self) -> Facts {
        let mut facts = Facts::new();
        if let Some(error) = lock(&self.first_error).as_ref() {
            facts.insert("first_error".into(), error.facts());
            facts.insert("errors".into(), self.failures.facts());
        }
        let retried = self.failures.retried_facts();
        if retried.as_object().is_some_and(|found| !found.is_empty()) {
            facts.insert("retried".into(), retried);
        }
        facts
    }

    /// How many blocks were wrong in each way, and the first of them.
    pub fn mismatch_facts(&self, block_bytes: u64) -> Facts {
        let found = lock(&self.mismatches);
        let mut facts = found.aftermath.facts(block_bytes);
        for (fault, name) in FAULTS {
            facts.insert(name.into(), json!(found.counts[fault as usize]));
        }
        facts.insert("kept".into(), json!(found.kept));
        facts.insert("rolled_back".into(), json!(found.rolled_back));
        for (name, blocks) in PROMISES.iter().zip(found.promised) {
            facts.insert((*name).into(), json!(blocks));
        }
        let first = found.first.iter();
        let first = first.map(|one| json!({"offset": one.offset_bytes, "what": one.what}));
        facts.insert("first".into(), first.collect());
        facts
    }
}

/// A lock whose holder panicked ends the process (see the panic hook), so that the
/// data behind a poisoned one is hardly used.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
