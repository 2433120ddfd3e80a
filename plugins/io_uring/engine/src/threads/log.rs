//! A log that other streams follow: the n-th write of a follower is issued only once n
//! writes of the log are durable, by FUA or by a flush that covers them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::job::Job;
use crate::pattern::op::Op;

/// How soon a follower that waits looks again.
pub const LOOK_NS: u64 = 100_000;

/// What is known of a stream that others follow.
#[derive(Debug)]
pub struct Log {
    durable: AtomicU64,
    /// Its lanes that are not over.
    lanes: AtomicUsize,
}

/// The logs of a run by their streams, and how many writes the followers have drawn.
#[derive(Default)]
pub struct Logs {
    logs: Vec<Option<Arc<Log>>>,
    drawn: Vec<Arc<AtomicU64>>,
}

impl Logs {
    pub fn of(job: &Job) -> Self {
        let log = |(at, stream): (usize, &crate::job::Stream)| {
            let lanes = AtomicUsize::new(stream.lanes());
            let durable = AtomicU64::new(0);
            job.is_followed(at)
                .then(|| Arc::new(Log { durable, lanes }))
        };
        Self {
            logs: job.streams.iter().enumerate().map(log).collect(),
            drawn: job.streams.iter().map(|_| Arc::default()).collect(),
        }
    }

    /// A lane's part in the log that its stream is.
    pub fn writer(&self, stream: usize, fua: bool, slots: usize) -> Option<LogWriter> {
        let log = self.logs.get(stream)?.clone()?;
        Some(LogWriter {
            log,
            fua,
            completed: 0,
            covered: vec![0; slots],
        })
    }

    /// A lane that follows the log of another stream.
    pub fn follower(&self, stream: usize, log: usize) -> Option<Follower> {
        Some(Follower {
            log: self.logs.get(log)?.clone()?,
            drawn: self.drawn.get(stream)?.clone(),
            held: None,
        })
    }
}

/// A lane of the log.
pub struct LogWriter {
    log: Arc<Log>,
    fua: bool,
    /// Since the last flush was issued.
    completed: u64,
    /// By the flush in a slot.
    covered: Vec<u64>,
}

impl LogWriter {
    pub fn written(&mut self) {
        match self.fua {
            true => self.durable(1),
            false => self.completed += 1,
        }
    }

    pub fn flushing(&mut self, slot: usize) {
        self.covered[slot] = std::mem::take(&mut self.completed);
    }

    pub fn flushed(&mut self, slot: usize, success: bool) {
        let covered = std::mem::take(&mut self.covered[slot]);
        match success {
            true => self.durable(covered),
            false => self.completed += covered,
        }
    }

    fn durable(&self, writes: u64) {
        self.log.durable.fetch_add(writes, Ordering::Release);
    }

    /// The lane is over: what is not durable will never be.
    pub fn finish(&self) {
        self.log.lanes.fetch_sub(1, Ordering::Release);
    }
}

/// A lane of a stream that follows a log.
pub struct Follower {
    log: Arc<Log>,
    drawn: Arc<AtomicU64>,
    held: Option<(Op, u64)>,
}

/// What becomes of a write that follows a log.
pub enum Following {
    Issue(Op),
    Wait,
    /// The log has ended before its entry was durable.
    Never,
}

impl Follower {
    /// A write was drawn: its entry is the log's of the same number.
    pub fn draw(&mut self, op: Op) -> Following {
        let entry = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        self.held = Some((op, entry));
        self.next().unwrap_or(Following::Wait)
    }

    /// The write that is held, if any.
    pub fn next(&mut self) -> Option<Following> {
        let (op, entry) = self.held?;
        let ended = self.log.lanes.load(Ordering::Acquire) == 0;
        if self.log.durable.load(Ordering::Acquire) >= entry {
            self.held = None;
            return Some(Following::Issue(op));
        }
        Some(if ended {
            Following::Never
        } else {
            Following::Wait
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::op::Kind;
    use crate::pattern::sizes::Direction;

    const WRITE: Op = Op {
        kind: Kind::Io(Direction::Write),
        offset_bytes: 0,
        size_bytes: 512,
        start_ns: 0,
        measured: true,
        fua: false,
        attempts: 0,
        target: 0,
        tag: 0,
    };

    fn pair(fua: bool) -> (LogWriter, Follower) {
        let stream = |name: &str, follows: Option<&str>| {
            serde_json::json!({
                "name": name, "pattern": "random", "read_percent": 0.0, "read_sizes": [],
                "write_sizes": [], "region_start_bytes": 0, "region_end_bytes": 0,
                "follows": follows})
        };
        let job = serde_json::json!({
            "target": "/dev/zero", "capacity_bytes": 4096, "block_bytes": 512,
            "streams": [stream("log", None), stream("data", Some("log"))]});
        let job: Job = serde_json::from_value(job).expect("a job");
        let logs = Logs::of(&job);
        assert!(logs.writer(1, fua, 2).is_none());
        let (log, data) = (logs.writer(0, fua, 2), logs.follower(1, 0));
        (log.expect("a log"), data.expect("a follower"))
    }

    #[test]
    fn with_fua_each_write_lets_one_go() {
        let (mut log, mut data) = pair(true);
        assert!(matches!(data.draw(WRITE), Following::Wait));
        log.written();
        assert!(matches!(data.next(), Some(Following::Issue(_))));
        assert!(data.next().is_none());
        assert!(matches!(data.draw(WRITE), Following::Wait));
    }

    #[test]
    fn a_flush_lets_go_what_it_covers_if_it_succeeds() {
        let (mut log, mut data) = pair(false);
        log.written();
        log.flushing(1);
        log.written();
        assert!(matches!(data.draw(WRITE), Following::Wait));
        log.flushed(1, false);
        assert!(matches!(data.next(), Some(Following::Wait)));
        log.flushing(0);
        log.flushed(0, true);
        assert!(matches!(data.next(), Some(Following::Issue(_))));
        assert!(matches!(data.draw(WRITE), Following::Issue(_)));
        assert!(matches!(data.draw(WRITE), Following::Wait));
    }

    #[test]
    fn an_entry_that_will_never_be_durable_ends_the_follower() {
        let (mut log, mut data) = pair(true);
        log.written();
        log.finish();
        assert!(matches!(data.draw(WRITE), Following::Issue(_)));
        assert!(matches!(data.draw(WRITE), Following::Never));
    }
}
