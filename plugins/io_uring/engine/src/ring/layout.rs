//! What threads write for each I/O: no two of them the same cache line.

use std::ops::Range;
use std::sync::{Arc, Barrier, mpsc};

use crate::job::Job;
use crate::measure::clock::Clock;
use crate::ring::worker::{Options, Worker, make};
use crate::target::Target;
use crate::threads::apart::addresses;
use crate::threads::lane::{Lane, LaneId};
use crate::threads::shared::Shared;

const THREADS: usize = 64;
const LINE_BYTES: usize = 64;

impl Worker {
    /// All that a plain loop writes.
    fn written(&self) -> Vec<Range<usize>> {
        let mut all = self.lane.written();
        all.extend([addresses(self), addresses(&self.ops[..])]);
        all.extend([self.slots.written(), self.buffers.written()]);
        all.extend(self.ring.written());
        all
    }
}

fn job() -> Job {
    let size = serde_json::json!([{"size_bytes": 4096, "percent": 100.0}]);
    serde_json::from_value(serde_json::json!({
        "target": "/dev/zero", "capacity_bytes": 1 << 20, "block_bytes": 512,
        "streams": [{
            "pattern": "random", "read_percent": 100.0, "qd": 1, "threads": THREADS,
            "read_sizes": size, "write_sizes": size,
            "region_start_bytes": 0, "region_end_bytes": 1 << 20}]}))
    .expect("a job")
}

/// What each of the threads writes, all of them there at once. None where io_uring is
/// forbidden.
fn written() -> Option<Vec<Vec<Range<usize>>>> {
    let (job, all_made) = (Arc::new(job()), Arc::new(Barrier::new(THREADS)));
    let shared = Arc::new(Shared::new(Clock::system(), None));
    let target = Arc::new(Target::open("/dev/zero", false).expect("/dev/zero"));
    let thread = |thread| {
        let (job, all_made, shared, target) = (
            job.clone(),
            all_made.clone(),
            shared.clone(),
            target.clone(),
        );
        let (messages, _) = mpsc::channel();
        std::thread::spawn(move || {
            let id = LaneId {
                lane: thread,
                stream: 0,
                thread,
            };
            let lane = Lane::new(&job, id, true, shared.clone(), None, messages);
            let options = Options {
                spin: false,
                discards: false,
                polled: false,
            };
            let worker = make(&job, lane, shared.clock, &target, options).ok();
            all_made.wait();
            let written = worker.as_ref().map(Worker::written);
            all_made.wait();
            written
        })
    };
    let threads: Vec<_> = (0..THREADS).map(thread).collect();
    let joined = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"));
    joined.collect()
}

#[test]
fn no_two_threads_write_one_cache_line() {
    let Some(written) = written() else {
        return;
    };
    let lines = |range: &Range<usize>| (range.start / LINE_BYTES, (range.end - 1) / LINE_BYTES);
    let of = |(thread, ranges): (usize, &Vec<Range<usize>>)| {
        ranges
            .iter()
            .map(lines)
            .map(|lines| (lines, thread))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<_> = written.iter().enumerate().flat_map(of).collect();
    all.sort_unstable();
    assert!(
        all.len() >= THREADS * 8,
        "each has its state, its counts, its ring"
    );
    for pair in all.windows(2) {
        let [((_, last), one), ((first, _), other)] = [pair[0], pair[1]];
        assert!(
            one == other || last < first,
            "threads {one} and {other} share line {first}"
        );
    }
}
