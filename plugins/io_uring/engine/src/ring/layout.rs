//! What threads write for each I/O: no two of them the same cache line, and each on the
//! NUMA node of its CPU. `ioplan.runner.prepare.placement` chooses CPUs of the drive's node.

use std::ops::Range;
use std::sync::{Arc, Barrier, mpsc};

use crate::job::Job;
use crate::job::failure::last_errno;
use crate::measure::clock::Clock;
use crate::ring::worker::{Options, Worker, make};
use crate::target::Target;
use crate::threads::apart::addresses;
use crate::threads::cpus;
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

fn worker(job: &Job, thread: usize, shared: &Arc<Shared>) -> Option<Worker> {
    let id = LaneId {
        lane: thread,
        stream: 0,
        thread,
        place: Some(0),
    };
    let (messages, _) = mpsc::channel();
    let lane = Lane::new(job, id, true, shared.clone(), None, messages);
    let options = Options {
        spin: false,
        discards: false,
        polled: false,
    };
    let target = Arc::new(Target::open("/dev/zero", false).expect("/dev/zero"));
    make(job, lane, shared.clock, vec![target], options).ok()
}

/// What each of the threads writes, all of them there at once. None where io_uring is
/// forbidden.
fn written() -> Option<Vec<Vec<Range<usize>>>> {
    let (job, all_made) = (Arc::new(job()), Arc::new(Barrier::new(THREADS)));
    let shared = Arc::new(Shared::new(Clock::system(), None));
    let spawn = |thread| {
        let (job, all_made, shared) = (job.clone(), all_made.clone(), shared.clone());
        std::thread::spawn(move || {
            let worker = worker(&job, thread, &shared);
            all_made.wait();
            let written = worker.as_ref().map(Worker::written);
            all_made.wait();
            written
        })
    };
    let threads: Vec<_> = (0..THREADS).map(spawn).collect();
    let joined = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"));
    joined.collect()
}

/// The node of the CPU that the calling thread is on.
fn node_of_cpu() -> i32 {
    let (mut cpu, mut node) = (0u32, 0u32);
    let null = std::ptr::null::<u8>();
    // SAFETY: two words that live through the call; the third argument is unused.
    let rc = unsafe { libc::syscall(libc::SYS_getcpu, &mut cpu, &mut node, null) };
    assert_eq!(rc, 0);
    node as i32
}

/// The node of the memory at an address; None where the kernel does not tell.
fn node_of_memory(address: usize) -> Option<i32> {
    const NODE_OF_ADDRESS: libc::c_ulong = 1 | 2; // MPOL_F_NODE, MPOL_F_ADDR
    let (mut node, mask) = (-1i32, std::ptr::null::<u8>());
    let (number, no_bits) = (libc::SYS_get_mempolicy, 0 as libc::c_ulong);
    // SAFETY: one word for the node; no mask is asked for; the address is only looked at.
    let rc = unsafe { libc::syscall(number, &mut node, mask, no_bits, address, NODE_OF_ADDRESS) };
    if rc != 0 {
        let why = last_errno(); // not built in, or forbidden
        assert!(matches!(why, libc::ENOSYS | libc::EPERM), "errno {why}");
        return None;
    }
    Some(node)
}

#[test]
fn a_threads_memory_is_on_the_node_of_its_cpu() {
    for cpu in cpus::allowed() {
        let on_the_cpu = move || {
            assert!(cpus::pin(&[cpu]));
            let (shared, job) = (Arc::new(Shared::new(Clock::system(), None)), job());
            let worker = worker(&job, 0, &shared)?;
            let places = worker.written().into_iter();
            let nodes = places.filter_map(|place| node_of_memory(place.start));
            Some((node_of_cpu(), nodes.collect::<Vec<_>>()))
        };
        let found = std::thread::spawn(on_the_cpu).join().expect("no panic");
        let Some((wanted, nodes)) = found else {
            return; // io_uring is forbidden here
        };
        assert!(
            nodes.iter().all(|&node| node == wanted),
            "CPU {cpu}: {nodes:?}"
        );
    }
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
