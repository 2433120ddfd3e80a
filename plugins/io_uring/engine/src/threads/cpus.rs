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

/// The allowed CPUs, those of a NUMA node first.
pub fn allowed_near(node: Option<u32>) -> Vec<usize> {
    let mut cpus = allowed();
    let list = node.and_then(|node| {
        std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok()
    });
    let near = parse(&list.unwrap_or_default());
    cpus.sort_by_key(|cpu| !near.contains(cpu));
    cpus
}

/// The kernel's form of a list: `0-3,8,10-11`.
fn parse(list: &str) -> Vec<usize> {
    let parts = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    parts.flatten().collect()
}

/// Pins the calling thread; false if the CPU has gone offline.
pub fn pin(cpu: usize) -> bool {
    // SAFETY: as in `allowed`; `cpu` came from there and is below CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_cpus_of_a_node_come_first() {
        assert_eq!(super::parse("0-2,8,10-11\n"), [0, 1, 2, 8, 10, 11]);
        assert!(super::parse("").is_empty());
        let mut near = super::allowed_near(Some(0));
        near.sort_unstable();
        let mut all = super::allowed();
        all.sort_unstable();
        assert_eq!(near, all);
    }

    #[test]
    fn a_thread_can_be_pinned() {
        let cpus = super::allowed();
        assert!(!cpus.is_empty());
        let cpu = cpus[0];
        let pinned = std::thread::spawn(move || super::pin(cpu).then(super::allowed));
        assert_eq!(pinned.join().expect("no panic"), Some(vec![cpu]));
    }
}
