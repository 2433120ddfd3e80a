//! `--lifeline`: the run ends when the process that started it closes stdin.
//!
//! A pipe is closed by the kernel however its holder ends, also by SIGKILL. Unlike
//! PR_SET_PDEATHSIG it does not depend on which of the holder's threads started this
//! process, and it holds from the first moment on.

use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, Sender};

use serde::Deserialize;

use crate::job::failure::Failure;
use crate::job::protocol;
use crate::threads::signals;

/// The second line of stdin, for a job with `await_start`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    start_at_ns: u64,
}

/// The job, which is the first line, and the start times that follow. From then on the
/// end of stdin ends the process.
pub fn job() -> Result<(String, Receiver<u64>), Failure> {
    let text = protocol::read_line(std::io::stdin().lock())?;
    signals::block();
    let (sender, starts) = mpsc::channel();
    std::thread::spawn(move || end_with_stdin(&sender));
    Ok((text, starts))
}

/// A line that cannot be parsed ends the process as well.
fn end_with_stdin(starts: &Sender<u64>) {
    for line in std::io::stdin().lock().lines() {
        let Some(start) = line.ok().and_then(|line| read(&line)) else {
            break;
        };
        let _ = starts.send(start.start_at_ns);
    }
    // SAFETY: ends the process, all threads with it. Nobody is left to read events.
    unsafe { libc::_exit(crate::EXIT_FAILED) }
}

fn read(line: &str) -> Option<Start> {
    serde_json::from_str(line).ok()
}
