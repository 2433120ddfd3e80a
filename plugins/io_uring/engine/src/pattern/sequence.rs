//! The sequence of I/Os of one thread. The job's seed determines operations, sizes and
//! offsets.

use crate::job::{Job, Stream};
use crate::pattern::op::{Kind, Op};
use crate::pattern::seed::{self, Purpose};
use crate::pattern::sizes::{Direction, Mix, Sizes};
use crate::pattern::span::Span;
use crate::pattern::trace::Replayed;
use crate::pattern::turns::Turns;
use crate::pattern::walk::{Place, ThreadShare, Walk};

pub struct Sequence {
    rng: fastrand::Rng,
    mix: Mix,
    sizes: [Sizes; 2],
    /// Instead of sizes and walk, where a draw needs no more.
    uniform: Option<(u64, Span)>,
    walk: Walk,
    /// Instead of all of these: what was recorded.
    replayed: Option<Replayed>,
    /// Instead of all of these: those of several targets.
    turns: Option<Turns>,
    /// A copy of the walk at its beginning, where the measured part starts.
    fresh_walk: Walk,
}

impl Sequence {
    /// That of a thread on several targets that take turns.
    pub fn over(job: &Job, stream_index: usize, thread: usize, targets: usize) -> Self {
        let own = |place| Self::new(job, stream_index, thread, place);
        let mut first = own(0);
        if targets > 1 {
            first.uniform = None;
            first.turns = Some(Turns::new((0..targets).map(own).collect()));
        }
        first
    }

    /// That of a thread on the target at this place among those of the stream.
    pub fn new(job: &Job, stream_index: usize, thread: usize, place: usize) -> Self {
        let stream: &Stream = &job.streams[stream_index];
        let share = ThreadShare {
            thread,
            threads: stream.threads,
            scatter_seed: seed::derive(job.seed, stream_index, place, Purpose::Scatter),
            cover_seed: seed::derive(job.seed, stream_index, place, Purpose::Cover),
        };
        let walk = Walk::new(stream, job.block_bytes, job.passes, share);
        let sizes = Sizes::of(stream);
        let single = sizes.iter().all(Sizes::is_single);
        let number = place * stream.threads + thread;
        Self {
            rng: seed::generator(job.seed, stream_index, number, Purpose::Operations),
            mix: Mix::new(stream),
            uniform: walk.uniform().filter(|_| single),
            sizes,
            replayed: None,
            turns: None,
            fresh_walk: walk.clone(),
            walk,
        }
    }

    /// The same with the I/Os of a trace, if there is one.
    pub fn replaying(mut self, replayed: Option<Replayed>) -> Self {
        if replayed.is_some() {
            self.uniform = None;
        }
        self.replayed = replayed;
        self
    }

    /// The next I/O; None when the passes are done.
    #[inline(always)]
    pub fn draw(&mut self, start_ns: u64, measured: bool) -> Option<Op> {
        let direction = self.mix.pick(&mut self.rng);
        if let Some((size_bytes, span)) = &self.uniform {
            return Some(Op {
                kind: Kind::Io(direction),
                offset_bytes: span.offset(seed::below(&mut self.rng, span.count)),
                size_bytes: *size_bytes,
                start_ns,
                measured,
                fua: false,
                attempts: 0,
                target: 0,
                tag: 0,
            });
        }
        self.draw_in_general(direction, start_ns, measured)
    }

    #[inline(always)]
    fn draw_in_general(
        &mut self,
        direction: Direction,
        start_ns: u64,
        measured: bool,
    ) -> Option<Op> {
        if let Some(replayed) = &mut self.replayed {
            return replayed.take(start_ns, measured);
        }
        if let Some(turns) = &mut self.turns {
            return turns.draw(start_ns, measured);
        }
        let sizes = &self.sizes[usize::from(direction != Direction::Read)];
        let size_bytes = sizes.pick(&mut self.rng);
        let place = match self.next_place(direction, size_bytes) {
            Some(place) => place,
            // A warm-up that is longer than the passes repeats them.
            None if !measured => {
                self.restart();
                self.next_place(direction, size_bytes)?
            }
            None => return None,
        };
        self.walk.ended(direction, place);
        Some(Op {
            kind: Kind::Io(direction),
            offset_bytes: place.offset_bytes,
            size_bytes: place.size_bytes,
            start_ns,
            measured,
            fua: false,
            attempts: 0,
            target: 0,
            tag: 0,
        })
    }

    #[inline(always)]
    fn next_place(&mut self, direction: Direction, size_bytes: u64) -> Option<Place> {
        let rng = &mut self.rng;
        match self.walk.go_on(direction, size_bytes, rng) {
            Some(place) => Some(place),
            None => self.walk.next(size_bytes, rng),
        }
    }

    /// Whether the passes are done.
    pub fn is_finished(&self) -> bool {
        if let Some(turns) = &self.turns {
            return turns.is_finished();
        }
        let replayed = self.replayed.as_ref().map(Replayed::is_finished);
        replayed.unwrap_or_else(|| self.walk.is_finished())
    }

    /// Starts the passes again.
    pub fn restart(&mut self) {
        self.walk = self.fresh_walk.clone();
        if let Some(turns) = &mut self.turns {
            turns.restart();
        }
    }

    /// Moves an I/O that cannot be issued now to another offset. False where the pattern
    /// leaves no choice.
    pub fn redraw(&mut self, op: &mut Op) -> bool {
        if !self.walk.may_redraw() {
            return false;
        }
        if let Some(place) = self.walk.next(op.size_bytes, &mut self.rng) {
            op.offset_bytes = place.offset_bytes;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_draw_is_what_the_walk_would_give() {
        let size = |bytes: u64| serde_json::json!([{"size_bytes": bytes, "percent": 100.0}]);
        let job: Job = serde_json::from_value(serde_json::json!({
            "target": "t", "capacity_bytes": 1 << 30, "block_bytes": 512, "seed": 7,
            "streams": [{
                "pattern": "random", "read_percent": 70.0, "read_sizes": size(4096),
                "write_sizes": size(4096), "region_start_bytes": 512,
                "region_end_bytes": 1 << 30}]}))
        .expect("a job");
        let [mut short, mut long] = [0, 0].map(|_| Sequence::new(&job, 0, 0, 0));
        assert!(long.uniform.take().is_some() && short.uniform.is_some());
        for _ in 0..10_000 {
            let drawn = [&mut short, &mut long].map(|one| one.draw(0, true).expect("endless"));
            let [(kind, offset), other] = drawn.map(|op| (op.kind, op.offset_bytes));
            assert_eq!((kind, offset), other);
        }
    }
}
