//! The sequences of a thread on several targets, of which each I/O takes the next.

use crate::pattern::op::Op;
use crate::pattern::sequence::Sequence;

pub struct Turns {
    sequences: Vec<Sequence>,
    next: usize,
}

impl Turns {
    /// One for each target, in the order of the turns.
    pub fn new(sequences: Vec<Sequence>) -> Self {
        Self { sequences, next: 0 }
    }

    /// The next I/O, on the target whose turn it is, or the next one that has any left.
    pub fn draw(&mut self, start_ns: u64, measured: bool) -> Option<Op> {
        for _ in 0..self.sequences.len() {
            let at = self.next;
            self.next = (at + 1) % self.sequences.len();
            if let Some(op) = self.sequences[at].draw(start_ns, measured) {
                let target = at as u8;
                return Some(Op { target, ..op });
            }
        }
        None
    }

    pub fn is_finished(&self) -> bool {
        self.sequences.iter().all(Sequence::is_finished)
    }

    pub fn restart(&mut self) {
        self.sequences.iter_mut().for_each(Sequence::restart);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;

    fn job(more: serde_json::Value) -> Job {
        let size = serde_json::json!([{"size_bytes": 4096, "percent": 100.0}]);
        let mut stream = serde_json::json!({
            "pattern": "sequential", "read_percent": 100.0, "read_sizes": size,
            "write_sizes": size, "region_start_bytes": 0, "region_end_bytes": 5 * 4096,
            "target_numbers": [0, 1, 2], "over_all": true});
        let fields = stream.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        serde_json::from_value(serde_json::json!({
            "target": "t", "capacity_bytes": 1 << 20, "block_bytes": 4096, "passes": 1.0,
            "streams": [stream]}))
        .expect("a job")
    }

    #[test]
    fn targets_take_turns_each_with_its_own_sequence() {
        let mut sequence = Sequence::over(&job(serde_json::json!({})), 0, 0, 3);
        let mut seen = Vec::new();
        while let Some(op) = sequence.draw(0, true) {
            seen.push((op.target, op.offset_bytes / 4096));
        }
        let expected = (0..5).flat_map(|block| (0..3).map(move |target| (target, block)));
        assert_eq!(seen, expected.collect::<Vec<_>>());
        assert!(sequence.is_finished());
    }

    #[test]
    fn random_offsets_differ_between_targets() {
        let random = job(serde_json::json!({"pattern": "random", "region_end_bytes": 1 << 20}));
        let random = Job {
            passes: None,
            ..random
        };
        let mut sequence = Sequence::over(&random, 0, 0, 3);
        let mut by_target = [const { Vec::new() }; 3];
        for _ in 0..300 {
            let op = sequence.draw(0, true).expect("endless");
            by_target[op.target as usize].push(op.offset_bytes);
        }
        assert!(by_target.iter().all(|offsets| offsets.len() == 100));
        assert!(by_target[0] != by_target[1] && by_target[1] != by_target[2]);
    }
}
