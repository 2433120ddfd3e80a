//! The counts of a lane by its targets, where the run has several: in the measured part.

use crate::job::Job;
use crate::measure::tally::{StreamCounts, Tally};
use crate::pattern::op::Op;

/// None where the run has one target: what is of the lane is of that.
pub struct ByTarget(Vec<(String, Tally)>);

impl ByTarget {
    /// Of these targets of the job.
    pub fn of(job: &Job, targets: &[usize]) -> Self {
        let named = targets.iter().filter_map(|&number| job.targets.get(number));
        Self(named.map(|one| (one.name.clone(), Tally::new())).collect())
    }

    /// Whether there is nothing to tell apart.
    pub fn is_of_one(&self) -> bool {
        self.0.is_empty()
    }

    /// Where an I/O is counted. One of the warm-up is not.
    pub fn tally(&mut self, op: &Op) -> Option<&mut Tally> {
        let found = self.0.get_mut(op.target as usize)?;
        op.measured.then_some(&mut found.1)
    }

    /// The name of the I/O's target.
    pub fn name(&self, op: &Op) -> Option<String> {
        Some(self.0.get(op.target as usize)?.0.clone())
    }

    /// The counts by the names of the targets.
    pub fn end(&mut self) -> Vec<(String, StreamCounts)> {
        let tallies = self.0.iter_mut();
        tallies
            .map(|(name, tally)| (name.clone(), tally.drain()))
            .collect()
    }
}
