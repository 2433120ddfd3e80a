//! The counts of a lane by its targets, where the run has several: in the measured part.

use crate::job::Job;
use crate::measure::tally::{StreamCounts, Tally};
use crate::pattern::op::Op;
use crate::threads::gaps::LaneGap;

struct OnTarget {
    name: String,
    tally: Tally,
    gap: LaneGap,
}

/// None where the run has one target: what is of the lane is of that.
pub struct ByTarget(Vec<OnTarget>);

impl ByTarget {
    /// Of these targets of the job; `gap` makes the lane's part of a target's.
    pub fn of(job: &Job, targets: &[usize], gap: impl Fn(usize) -> LaneGap) -> Self {
        let on = |&number: &usize| {
            Some(OnTarget {
                name: job.targets.get(number)?.name.clone(),
                tally: Tally::new(),
                gap: gap(number),
            })
        };
        Self(targets.iter().filter_map(on).collect())
    }

    /// The measured part of the stream begins at `start_ns`.
    pub fn begin(&mut self, start_ns: u64) {
        self.0.iter_mut().for_each(|one| one.gap.begin(start_ns));
    }

    /// A measured I/O has completed.
    pub fn completed(&mut self, op: &Op, now_ns: u64) {
        if let Some(one) = self.0.get_mut(op.target as usize) {
            one.gap.completed(now_ns);
        }
    }

    /// Whether there is nothing to tell apart.
    pub fn is_of_one(&self) -> bool {
        self.0.is_empty()
    }

    /// Where an I/O is counted. One of the warm-up is not.
    pub fn tally(&mut self, op: &Op) -> Option<&mut Tally> {
        let found = self.0.get_mut(op.target as usize)?;
        op.measured.then_some(&mut found.tally)
    }

    /// The name of the I/O's target.
    pub fn name(&self, op: &Op) -> Option<String> {
        Some(self.0.get(op.target as usize)?.name.clone())
    }

    /// The counts by the names of the targets.
    pub fn end(&mut self) -> Vec<(String, StreamCounts)> {
        let targets = self.0.iter_mut();
        targets
            .map(|one| (one.name.clone(), one.tally.drain()))
            .collect()
    }
}
