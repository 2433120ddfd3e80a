//! Answers that are due later: one thread, which one slow I/O does not hold up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A sleeper wakes up so late at most, mostly; the rest is spun.
const SPIN_NS: u64 = 60_000;

type Answer = Box<dyn FnOnce() + Send>;

struct Due {
    at_ns: u64,
    number: u64,
    answer: Answer,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

#[derive(Default)]
struct Waiting {
    heap: BinaryHeap<Reverse<Due>>,
    number: u64,
}

#[derive(Clone, Default)]
pub struct Timer(Arc<(Mutex<Waiting>, Condvar)>);

impl Timer {
    pub fn start() -> Self {
        let timer = Timer::default();
        let own = timer.clone();
        thread::spawn(move || own.run());
        timer
    }

    pub fn at(&self, at_ns: u64, answer: impl FnOnce() + Send + 'static) {
        let (waiting, changed) = &*self.0;
        let mut waiting = waiting.lock().unwrap();
        let number = waiting.number;
        waiting.number += 1;
        let first = waiting
            .heap
            .peek()
            .is_none_or(|Reverse(due)| at_ns < due.at_ns);
        let answer = Box::new(answer);
        waiting.heap.push(Reverse(Due {
            at_ns,
            number,
            answer,
        }));
        if first {
            changed.notify_one();
        }
    }

    fn run(&self) {
        precise_sleeps();
        loop {
            (self.next().answer)();
        }
    }

    /// The first that is due, when it is; an earlier one may come meanwhile.
    fn next(&self) -> Due {
        let (waiting, changed) = &*self.0;
        let mut waiting = waiting.lock().unwrap();
        loop {
            let Some(Reverse(first)) = waiting.heap.peek() else {
                waiting = changed.wait(waiting).unwrap();
                continue;
            };
            let left_ns = first.at_ns.saturating_sub(now_ns());
            if left_ns == 0 {
                return waiting.heap.pop().unwrap().0;
            }
            if left_ns > SPIN_NS {
                let nap = Duration::from_nanos(left_ns - SPIN_NS);
                waiting = changed.wait_timeout(waiting, nap).unwrap().0;
            } else {
                drop(waiting);
                std::hint::spin_loop();
                waiting = self.0.0.lock().unwrap();
            }
        }
    }
}

/// The kernel otherwise lets a sleeper lie for 50 us longer.
fn precise_sleeps() {
    // SAFETY: it concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// CLOCK_MONOTONIC, as Python's `time.monotonic_ns`.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
