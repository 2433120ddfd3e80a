//! CPU affinity: the CPUs that this process may use, and pinning a thread to one.

/// The allowed CPUs, the last first: the first ones are where the kernel does its
/// housekeeping, and an I/O at queue depth 1 took up to 25 % longer there.
pub fn allowed() -> Vec<usize> {
    // SAFETY: cpu_set_t is a plain bit set, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid and of the size that is passed.
    let rc = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if rc != 0 {
        return Vec::new();
    }
    let inside = |cpu: &usize| {
        // SAFETY: `cpu` is below CPU_SETSIZE, the number of bits in the set.
        unsafe { libc::CPU_ISSET(*cpu, &set) }
    };
    (0..libc::CPU_SETSIZE as usize)
        .rev()
        .filter(inside)
        .collect()
}

/// The CPUs for `threads` threads: those of the job, else the allowed ones.
pub struct Cpus {
    all: Vec<usize>,
    /// Whether each thread has one of its own; else they share all of them.
    pub pinned: bool,
}

impl Cpus {
    pub fn new(of_job: &[usize], threads: usize) -> Self {
        let all = usable(of_job);
        let pinned = threads <= all.len();
        Self { all, pinned }
    }

    /// Those of one thread.
    pub fn of(&self, thread: usize) -> Vec<usize> {
        if self.pinned {
            vec![self.all[thread]]
        } else {
            self.all.clone()
        }
    }

    /// Those that so many threads take.
    pub fn used(&self, threads: usize) -> &[usize] {
        &self.all[..threads.min(self.all.len())]
    }
}

/// The CPUs that a job's threads may have, the best first.
pub fn usable(of_job: &[usize]) -> Vec<usize> {
    if of_job.is_empty() {
        allowed()
    } else {
        of_job.to_vec()
    }
}

/// Lets the calling thread run on these CPUs only; false if none of them can be had.
pub fn pin(cpus: &[usize]) -> bool {
    // SAFETY: as in `allowed`; CPU_SET ignores what is beyond CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus {
            if cpu < libc::CPU_SETSIZE as usize {
                libc::CPU_SET(cpu, &mut set);
            }
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_cpu_that_the_job_gives_it() {
        let cpus = Cpus::new(&[6, 2], 2);
        assert!(cpus.pinned && cpus.of(0) == [6] && cpus.of(1) == [2]);
        assert_eq!(Cpus::new(&[6, 2], 1).used(1), [6]);
        let shared = Cpus::new(&[6, 2], 3);
        assert!(!shared.pinned && shared.of(2) == [6, 2] && shared.used(3) == [6, 2]);
        assert_eq!(Cpus::new(&[], 1).of(0), allowed()[..1]);
    }

    #[test]
    fn a_thread_can_be_pinned() {
        let cpus = allowed();
        assert!(!cpus.is_empty());
        let last = cpus[..1].to_vec();
        let wanted = last.clone();
        let pinned = std::thread::spawn(move || pin(&wanted).then(allowed));
        assert_eq!(pinned.join().expect("no panic"), Some(last));
        assert!(!pin(&[usize::MAX]));
    }
}
