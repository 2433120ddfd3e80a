//! Commits: from the start of the first write that no flush has covered to the end of
//! the flush that does.
//!
//! A flush covers the writes of its thread that had completed when it was issued; one that
//! was still in flight then may not be on the medium, and is left to the next flush.

pub struct Commits {
    /// The earliest start of the completed writes that no flush covers.
    uncovered_ns: Option<u64>,
    /// That of the writes that the flush in a slot covers.
    covered_ns: Vec<Option<u64>>,
}

impl Commits {
    pub fn new(slots: usize) -> Self {
        Self {
            uncovered_ns: None,
            covered_ns: vec![None; slots],
        }
    }

    /// A write has completed.
    pub fn written(&mut self, start_ns: u64) {
        let earliest_ns = self.uncovered_ns.map_or(start_ns, |ns| ns.min(start_ns));
        self.uncovered_ns = Some(earliest_ns);
    }

    /// A flush is issued.
    pub fn flushing(&mut self, slot: usize) {
        self.covered_ns[slot] = self.uncovered_ns.take();
    }

    /// It has completed: the start of the commit, if it is one. What a failed flush
    /// was to cover is left to the next.
    pub fn flushed(&mut self, slot: usize, success: bool) -> Option<u64> {
        let start_ns = self.covered_ns[slot].take()?;
        if success {
            return Some(start_ns);
        }
        self.written(start_ns);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_covers_what_had_completed_before_it() {
        let mut commits = Commits::new(3);
        commits.flushing(0);
        assert_eq!(commits.flushed(0, true), None);
        commits.written(20);
        commits.written(10);
        commits.flushing(1);
        commits.written(5);
        assert_eq!(commits.flushed(1, true), Some(10));
        commits.flushing(2);
        assert_eq!(commits.flushed(2, true), Some(5));
    }

    #[test]
    fn a_failed_flush_leaves_its_writes_to_the_next() {
        let mut commits = Commits::new(2);
        commits.written(10);
        commits.flushing(0);
        commits.written(20);
        assert_eq!(commits.flushed(0, false), None);
        commits.flushing(1);
        assert_eq!(commits.flushed(1, true), Some(10));
    }
}
