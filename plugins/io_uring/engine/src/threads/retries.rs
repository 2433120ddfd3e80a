//! Failed I/Os of a lane that are to be issued again.

use std::collections::VecDeque;

use crate::job::Stream;
use crate::pattern::op::{Kind, Op};

/// Those that wait for it, each with what it failed with.
pub struct Retries {
    most: u8,
    waiting: VecDeque<(Op, i64)>,
}

impl Retries {
    pub fn of(stream: &Stream) -> Self {
        Self {
            most: stream.retries,
            waiting: VecDeque::new(),
        }
    }

    /// Whether it is issued again. A flush never is: the kernel may have dropped what it
    /// was to write, so that the next one succeeds for nothing.
    pub fn again(&mut self, op: &Op, result: i64) -> bool {
        let again = op.attempts < self.most && op.kind != Kind::Flush;
        if again {
            let attempts = op.attempts + 1;
            self.waiting.push_back((Op { attempts, ..*op }, result));
        }
        again
    }

    /// The one that waits for longest.
    #[inline]
    pub fn next(&mut self) -> Option<Op> {
        self.waiting.pop_front().map(|(op, _)| op)
    }

    /// One that the run does not wait for any more.
    pub fn left(&mut self) -> Option<(Op, i64)> {
        self.waiting.pop_front()
    }
}

/// 0 of an I/O that was done in part.
pub fn errno_of(result: i64) -> i32 {
    if result < 0 { -result as i32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::sizes::Direction;

    fn op(kind: Kind) -> Op {
        Op {
            kind,
            offset_bytes: 4096,
            size_bytes: 512,
            start_ns: 7,
            measured: true,
            fua: false,
            attempts: 0,
            target: 0,
            tag: 0,
        }
    }

    fn up_to(most: u8) -> Retries {
        Retries {
            most,
            waiting: VecDeque::new(),
        }
    }

    #[test]
    fn an_io_is_issued_again_so_many_times_and_keeps_its_start() {
        let mut retries = up_to(2);
        let mut now = op(Kind::Io(Direction::Read));
        for attempt in 1..=2 {
            assert!(retries.again(&now, -5));
            now = retries.next().expect("it waits");
            assert_eq!(
                (now.attempts, now.start_ns, now.offset_bytes),
                (attempt, 7, 4096)
            );
        }
        assert!(!retries.again(&now, -5) && retries.next().is_none());
    }

    #[test]
    fn without_the_clause_and_of_a_flush_nothing_is() {
        assert!(!up_to(0).again(&op(Kind::Io(Direction::Write)), -5));
        assert!(!up_to(9).again(&op(Kind::Flush), -5));
    }

    #[test]
    fn what_is_given_up_has_failed_with_its_last_error() {
        let mut retries = up_to(1);
        assert!(retries.again(&op(Kind::Io(Direction::Read)), -5));
        assert_eq!(retries.left().map(|(_, result)| errno_of(result)), Some(5));
        assert!(retries.left().is_none());
    }
}
