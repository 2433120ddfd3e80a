//! How the rate of an open loop changes with time: work against time, and back.
//!
//! Times count from the start of the stream's measured part, and are negative before. Work
//! is that since then.

use crate::job::Rate;

#[derive(Debug, Clone)]
pub enum Pace {
    Phases {
        phases: Vec<Phase>,
        cycle_ns: f64,
        cycle_work: f64,
    },
    Ramp {
        first_per_ns: f64,
        last_per_ns: f64,
        length_ns: f64,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct Phase {
    length_ns: f64,
    per_ns: f64,
}

impl Pace {
    /// None for a rate that is the same all the time. `share` is a thread's part of it.
    pub fn of(rate: &Rate, share: f64) -> Option<Self> {
        let per_ns = |per_s: f64| per_s * share / 1e9;
        if let (Some(first), Some(last)) = (rate.first_per_s, rate.last_per_s) {
            return Some(Self::Ramp {
                first_per_ns: per_ns(first),
                last_per_ns: per_ns(last),
                length_ns: 1.0,
            });
        }
        let phases: Vec<Phase> = rate
            .phases
            .iter()
            .map(|phase| Phase {
                length_ns: phase.length_ns as f64,
                per_ns: per_ns(phase.per_s),
            })
            .collect();
        (!phases.is_empty()).then(|| Self::Phases {
            cycle_ns: phases.iter().map(|phase| phase.length_ns).sum(),
            cycle_work: phases
                .iter()
                .map(|phase| phase.length_ns * phase.per_ns)
                .sum(),
            phases,
        })
    }

    /// How long the measured part is, in which a ramp goes from its first rate to its last.
    pub fn set_length(&mut self, of_part_ns: u64) {
        if let Self::Ramp { length_ns, .. } = self {
            *length_ns = of_part_ns as f64;
        }
    }

    /// The work that is due until then.
    pub fn work_at(&self, at_ns: f64) -> f64 {
        match self {
            Self::Phases {
                phases,
                cycle_ns,
                cycle_work,
            } => {
                let cycles = (at_ns / cycle_ns).floor();
                let mut left_ns = at_ns - cycles * cycle_ns;
                let mut work = cycles * cycle_work;
                for phase in phases {
                    let spent_ns = left_ns.min(phase.length_ns);
                    work += spent_ns * phase.per_ns;
                    left_ns -= spent_ns;
                }
                work
            }
            Self::Ramp {
                first_per_ns,
                last_per_ns,
                length_ns,
            } => {
                let spent_ns = at_ns.clamp(0.0, *length_ns);
                let rise = (last_per_ns - first_per_ns) / length_ns;
                let behind = (at_ns - length_ns).max(0.0) * last_per_ns;
                at_ns.min(0.0) * first_per_ns
                    + spent_ns * (first_per_ns + rise * spent_ns / 2.0)
                    + behind
            }
        }
    }

    /// The latest time until which no more work is due; infinite if no more ever is.
    pub fn time_of(&self, work: f64) -> f64 {
        match self {
            Self::Phases {
                phases,
                cycle_ns,
                cycle_work,
            } => {
                let cycles = (work / cycle_work).floor();
                let mut left = work - cycles * cycle_work;
                let mut at_ns = cycles * cycle_ns;
                for phase in phases {
                    let amount = phase.length_ns * phase.per_ns;
                    if left < amount {
                        return at_ns + left / phase.per_ns;
                    }
                    left -= amount;
                    at_ns += phase.length_ns;
                }
                at_ns
            }
            Self::Ramp {
                first_per_ns: first,
                last_per_ns: last,
                length_ns,
            } => {
                if work < 0.0 {
                    return work / first;
                }
                let whole = (first + last) / 2.0 * length_ns;
                if work >= whole {
                    return length_ns + (work - whole) / last;
                }
                let rise = (last - first) / length_ns;
                let now = (first * first + 2.0 * rise * work).max(0.0).sqrt();
                2.0 * work / (first + now).max(f64::MIN_POSITIVE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(fields: &str) -> Pace {
        let rate: Rate =
            serde_json::from_str(&format!(r#"{{"iops":1.0,{fields}}}"#)).expect("a rate");
        let mut pace = Pace::of(&rate, 1.0).expect("a pace");
        pace.set_length(4_000_000_000);
        pace
    }

    fn check(pace: &Pace, due: &[(f64, f64)]) {
        for &(at_s, work) in due {
            let found = pace.work_at(at_s * 1e9);
            assert!((found - work).abs() < 1e-6, "{at_s} s: {found}, not {work}");
        }
        for number in -100..5000 {
            let work = f64::from(number) + 0.25;
            let at_ns = pace.time_of(work);
            assert!((pace.work_at(at_ns) - work).abs() < 1e-6, "{work}: {at_ns}");
        }
    }

    #[test]
    fn phases_repeat_also_before_the_start() {
        let pace = pace(
            r#""phases":[{"length_ns":500000000,"per_s":1000.0},{"length_ns":250000000,"per_s":0.0},
            {"length_ns":250000000,"per_s":200.0}]"#,
        );
        check(
            &pace,
            &[
                (0.0, 0.0),
                (0.1, 100.0),
                (0.6, 500.0),
                (0.75, 500.0),
                (1.0, 550.0),
                (2.5, 1600.0),
                (-0.1, -20.0),
                (-1.0, -550.0),
            ],
        );
        // What is due at the end of a phase without a rate comes when the next one begins.
        assert!((pace.time_of(500.0) - 0.75e9).abs() < 1.0);
    }

    #[test]
    fn a_ramp_rises_or_falls_evenly() {
        let up = pace(r#""first_per_s":100.0,"last_per_s":900.0"#);
        check(
            &up,
            &[
                (-1.0, -100.0),
                (0.0, 0.0),
                (2.0, 600.0),
                (4.0, 2000.0),
                (5.0, 2900.0),
            ],
        );
        let down = pace(r#""first_per_s":900.0,"last_per_s":100.0"#);
        check(&down, &[(2.0, 1400.0), (4.0, 2000.0)]);
        let from_none = pace(r#""first_per_s":0.0,"last_per_s":1000.0"#);
        assert!((from_none.time_of(2000.0) - 4e9).abs() < 1.0);
        assert!(
            pace(r#""first_per_s":1000.0,"last_per_s":0.0"#)
                .time_of(2001.0)
                .is_infinite()
        );
    }
}
