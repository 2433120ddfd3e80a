//! The choice between io_uring and blocking system calls.

use std::sync::Arc;

use crate::job::failure::{Cause, Failure};
use crate::job::{Job, Mode};
use crate::ring;
use crate::target::Target;
use crate::threads::cpus;

/// The mode, and the reason when it is not io_uring.
pub fn choose(job: &Job, targets: &[Arc<Target>]) -> Result<(Mode, String), Failure> {
    let forbidden = ring::unusable_reason();
    match (job.mode, forbidden) {
        (Mode::Sync, _) if needs_ring(job) => Err(Failure::bad_job(
            "polled and passthrough need io_uring; leave out mode sync",
        )),
        (Mode::Sync, _) => Ok((Mode::Sync, "the job asks for it".to_owned())),
        (Mode::Auto, Some(reason)) if !needs_ring(job) => Ok((Mode::Sync, reason)),
        (_, Some(reason)) => Err(Failure::new(
            Cause::IoUringForbidden,
            format!(
                "the job asks for io_uring (mode, polled or passthrough), but {reason}; allow it, or use mode auto or sync"
            ),
        )),
        (Mode::Auto, None) if targets.iter().any(|one| is_punted(job, one)) => Ok((
            Mode::Sync,
            "the target has no NOWAIT, so that io_uring would hand each I/O to a kernel thread"
                .to_owned(),
        )),
        (_, None) => Ok((Mode::IoUring, String::new())),
    }
}

fn needs_ring(job: &Job) -> bool {
    job.polled || job.passthrough
}

/// Without NOWAIT, a system call is cheaper than a ring. But only where every I/O in flight
/// can have a CPU: else the threads would wait for one, outside the measured time, and the
/// queue depth would not be held.
fn is_punted(job: &Job, target: &Target) -> bool {
    let slots: usize = job
        .streams
        .iter()
        .map(|stream| stream.qd * stream.lanes())
        .sum();
    !needs_ring(job) && slots <= cpus::usable(&job.cpus).len() && !target.nowait()
}
