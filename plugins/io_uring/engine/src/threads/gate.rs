//! Where the threads wait until all of them are ready.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::threads::schedule::Schedule;
use crate::threads::shared::lock;

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
