//! Beginning at a time that somebody else says, as runs on several hosts do.
//!
//! Until then all threads wait at the gate, with their memory and their rings.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use crate::job::Job;
use crate::job::failure::Failure;
use crate::measure::clock::realtime_ns;
use crate::threads::message::Message;
use crate::threads::shared::Shared;

/// A sleep may end so much too late; the rest is waited for busily.
const SPIN_NS: u64 = 200_000;

/// A thread that turns the line of stdin into a message.
pub fn forward(
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

/// Until the time has come, or the run was stopped, which then is over at once.
pub fn wait(shared: &Shared, messages: &Receiver<Message>) -> Result<(), Failure> {
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
