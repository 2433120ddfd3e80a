//! Threads that start together with those of other hosts go before all else on their
//! host while they wait: on a busy one, a thread that wakes may wait milliseconds for
//! its turn.

use libc::{SCHED_FIFO, SCHED_OTHER, pthread_getschedparam, pthread_self, pthread_setschedparam};

const LOWEST_FIFO: i32 = 1;

/// The calling thread is first until this is dropped, where the host lets it be so.
pub struct First(bool);

impl First {
    /// For threads that `wanted` to be.
    pub fn new(wanted: bool) -> Self {
        Self(wanted && policy() == Some(SCHED_OTHER) && set(SCHED_FIFO, LOWEST_FIFO))
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if self.0 {
            set(SCHED_OTHER, 0);
        }
    }
}

fn policy() -> Option<i32> {
    let (mut policy, mut param) = (0, with_priority(0));
    // SAFETY: both are written by the call, which has no other effect.
    let rc = unsafe { pthread_getschedparam(pthread_self(), &mut policy, &mut param) };
    (rc == 0).then_some(policy)
}

/// Whether the calling thread may be scheduled so; that needs CAP_SYS_NICE.
fn set(policy: i32, priority: i32) -> bool {
    let param = with_priority(priority);
    // SAFETY: `param` is valid for the call.
    unsafe { pthread_setschedparam(pthread_self(), policy, &param) == 0 }
}

/// musl's has more fields than glibc's, for another scheduler.
fn with_priority(priority: i32) -> libc::sched_param {
    // SAFETY: it is of integers, for which zeros are valid.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    param
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the right to it, as for most users, nothing changes.
    #[test]
    fn a_thread_is_first_only_while_it_waits() {
        let may = set(SCHED_FIFO, LOWEST_FIFO) && set(SCHED_OTHER, 0);
        let held = First::new(true);
        assert_eq!(policy() == Some(SCHED_FIFO), may);
        drop(held);
        assert_eq!(policy(), Some(SCHED_OTHER));
        drop(First::new(false));
        assert_eq!(policy(), Some(SCHED_OTHER));
    }
}
