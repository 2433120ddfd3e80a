//! Think time of a closed loop: after a group of I/Os a thread waits for those in flight,
//! and then issues nothing for a while. As fio's `thinktime` and `thinktime_blocks` with
//! `thinktime_blocks_type=issue`.

use crate::job::Stream;
use crate::pattern::op::{Kind, Next, Op};

/// The pauses of one thread.
pub struct Pause {
    pause_ns: u64,
    every: u64,
    /// Reads, writes and trims since the last pause.
    issued: u64,
    /// Includes flushes.
    in_flight: u64,
    last_completion_ns: u64,
}

impl Pause {
    /// None where the stream has no pauses.
    pub fn of(stream: &Stream) -> Option<Self> {
        stream.pauses().then_some(Self {
            pause_ns: stream.pause_ns,
            every: stream.pause_every,
            issued: 0,
            in_flight: 0,
            last_completion_ns: 0,
        })
    }

    /// The I/O is about to be issued.
    pub fn issue(&mut self, op: &Op) {
        self.in_flight += 1;
        self.issued += u64::from(op.kind != Kind::Flush);
    }

    pub fn complete(&mut self, now_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.last_completion_ns = self.last_completion_ns.max(now_ns);
    }

    /// Whether a pause is due or has begun.
    fn is_due(&self) -> bool {
        self.issued >= self.every
    }

    /// What the thread has to wait for; None when the pause is over, or none is due.
    pub fn hold(&mut self, now_ns: u64) -> Option<Next> {
        if !self.is_due() {
            return None;
        }
        if self.in_flight > 0 {
            return Some(Next::Drain(now_ns.saturating_add(self.pause_ns)));
        }
        let end_ns = self.last_completion_ns.saturating_add(self.pause_ns);
        if now_ns < end_ns {
            return Some(Next::Wait(end_ns));
        }
        self.issued = 0;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::sizes::Direction;

    fn op(kind: Kind) -> Op {
        Op {
            kind,
            offset_bytes: 0,
            size_bytes: 512,
            start_ns: 0,
            measured: true,
            fua: false,
            attempts: 0,
            target: 0,
            tag: 0,
        }
    }

    fn pause(every: u64) -> Pause {
        Pause {
            pause_ns: 1000,
            every,
            issued: 0,
            in_flight: 0,
            last_completion_ns: 0,
        }
    }

    #[test]
    fn a_pause_begins_with_the_last_completion() {
        let mut pause = pause(2);
        let read = op(Kind::Io(Direction::Read));
        pause.issue(&read);
        assert!(pause.hold(5).is_none());
        pause.issue(&read);
        assert!(matches!(pause.hold(10), Some(Next::Drain(1010))));
        pause.complete(70);
        pause.complete(50);
        assert!(matches!(pause.hold(90), Some(Next::Wait(1070))));
        assert!(pause.hold(1070).is_none() && !pause.is_due());
    }

    #[test]
    fn a_flush_is_waited_for_and_does_not_count() {
        let mut pause = pause(1);
        pause.issue(&op(Kind::Flush));
        assert!(pause.hold(1).is_none());
        pause.issue(&op(Kind::Io(Direction::Write)));
        pause.complete(2);
        assert!(matches!(pause.hold(3), Some(Next::Drain(_))));
        pause.complete(4);
        assert!(matches!(pause.hold(5), Some(Next::Wait(1004))));
    }
}
