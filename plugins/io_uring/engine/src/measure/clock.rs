//! Time in nanoseconds: the time stamp counter where it can be trusted, else
//! `clock_gettime(CLOCK_MONOTONIC)`.
//!
//! Reading the counter costs some 8 ns, the system clock 20 ns or more. The counter
//! is used when the processor says that it is invariant and the kernel has not
//! taken it off its list of clock sources. It is calibrated against
//! CLOCK_MONOTONIC over at least 10 ms before the run (a few ppm), and compared
//! with it again over the whole run: see `drift_ppm`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CALIBRATION_NS: u64 = 10_000_000;
const FRACTION_BITS: u32 = 32;

/// CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the whole call.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    assert_eq!(rc, 0, "CLOCK_MONOTONIC always exists");
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

/// The first reading of both clocks; the second one makes it a `Clock`.
pub struct Calibration {
    first: Option<(u64, u64)>,
}

impl Calibration {
    pub fn start() -> Self {
        Self {
            first: tsc::trusted().then(read_both),
        }
    }

    /// Waits until the two readings are 10 ms apart.
    pub fn finish(self) -> Clock {
        let Some((base_ticks, base_ns)) = self.first else {
            return Clock::system();
        };
        let passed_ns = monotonic_ns() - base_ns;
        std::thread::sleep(Duration::from_nanos(
            CALIBRATION_NS.saturating_sub(passed_ns),
        ));
        let (ticks, ns) = read_both();
        if ticks <= base_ticks {
            return Clock::system();
        }
        let fixed = (u128::from(ns - base_ns) << FRACTION_BITS) / u128::from(ticks - base_ticks);
        let source = Source::Tsc {
            base_ticks,
            ns_per_tick_fixed: fixed as u64,
        };
        Clock { source, base_ns }
    }
}

/// Both clocks at one instant: the closest pair of several tries, because an
/// interrupt between the two readings would distort the calibration.
fn read_both() -> (u64, u64) {
    let pair = || {
        let (before, ns, after) = (tsc::read(), monotonic_ns(), tsc::read());
        (
            after.wrapping_sub(before),
            before + (after - before) / 2,
            ns,
        )
    };
    let best = (0..20).map(|_| pair()).min_by_key(|pair| pair.0);
    best.map_or((0, 0), |(_, ticks, ns)| (ticks, ns))
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
