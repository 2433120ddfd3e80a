//! Stdin as the line by which a run hangs on whoever started it.
//!
//! A pipe is closed by the kernel however its holder ends, also by SIGKILL. Unlike
//! PR_SET_PDEATHSIG it does not depend on which of the holder's threads started this
//! process, and it holds from the first moment on.

use std::io::{BufRead, Read};

use crate::failure::Failure;
use crate::signals;

/// The job, which is the first line. From then on the end of stdin ends the process.
pub fn job() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_line(&mut text);
    read.map_err(|error| Failure::bad_job(format!("the job cannot be read: {error}")))?;
    if !text.ends_with('\n') {
        return Err(Failure::bad_job("the job's line has no end"));
    }
    signals::block();
    std::thread::spawn(end_with_stdin);
    Ok(text)
}

fn end_with_stdin() {
    let mut ignored = [0; 64];
    while std::io::stdin()
        .lock()
        .read(&mut ignored)
        .is_ok_and(|n| n > 0)
    {}
    // SAFETY: ends the process, all threads with it. Nobody is left to be told.
    unsafe { libc::_exit(crate::EXIT_FAILED) }
}
