//! One I/O: operation, offset, size and start; and what a thread is to do next.

use crate::pattern::sizes::Direction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Io(Direction),
    Flush,
}

#[derive(Debug, Clone, Copy)]
pub struct Op {
    pub kind: Kind,
    /// Of a flush its number.
    pub offset_bytes: u64,
    pub size_bytes: u64,
    /// The start of its latency: the intended start in an open loop; in a closed one it
    /// is set when the I/O is issued.
    pub start_ns: u64,
    /// Whether it started in the measured part.
    pub measured: bool,
    /// Of a write: it is durable when it is acknowledged, though its stream's are not.
    pub fua: bool,
    /// How often it has failed so far.
    pub attempts: u8,
    /// Which of its thread's targets. A byte: wider, the loop at depth took 1 % more CPU.
    pub target: u8,
    /// By which a trace knows the I/O when it is complete, where others wait for it.
    pub tag: u16,
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
    /// Issue nothing before this time.
    Wait(u64),
    /// Issue nothing before an I/O in flight has completed.
    Blocked,
    /// Issue nothing before all I/Os in flight have completed. A pause follows, so the
    /// next I/O is not before this time either.
    Drain(u64),
    /// Issue no more I/O in this run.
    Over,
}
