//! The end of a lane: how it ended, how long its slots were busy, the load of its thread.

use crate::measure::tally::StreamCounts;
use crate::threads::apart::ApartSlice;
use crate::threads::conditions::{Load, Usage};
use crate::threads::lateness::Lateness;

/// What a lane reports at its end.
#[derive(Debug, Clone, Default)]
pub struct LaneEnd {
    /// When its thread came through the gate.
    pub begun_ns: u64,
    pub end_ns: u64,
    /// Since when no more I/O was issued.
    pub over_ns: u64,
    /// It ended because its work was done, and not by time.
    pub exhausted: bool,
    pub busy_slots: u64,
    /// The sum over the slots from first issue to last completion.
    pub busy_ns: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub backlog_ios: u64,
    pub lost_ios: u64,
    /// Of the warm-up as well: what was found right, and what it is part of.
    pub verified_bytes: u64,
    pub verify_read_bytes: u64,
    /// By its targets, where the run has several.
    pub by_target: Vec<(String, StreamCounts)>,
    /// By the phases of the job.
    pub by_phase: Vec<StreamCounts>,
    /// Where a trace is replayed.
    pub lateness: Option<Lateness>,
    /// None where several threads share the lane.
    pub load: Option<Load>,
}

impl LaneEnd {
    /// The same with one slot, busy from the first issue until issuing ended at `over_ns`
    /// or the last completion: pauses are part of that time, also the last one.
    pub fn spanning(self, over_ns: u64) -> Self {
        let busy = self.first_ns.zip(self.last_ns);
        Self {
            busy_slots: self.busy_slots.min(1),
            busy_ns: busy.map_or(0, |(first_ns, last_ns)| {
                last_ns.max(over_ns).saturating_sub(first_ns)
            }),
            ..self
        }
    }
}

/// When a slot of the queue depth was first and last busy in the measured part.
#[derive(Debug, Clone, Copy)]
struct SlotTime {
    /// u64::MAX if it never was.
    first_ns: u64,
    last_ns: u64,
}

impl SlotTime {
    const NEVER: Self = Self {
        first_ns: u64::MAX,
        last_ns: 0,
    };
}

/// The times of all slots of a lane.
pub struct SlotTimes {
    slots: ApartSlice<SlotTime>,
    /// How many were never busy.
    fresh: usize,
}

impl SlotTimes {
    pub fn new(qd: usize) -> Self {
        Self {
            slots: ApartSlice::new(SlotTime::NEVER, qd),
            fresh: qd,
        }
    }

    #[inline(always)]
    pub fn issued(&mut self, slot: usize, now_ns: u64) {
        let time = &mut self.slots[slot];
        if time.first_ns == u64::MAX {
            time.first_ns = now_ns;
            self.fresh -= 1;
        }
    }

    /// Whether all have been busy, so that `issued` does nothing.
    #[inline(always)]
    pub fn all_begun(&self) -> bool {
        self.fresh == 0
    }

    #[inline(always)]
    pub fn completed(&mut self, slot: usize, now_ns: u64) {
        self.slots[slot].last_ns = now_ns;
    }

    /// Where it writes.
    #[cfg(test)]
    pub fn written(&self) -> std::ops::Range<usize> {
        crate::threads::apart::addresses(&self.slots[..])
    }

    /// The fields of `LaneEnd` that follow from them.
    pub fn end(&self) -> LaneEnd {
        let busy = || self.slots.iter().filter(|slot| slot.first_ns < u64::MAX);
        LaneEnd {
            busy_slots: busy().count() as u64,
            busy_ns: busy()
                .map(|slot| slot.last_ns.saturating_sub(slot.first_ns))
                .sum(),
            first_ns: busy().map(|slot| slot.first_ns).min(),
            last_ns: busy().map(|slot| slot.last_ns).max(),
            ..LaneEnd::default()
        }
    }
}

/// The load of the lane's thread in the measured part, if it has one of its own.
pub struct ThreadLoad {
    stream: usize,
    own_thread: bool,
    /// The thread's time as the measured part began, and as the last I/O was issued.
    before: Option<Usage>,
    after: Option<Usage>,
}

impl ThreadLoad {
    pub fn new(stream: usize, own_thread: bool) -> Self {
        Self {
            stream,
            own_thread,
            before: None,
            after: None,
        }
    }

    pub fn begin(&mut self) {
        self.before = self.own_thread.then(Usage::now);
    }

    #[cold]
    pub fn stop(&mut self) {
        self.after = self.own_thread.then(Usage::now);
    }

    pub fn end(&self) -> Option<Load> {
        let before = self.before?;
        let after = self.after.unwrap_or_else(Usage::now);
        Some(Load::between(self.stream, before, after))
    }
}
