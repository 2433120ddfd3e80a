//! The start of a run: all threads wait at the gate, with their memory and their rings,
//! until each of them is ready, and until a time that is given from outside, as runs on
//! several hosts have it.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::job::Job;
use crate::job::failure::Failure;
use crate::measure::clock::realtime_ns;
use crate::measure::schedule::Schedule;
use crate::threads::message::Message;
use crate::threads::shared::{Shared, lock};

/// A sleep may end this much too late, so that the last part of the wait is spun.
const SPIN_NS: u64 = 200_000;

#[derive(Default)]
pub struct Gate {
    schedule: Mutex<Option<Schedule>>,
    opened: Condvar,
}

impl Gate {
    pub fn open(&self, schedule: Schedule) {
        *lock(&self.schedule) = Some(schedule);
        self.opened.notify_all();
    }

    pub fn wait(&self) -> Schedule {
        let mut schedule = lock(&self.schedule);
        loop {
            if let Some(schedule) = *schedule {
                return schedule;
            }
            let woken = self.opened.wait(schedule);
            schedule = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread that turns the line of stdin into a message.
pub fn forward_start(
    job: &Job,
    starts: Option<Receiver<u64>>,
    messages: Sender<Message>,
) -> Result<(), Failure> {
    let Some(starts) = starts else {
        let alone = "await_start needs a line on stdin: call the engine with --lifeline";
        return match job.await_start {
            true => Err(Failure::bad_job(alone)),
            false => Ok(()),
        };
    };
    std::thread::spawn(move || {
        for at_ns in starts {
            if messages.send(Message::Start { at_ns }).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Waits for the start time. A run that is stopped meanwhile is over at once.
pub fn await_start(shared: &Shared, messages: &Receiver<Message>) -> Result<(), Failure> {
    let mut begin_ns = None;
    while !shared.stopped() {
        let message = match begin_ns {
            None => messages.recv().ok(),
            Some(at_ns) => {
                let left_ns = u64::saturating_sub(at_ns, realtime_ns());
                if left_ns <= SPIN_NS {
                    spin_until(at_ns);
                    break;
                }
                let nap = Duration::from_nanos(left_ns - SPIN_NS);
                messages.recv_timeout(nap).ok()
            }
        };
        match message {
            Some(Message::Start { at_ns }) => begin_ns = Some(at_ns),
            Some(Message::Signal) => shared.stop(),
            Some(Message::Failed(failure)) => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}

fn spin_until(at_ns: u64) {
    while realtime_ns() < at_ns {
        std::hint::spin_loop();
    }
}
