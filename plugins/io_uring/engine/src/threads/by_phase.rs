//! The counts of a lane by the phases of the run: of the I/Os whose intended start is in
//! them, whenever they complete.

use crate::job::{Job, Phase};
use crate::measure::tally::{StreamCounts, Tally};

/// A phase, and the piece of time around the last start that was looked up: all of it is
/// either in the phase or not, so that a start in it costs two comparisons.
struct Window {
    phase: Phase,
    from_ns: u64,
    to_ns: u64,
    inside: bool,
}

impl Window {
    fn new(phase: &Phase) -> Self {
        Self {
            phase: phase.clone(),
            from_ns: 0,
            to_ns: 0,
            inside: false,
        }
    }

    /// Whether a time since the start of the measured part is in the phase.
    #[inline(always)]
    fn includes(&mut self, at_ns: u64) -> bool {
        if at_ns < self.from_ns || at_ns >= self.to_ns {
            self.look_up(at_ns);
        }
        self.inside
    }

    #[inline(never)]
    fn look_up(&mut self, at_ns: u64) {
        let Phase {
            start_ns,
            length_ns,
            every_ns,
            end_ns,
            ..
        } = self.phase;
        let end_ns = end_ns.unwrap_or(u64::MAX);
        let every_ns = every_ns.unwrap_or(u64::MAX);
        (self.from_ns, self.to_ns, self.inside) = match at_ns {
            _ if at_ns < start_ns => (0, start_ns, false),
            _ if at_ns >= end_ns => (end_ns, u64::MAX, false),
            _ => {
                let begin_ns = at_ns - (at_ns - start_ns) % every_ns;
                let middle_ns = begin_ns.saturating_add(length_ns);
                match at_ns < middle_ns {
                    true => (begin_ns, middle_ns.min(end_ns), true),
                    false => (
                        middle_ns,
                        begin_ns.saturating_add(every_ns).min(end_ns),
                        false,
                    ),
                }
            }
        };
    }
}

pub struct ByPhase {
    start_ns: u64,
    phases: Vec<(Window, Tally)>,
}

impl ByPhase {
    pub fn of(job: &Job) -> Self {
        let phases = job.phases.iter();
        Self {
            start_ns: 0,
            phases: phases
                .map(|phase| (Window::new(phase), Tally::new()))
                .collect(),
        }
    }

    /// The measured part begins then.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Where an I/O of the measured part is counted that was to start at this time.
    #[inline(always)]
    pub fn tallies(&mut self, at_ns: u64) -> impl Iterator<Item = &mut Tally> {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        self.phases
            .iter_mut()
            .filter_map(move |(window, tally)| window.includes(since_ns).then_some(tally))
    }

    /// The counts in the order of the job's phases.
    pub fn end(&mut self) -> Vec<StreamCounts> {
        let phases = self.phases.iter_mut();
        phases.map(|(_, tally)| tally.drain()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start_ns: u64, length_ns: u64, every_ns: Option<u64>, end_ns: Option<u64>) -> Window {
        Window::new(&Phase {
            name: "phase".into(),
            start_ns,
            length_ns,
            every_ns,
            end_ns,
        })
    }

    #[test]
    fn a_phase_that_repeats_has_its_edges_to_the_nanosecond() {
        let mut phase = window(100, 5, Some(30), Some(162));
        let inside: Vec<u64> = (0..1000).filter(|&at| phase.includes(at)).collect();
        let expected: Vec<u64> = [100..105, 130..135, 160..162]
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(inside, expected);
    }

    #[test]
    fn starts_may_come_in_any_order() {
        let mut ordered = window(7, 11, Some(40), Some(3_000));
        let mut drawn = window(7, 11, Some(40), Some(3_000));
        let truth: Vec<bool> = (0..4_000).map(|at| ordered.includes(at)).collect();
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..100_000 {
            let at = rng.u64(..4_000);
            assert_eq!(drawn.includes(at), truth[at as usize], "{at}");
        }
    }

    #[test]
    fn a_phase_without_an_end_goes_on() {
        let mut once = window(10, u64::MAX, None, None);
        assert!(!once.includes(9) && once.includes(10) && once.includes(u64::MAX - 1));
    }
}
