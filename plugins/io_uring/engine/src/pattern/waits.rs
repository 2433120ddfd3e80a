//! Which I/Os of a recording the next one waits for: those that had completed before it began.
//!
//! What had completed then may have been waited for, what had not cannot: these are all the
//! dependencies that a recording allows (as hfplayer infers them, Haghdoost et al., FAST 2017,
//! without a limit of the time in between). The I/O begins as long after the last of them as it
//! did in the recording, and never before the one that was recorded before it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Times count from the start of the replay, those of the recording as well.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    /// When those that have begun were complete in the recording; the earliest is first.
    recorded: BinaryHeap<Reverse<(u64, usize)>>,
    /// How it is with each of them here.
    states: HashMap<usize, State>,
    /// The numbers of those in flight, by their tags, and the tags that are free.
    in_flight: Vec<usize>,
    free: Vec<u16>,
    /// How many the next one waits for.
    missing: usize,
    /// When the last one that it waits for was complete: in the recording, and here.
    recorded_ns: u64,
    reached_ns: u64,
    /// When the one before it was to begin.
    last_ns: u64,
    /// Whether one was complete since the I/O before the next one, and how many were so.
    waits: bool,
    waited: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    InFlight,
    Awaited,
    Complete(u64),
}

impl Waits {
    /// When the next I/O is to begin, which was recorded then; None while it waits.
    pub fn start_ns(&self, at_ns: u64) -> Option<u64> {
        let start_ns = self.reached_ns + at_ns.saturating_sub(self.recorded_ns);
        (self.missing == 0).then(|| start_ns.max(self.last_ns))
    }

    /// It begins; an I/O whose completion was not recorded is waited for by none.
    pub fn begin(&mut self, number: usize, at_ns: u64, completed_ns: Option<u64>) -> u16 {
        self.last_ns = self.start_ns(at_ns).unwrap_or(self.last_ns);
        self.waited += u64::from(self.waits);
        if let Some(completed_ns) = completed_ns {
            self.recorded.push(Reverse((completed_ns, number)));
            self.states.insert(number, State::InFlight);
        }
        let tag = self.free.pop().unwrap_or_else(|| {
            self.in_flight.push(0);
            (self.in_flight.len() - 1) as u16
        });
        self.in_flight[usize::from(tag)] = number;
        tag
    }

    /// The next I/O is one that was recorded then: it waits for all that were complete.
    pub fn pass(&mut self, at_ns: u64) {
        self.waits = false;
        let is_due = |next: &&Reverse<(u64, usize)>| next.0.0 <= at_ns;
        while let Some(&Reverse((completed_ns, number))) = self.recorded.peek().filter(is_due) {
            self.recorded.pop();
            (self.recorded_ns, self.waits) = (completed_ns, true);
            match self.states.remove(&number) {
                Some(State::Complete(here_ns)) => self.reached_ns = self.reached_ns.max(here_ns),
                _ => {
                    self.states.insert(number, State::Awaited);
                    self.missing += 1;
                }
            }
        }
    }

    pub fn complete(&mut self, tag: u16, here_ns: u64) {
        self.free.push(tag);
        let number = self.in_flight[usize::from(tag)];
        match self.states.get_mut(&number) {
            Some(state @ State::InFlight) => *state = State::Complete(here_ns),
            Some(State::Awaited) => {
                self.states.remove(&number);
                self.missing -= 1;
                self.reached_ns = self.reached_ns.max(here_ns);
            }
            _ => {}
        }
    }

    pub fn waited(&self) -> u64 {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded starts and completions on a drive that takes so long for each I/O: when
    /// each one begins there, worked off in steps of a ns.
    fn started(rows: &[(u64, Option<u64>)], takes_ns: impl Fn(usize) -> u64) -> Vec<u64> {
        let (mut waits, mut found, mut flying) = (Waits::default(), Vec::new(), Vec::new());
        waits.pass(rows[0].0);
        for now_ns in 0..10_000 {
            flying.retain(|&(end_ns, tag)| {
                if end_ns == now_ns {
                    waits.complete(tag, now_ns);
                }
                end_ns > now_ns
            });
            while let Some(&(at_ns, completed_ns)) = rows.get(found.len()) {
                if waits
                    .start_ns(at_ns)
                    .is_none_or(|start_ns| start_ns > now_ns)
                {
                    break;
                }
                let tag = waits.begin(found.len(), at_ns, completed_ns);
                flying.push((now_ns + takes_ns(found.len()), tag));
                found.push(now_ns);
                if let Some(next) = rows.get(found.len()) {
                    waits.pass(next.0);
                }
            }
        }
        found
    }

    /// Two at once; one that waits for the first of them, and one for both.
    const ROWS: [(u64, Option<u64>); 4] = [
        (0, Some(100)),
        (10, Some(200)),
        (110, Some(150)),
        (250, Some(300)),
    ];

    #[test]
    fn on_a_drive_like_the_recorded_one_the_times_are_the_recorded_ones() {
        let took = [100, 190, 40, 50];
        assert_eq!(started(&ROWS, |number| took[number]), [0, 10, 110, 250]);
    }

    #[test]
    fn a_slower_drive_delays_what_waits_and_nothing_else() {
        // 1000 + 10 of thought; the last one 50 after all of them
        assert_eq!(started(&ROWS, |_| 1000), [0, 10, 1010, 2060]);
    }

    #[test]
    fn a_faster_drive_is_asked_sooner_but_in_the_recorded_order() {
        assert_eq!(started(&ROWS, |_| 5), [0, 10, 15, 70]);
    }

    #[test]
    fn what_has_no_completion_is_waited_for_by_none() {
        let rows = [(0, None), (50, Some(60)), (80, Some(90))];
        assert_eq!(started(&rows, |_| 3000), [0, 50, 3070]);
        assert_eq!(started(&[(0, None), (50, None)], |_| 3000), [0, 50]);
    }

    #[test]
    fn those_that_waited_are_counted_and_tags_are_used_again() {
        let mut waits = Waits::default();
        for number in 0..10 {
            let at_ns = number as u64 * 10;
            waits.pass(at_ns);
            assert_eq!(waits.begin(number, at_ns, Some(at_ns + 5)), 0);
            waits.complete(0, at_ns + 7);
        }
        assert_eq!((waits.waited(), waits.in_flight.len()), (9, 1));
    }
}
