//! Time in nanoseconds: the time stamp counter where it can be trusted, else
//! `clock_gettime(CLOCK_MONOTONIC)`.
//!
//! Reading the counter costs some 8 ns, the system clock 20 ns or more. The counter
//! is used when the processor says that it is invariant and the kernel has not
//! taken it off its list of clock sources. It is calibrated against
//! CLOCK_MONOTONIC over at least 10 ms before the run (a few ppm), and compared
//! with it again over the whole run: see `drift_ppm`. An earlier process may have
//! taken the first reading, so that no run has to wait for the second one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CALIBRATION_NS: u64 = 10_000_000;
/// An older reading is not used: the kernel may have slewed its clock since.
const LATEST_NS: u64 = 3_600_000_000_000;
/// The counter runs while the machine sleeps, and CLOCK_MONOTONIC does not.
const AWAKE_NS: u64 = 10_000_000;
/// The environment's name for the reading of an earlier process: see `Reading`.
const EARLIER: &str = "IOPLAN_CLOCK";
const FRACTION_BITS: u32 = 32;

/// CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// How long the machine has slept since it was started.
fn slept_ns() -> u64 {
    read_clock(libc::CLOCK_BOOTTIME).saturating_sub(monotonic_ns())
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the whole call.
    let rc = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(rc, 0, "these clocks always exist");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_REALTIME, by which several hosts agree on a start.
pub fn realtime_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[derive(Clone, Copy)]
pub struct Clock {
    source: Source,
    base_ns: u64,
}

#[derive(Clone, Copy)]
enum Source {
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Tsc {
        base_ticks: u64,
        ns_per_tick_fixed: u64,
    },
    System,
}

/// Both clocks at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    ticks: u64,
    ns: u64,
}

impl Reading {
    /// The closest pair of several tries, because an interrupt between the two readings
    /// would distort the calibration.
    fn now() -> Self {
        let pair = || {
            let (before, ns, after) = (tsc::read(), monotonic_ns(), tsc::read());
            let ticks = before + (after.wrapping_sub(before)) / 2;
            (after.wrapping_sub(before), Self { ticks, ns })
        };
        let best = (0..20).map(|_| pair()).min_by_key(|pair| pair.0);
        best.map_or(Self { ticks: 0, ns: 0 }, |(_, reading)| reading)
    }

    /// For a process to come, in its environment; none where the counter is not used.
    pub fn for_later() -> Option<String> {
        let now = tsc::trusted().then(Self::now)?;
        Some(format!("{},{},{}", now.ticks, now.ns, slept_ns()))
    }

    /// What an earlier process has read, if the clocks still belong together.
    fn earlier(text: &str, now: Self, slept_ns: u64) -> Option<Self> {
        let mut numbers = text.split(',').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (ticks, ns, slept_before_ns) = (next()?, next()?, next()?);
        let age_ns = now.ns.checked_sub(ns)?;
        let usable = ticks < now.ticks
            && (CALIBRATION_NS..LATEST_NS).contains(&age_ns)
            && slept_ns.abs_diff(slept_before_ns) < AWAKE_NS;
        usable.then_some(Self { ticks, ns })
    }
}

/// The first reading of both clocks; the second one makes it a `Clock`.
pub struct Calibration {
    first: Option<Reading>,
}

impl Calibration {
    pub fn start() -> Self {
        Self {
            first: tsc::trusted().then(Reading::now),
        }
    }

    /// Waits until the two readings are 10 ms apart, unless an earlier process has read.
    pub fn finish(self) -> Clock {
        let Some(first) = self.first else {
            return Clock::system();
        };
        let known = std::env::var(EARLIER).ok();
        let earlier = known.and_then(|text| Reading::earlier(&text, first, slept_ns()));
        let since = earlier.unwrap_or(first);
        let passed_ns = monotonic_ns() - since.ns;
        std::thread::sleep(Duration::from_nanos(
            CALIBRATION_NS.saturating_sub(passed_ns),
        ));
        let now = Reading::now();
        if now.ticks <= since.ticks {
            return Clock::system();
        }
        let fixed =
            (u128::from(now.ns - since.ns) << FRACTION_BITS) / u128::from(now.ticks - since.ticks);
        let source = Source::Tsc {
            base_ticks: first.ticks,
            ns_per_tick_fixed: fixed as u64,
        };
        Clock {
            source,
            base_ns: first.ns,
        }
    }
}

impl Clock {
    pub fn system() -> Self {
        Self {
            source: Source::System,
            base_ns: monotonic_ns(),
        }
    }

    /// Nanoseconds since the clock was made.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        match self.source {
            Source::Tsc {
                base_ticks,
                ns_per_tick_fixed,
            } => {
                let ticks = tsc::read().saturating_sub(base_ticks);
                ((u128::from(ticks) * u128::from(ns_per_tick_fixed)) >> FRACTION_BITS) as u64
            }
            Source::System => monotonic_ns() - self.base_ns,
        }
    }

    pub fn name(&self) -> &'static str {
        match self.source {
            Source::Tsc { .. } => "tsc",
            Source::System => "clock_gettime",
        }
    }

    /// The drift of this clock against CLOCK_MONOTONIC since it was made.
    pub fn drift_ppm(&self) -> f64 {
        let (mine_ns, system_ns) = (self.now_ns(), monotonic_ns() - self.base_ns);
        (mine_ns as f64 - system_ns as f64) / (system_ns.max(1) as f64) * 1e6
    }
}

#[cfg(target_arch = "x86_64")]
mod tsc {
    use std::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};

    const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    const HIGHEST_LEAF: u32 = 0x8000_0000;
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT_BIT: u32 = 1 << 8;

    #[inline]
    pub fn read() -> u64 {
        // SAFETY: RDTSC is part of the x86-64 baseline and touches no memory.
        unsafe { _rdtsc() }
    }

    /// The kernel takes "tsc" off the list when its watchdog finds it unstable.
    pub fn trusted() -> bool {
        let listed = std::fs::read_to_string(SOURCES)
            .is_ok_and(|text| text.split_whitespace().any(|name| name == "tsc"));
        let leaves = leaf(HIGHEST_LEAF).eax;
        listed && leaves >= POWER_LEAF && leaf(POWER_LEAF).edx & INVARIANT_BIT != 0
    }

    #[allow(unused_unsafe)] // newer compilers know that it is safe
    fn leaf(number: u32) -> CpuidResult {
        // SAFETY: CPUID is part of the x86-64 baseline and touches no memory.
        unsafe { __cpuid(number) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod tsc {
    pub fn read() -> u64 {
        0
    }

    pub fn trusted() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_agrees_with_the_system_clock() {
        let clock = Calibration::start().finish();
        let (mine_ns, system_ns) = (clock.now_ns(), monotonic_ns());
        std::thread::sleep(Duration::from_millis(50));
        let (mine_ns, system_ns) = (clock.now_ns() - mine_ns, monotonic_ns() - system_ns);
        let off = (mine_ns as f64 / system_ns as f64 - 1.0).abs();
        assert!(off < 2e-3, "{} is off by {off}", clock.name());
    }

    #[test]
    fn an_earlier_reading_is_used_while_the_clocks_belong_together() {
        let now = Reading {
            ticks: 9_000_000_000,
            ns: 5_000_000_000,
        };
        let earlier = |text: &str| Reading::earlier(text, now, 7_000_000);
        let found = earlier("3000000000,2000000000,7000100");
        assert_eq!(
            found,
            Some(Reading {
                ticks: 3_000_000_000,
                ns: 2_000_000_000
            })
        );
        for text in [
            "",
            "3000000000,2000000000",
            "a,b,c",
            "-3,2000000000,7000000",
            "3000000000,4995000000,7000000", // 5 ms ago: too short a time
            "3000000000,6000000000,7000000", // to come
            "9000000001,2000000000,7000000", // the counter was set back
            "3000000000,2000000000,97000000", // the machine has slept
        ] {
            assert_eq!(earlier(text), None, "{text}");
        }
        let hours = Reading {
            ticks: 90_000_000_000_000,
            ns: 9_000_000_000_000,
        };
        assert_eq!(Reading::earlier("1,1,0", hours, 0), None);
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = Calibration::start().finish();
        let mut last_ns = 0;
        for _ in 0..100_000 {
            let now_ns = clock.now_ns();
            assert!(now_ns >= last_ns);
            last_ns = now_ns;
        }
    }
}
