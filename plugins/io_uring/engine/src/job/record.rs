//! What is recorded besides the counts: facts, CPU time, and the length of the run.

use serde_json::json;

use crate::job::Stream;
use crate::job::event::{Cpu, Facts};
use crate::threads::crew::{Crew, RunContext};
use crate::threads::lane_end::LaneEnd;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn started_facts(context: &RunContext, crew: &Crew) -> Facts {
    let mut facts = crew.facts.clone();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    facts.insert("engine".into(), json!(VERSION));
    facts.insert("kernel".into(), json!(kernel.trim()));
    facts.insert("clock".into(), json!(context.shared.clock.name()));
    facts.insert(
        "direct".into(),
        json!(context.targets.iter().all(|one| one.direct)),
    );
    facts.insert("target_kind".into(), json!(context.targets[0].kind.name()));
    facts
}

/// CPU time of all threads of this process, including the kernel's io-wq workers for it.
pub fn cpu_now() -> Cpu {
    // SAFETY: rusage is plain data, for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid during the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Cpu {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
    }
}

/// Zero when the run ended before its measured part.
pub fn cpu_between(before: Option<Cpu>, after: Cpu) -> Cpu {
    before.map_or_else(Cpu::default, |before| Cpu {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
    })
}

/// The time that a stream's number of I/Os is divided by to give IOPS.
///
/// - Open loop: from the start of the measured part to the end of issuing, for the
///   arrivals in that time are what was counted.
/// - By passes: from the first issue to the last completion, for that is how long
///   the work took.
/// - Else the mean over the slots of the queue depth, each from its first issue to
///   its last completion. A slot does one I/O after the other; that it stops with
///   the first one to end after the deadline makes neither count nor mean latency
///   biased (Wald's identity), and IOPS × mean latency = queue depth. A thread with
///   pauses counts as one slot: see `LaneEnd::spanning`.
pub fn stream_run_ns(stream: &Stream, ends: &[LaneEnd], start_ns: u64, by_passes: bool) -> u64 {
    let last_ns = ends.iter().filter_map(|end| end.last_ns).max();
    let exhausted = ends.iter().all(|end| end.exhausted);
    if by_passes && exhausted {
        let first_ns = ends.iter().filter_map(|end| end.first_ns).min();
        return last_ns.unwrap_or(0).saturating_sub(first_ns.unwrap_or(0));
    }
    if stream.is_open_loop() {
        let over_ns = ends.iter().map(|end| end.over_ns).max();
        return over_ns.unwrap_or(0).saturating_sub(start_ns);
    }
    let slots: u64 = ends.iter().map(|end| end.busy_slots).sum();
    let busy_ns: u64 = ends.iter().map(|end| end.busy_ns).sum();
    busy_ns.checked_div(slots).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::conditions::Usage;

    fn stream(more: &str) -> Stream {
        let text = format!(
            r#"{{"pattern":"random","read_percent":100.0,"read_sizes":[],"write_sizes":[],
            "region_start_bytes":0,"region_end_bytes":4096{more}}}"#
        );
        serde_json::from_str(&text).expect("a stream")
    }

    fn end() -> LaneEnd {
        LaneEnd {
            end_ns: 1300,
            over_ns: 1000,
            exhausted: true,
            busy_slots: 2,
            busy_ns: 2100,
            first_ns: Some(10),
            last_ns: Some(1200),
            ..LaneEnd::default()
        }
    }

    #[test]
    fn each_kind_of_run_has_its_time() {
        let ends = [end(), end()];
        assert_eq!(stream_run_ns(&stream(""), &ends, 0, false), 1050);
        assert_eq!(stream_run_ns(&stream(""), &ends, 0, true), 1190);
        let rate = r#","rate":{"iops":5.0}"#;
        assert_eq!(stream_run_ns(&stream(rate), &ends, 100, false), 900);
        assert_eq!(
            stream_run_ns(&stream(""), &[LaneEnd::default()], 0, false),
            0
        );
    }

    #[test]
    fn cpu_time_passes() {
        let before = cpu_now();
        let thread_before = Usage::now().cpu_ns;
        while Usage::now().cpu_ns < thread_before + 30_000_000 {}
        let spent = cpu_between(Some(before), cpu_now());
        assert!(spent.user_ns + spent.system_ns > 10_000_000);
    }
}
