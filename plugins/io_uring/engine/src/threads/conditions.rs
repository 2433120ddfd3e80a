//! Conditions that disturb a measurement without being an error: a saturated CPU, other
//! programs on it, steal time of a hypervisor, a change of the CPU frequency.

use serde_json::json;

use crate::job::event::Facts;

/// A thread that is on its CPU for more of its time is CPU-bound.
const FULL_PERCENT: f64 = 95.0;
/// A larger share of time lost to other programs shows in the mean latency.
const LOST_PERCENT: f64 = 1.0;
const FREQUENCY_PERCENT: f64 = 10.0;
const COARSE_TIMER_NS: u64 = 1_000;

/// A thread's time so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// When it was read: a caller's time may be old, as its thread may have waited since.
    pub at_ns: u64,
    pub cpu_ns: u64,
    /// Ready to run, while something else had its CPU.
    pub waited_ns: u64,
    pub preemptions: u64,
}

impl Usage {
    /// Of the calling thread.
    pub fn now() -> Self {
        // SAFETY: rusage is plain data, for which all zeros is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is valid during the call.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let waited = text.split_whitespace().nth(1);
        Self {
            at_ns: clock_ns(libc::CLOCK_MONOTONIC),
            // The value in schedstat is only updated at each timer tick.
            cpu_ns: thread_cpu_ns(),
            waited_ns: waited.and_then(|field| field.parse().ok()).unwrap_or(0),
            preemptions: usage.ru_nivcsw as u64,
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            at_ns: self.at_ns.saturating_sub(before.at_ns),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            preemptions: self.preemptions.saturating_sub(before.preemptions),
        }
    }
}

/// How a thread spent the measured part.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    pub stream: usize,
    pub spent: Usage,
}

impl Load {
    pub fn between(stream: usize, start: Usage, end: Usage) -> Self {
        Self {
            stream,
            spent: end.since(start),
        }
    }

    /// CPU time as a share of the time in which the thread was not waiting for a CPU.
    pub fn busy_percent(&self) -> f64 {
        let own_ns = self.spent.at_ns.saturating_sub(self.spent.waited_ns);
        share_percent(self.spent.cpu_ns, own_ns)
    }

    pub fn waited_percent(&self) -> f64 {
        share_percent(self.spent.waited_ns, self.spent.at_ns)
    }
}

/// The machine at one instant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    stolen_ticks: u64,
    all_ticks: u64,
    frequency_khz: Option<u64>,
}

impl Machine {
    /// `cpus`: those that the threads are pinned to; none means any.
    pub fn now(cpus: &[usize]) -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let mut machine = Self {
            frequency_khz: cpus.first().and_then(|cpu| frequency_khz(*cpu)),
            ..Self::default()
        };
        for ticks in text.lines().filter_map(|line| ticks_of(line, cpus)) {
            machine.all_ticks += ticks.iter().take(STEAL_FIELD + 1).sum::<u64>();
            machine.stolen_ticks += ticks.get(STEAL_FIELD).copied().unwrap_or(0);
        }
        machine
    }

    fn stolen_percent(&self, before: &Self) -> f64 {
        let stolen = self.stolen_ticks.saturating_sub(before.stolen_ticks);
        percent(stolen, self.all_ticks.saturating_sub(before.all_ticks))
    }

    fn frequency_change_percent(&self, before: &Self) -> f64 {
        match (before.frequency_khz, self.frequency_khz) {
            (Some(then), Some(now)) => percent(then.abs_diff(now), then),
            _ => 0.0,
        }
    }
}

/// user, nice, system, idle, iowait, irq, softirq, steal: see proc(5).
const STEAL_FIELD: usize = 7;

/// The counters of a line of /proc/stat, if it is one of those CPUs.
fn ticks_of(line: &str, cpus: &[usize]) -> Option<Vec<u64>> {
    let (name, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    let cpu: usize = name.parse().ok()?;
    let asked = cpus.is_empty() || cpus.contains(&cpu);
    asked.then(|| {
        rest.split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect()
    })
}

fn frequency_khz(cpu: usize) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The resolution of the timers by which arrivals and pauses are waited for.
pub fn timer_ns() -> u64 {
    let mut time = NO_TIME;
    // SAFETY: `time` is valid during the call.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut time) };
    nanoseconds(time)
}

pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = NO_TIME;
    // SAFETY: `time` is valid during the call.
    unsafe { libc::clock_gettime(clock, &mut time) };
    nanoseconds(time)
}

const NO_TIME: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

fn nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Of clocks that are read one after the other: at most the whole.
fn share_percent(part: u64, whole: u64) -> f64 {
    percent(part.min(whole), whole)
}

/// The properties of a stream that decide which warnings apply.
#[derive(Debug, Clone)]
pub struct StreamSetup {
    pub name: String,
    pub qd: usize,
    /// Its threads wait by spinning, so that a busy CPU is expected.
    pub busy_waits: bool,
    /// It depends on timers: it has a rate or pauses.
    pub timed: bool,
}

/// All conditions, at the end of the run.
pub struct Conditions {
    pub streams: Vec<StreamSetup>,
    pub loads: Vec<Load>,
    pub before: Machine,
    pub after: Machine,
    pub timer_ns: u64,
}

impl Conditions {
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::new();
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        for (at, stream) in self.streams.iter().enumerate() {
            let loads = || self.loads.iter().filter(|load| load.stream == at);
            let preemptions: u64 = loads().map(|load| load.spent.preemptions).sum();
            let fact = json!({
                "busy_percent": rounded(loads().map(Load::busy_percent).fold(0.0, f64::max)),
                "waited_percent": rounded(loads().map(Load::waited_percent).fold(0.0, f64::max)),
                "preemptions": preemptions,
            });
            facts.insert(stream.name.clone(), fact);
        }
        json!({
            "threads": facts, "timer_ns": self.timer_ns,
            "steal_percent": rounded(self.after.stolen_percent(&self.before)),
            "frequency_khz": [self.before.frequency_khz, self.after.frequency_khz],
        })
        .as_object()
        .cloned()
        .unwrap_or_default()
    }

    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.cpu_bound().chain(self.preempted()).collect();
        let changed = self.after.frequency_change_percent(&self.before);
        if changed > FREQUENCY_PERCENT {
            warnings.push(format!(
                "the CPU's frequency changed by {changed:.0} %; use the governor performance"
            ));
        }
        if self.timer_ns > COARSE_TIMER_NS && self.streams.iter().any(|stream| stream.timed) {
            warnings.push(format!(
                "timers are only as fine as {} ns; arrivals and pauses are late by as much",
                self.timer_ns
            ));
        }
        warnings
    }

    /// Streams that are limited by their CPU, and not by the drive.
    fn cpu_bound(&self) -> impl Iterator<Item = String> + '_ {
        let worst = self.worst(Load::busy_percent);
        worst.filter(|(stream, busy, _)| !stream.busy_waits && *busy > FULL_PERCENT).map(
            |(stream, busy, _)| {
                format!(
                    "stream {}: its CPU was busy for {busy:.0} % of the time: the generator, not the \
                     drive, is the limit at qd {}; use more threads",
                    stream.name, stream.qd
                )
            },
        )
    }

    fn preempted(&self) -> impl Iterator<Item = String> + '_ {
        let worst = self.worst(Load::waited_percent);
        worst
            .filter(|(_, waited, _)| *waited > LOST_PERCENT)
            .map(|(stream, waited, _)| {
                format!(
                    "stream {}: the load generator waited for a CPU {waited:.0} % of the run; \
                     latencies include it",
                    stream.name
                )
            })
    }

    /// The worst thread of each stream by a figure.
    fn worst(
        &self,
        figure: impl Fn(&Load) -> f64 + Copy,
    ) -> impl Iterator<Item = (&StreamSetup, f64, &Load)> {
        self.streams
            .iter()
            .enumerate()
            .filter_map(move |(at, stream)| {
                let loads = self.loads.iter().filter(|load| load.stream == at);
                let worst = loads.max_by(|a, b| figure(a).total_cmp(&figure(b)))?;
                Some((stream, figure(worst), worst))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(load: Load, busy_waits: bool) -> Conditions {
        Conditions {
            streams: vec![StreamSetup {
                name: "main".into(),
                qd: 32,
                busy_waits,
                timed: busy_waits,
            }],
            loads: vec![load],
            before: Machine::default(),
            after: Machine::default(),
            timer_ns: 1,
        }
    }

    fn load(cpu_ns: u64, waited_ns: u64) -> Load {
        let spent = Usage {
            at_ns: 1000,
            cpu_ns,
            waited_ns,
            preemptions: 3,
        };
        Load::between(0, Usage::default(), spent)
    }

    #[test]
    fn a_share_is_at_most_the_whole_and_none_of_no_time() {
        assert_eq!(load(500, 2000).waited_percent(), 100.0);
        assert_eq!(load(1500, 0).busy_percent(), 100.0);
        let none = Load::between(0, Usage::default(), Usage::default());
        assert_eq!((none.busy_percent(), none.waited_percent()), (0.0, 0.0));
    }

    #[test]
    fn a_full_core_is_named_unless_it_waits_by_computing() {
        let full = conditions(load(990, 0), false).warnings();
        assert!(
            full.len() == 1 && full[0].contains("the generator, not the drive"),
            "{full:?}"
        );
        assert!(conditions(load(990, 0), true).warnings().is_empty());
        assert!(conditions(load(900, 0), false).warnings().is_empty());
    }

    #[test]
    fn a_core_that_is_shared_is_full_all_the_same() {
        let warnings = conditions(load(495, 500), false).warnings();
        assert!(warnings[0].contains("busy for 99 %") && warnings[1].contains("a CPU 50 %"));
    }

    #[test]
    fn steal_frequency_and_timers_are_told() {
        let mut all = conditions(load(1, 0), true);
        all.before.frequency_khz = Some(2_000_000);
        all.after = Machine {
            stolen_ticks: 5,
            all_ticks: 100,
            frequency_khz: Some(3_000_000),
        };
        all.timer_ns = 4_000_000;
        let warnings = all.warnings().join("\n");
        for part in ["changed by 50 %", "4000000 ns"] {
            assert!(warnings.contains(part), "{warnings}");
        }
        // Of steal, the telemetry of a run warns, whatever does the I/O.
        assert_eq!(all.facts()["steal_percent"], 5.0);
    }

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let line = "cpu1 10 20 30 40 50 60 70 80 0 0";
        assert_eq!(ticks_of(line, &[1]).expect("asked")[STEAL_FIELD], 80);
        assert!(ticks_of(line, &[0]).is_none() && ticks_of("cpu  1 2", &[]).is_none());
        assert!(Machine::now(&[]).all_ticks > 0 && timer_ns() > 0);
        assert!(Usage::now().cpu_ns > 0);
    }
}
