//! One I/O as it is handed to a thread: what, where, and since when.

use crate::pattern::sizes::Direction;

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
    /// Nothing before an I/O in flight has completed.
    Blocked,
    /// Nothing before all I/Os in flight have completed; a pause follows, so that
    /// nothing comes before this time either.
    Drain(u64),
    /// No more I/O in this run.
    Over,
}
