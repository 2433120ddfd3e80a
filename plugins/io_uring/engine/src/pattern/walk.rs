//! Offsets: the order in which a thread of a stream visits its part of the region.

use crate::job::{Pattern, Stream};
use crate::pattern::permutation::Permutation;
use crate::pattern::scatter::Scatter;
use crate::pattern::seed::mix;
use crate::pattern::shaped::Shaped;
use crate::pattern::sizes::Direction;
use crate::pattern::span::Span;

/// A place for the next I/O. Only the tail of a sequential pass is shorter than
/// what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub offset_bytes: u64,
    pub size_bytes: u64,
}

#[derive(Debug, Clone)]
pub enum Walk {
    Sequential(Sequential),
    Random(Random),
    Cover(Cover),
    Shaped(Shaped),
}

/// A thread's share of its stream, and the seeds that all threads of the stream share.
#[derive(Debug, Clone, Copy)]
pub struct ThreadShare {
    pub thread: usize,
    pub threads: usize,
    pub scatter_seed: u64,
    pub cover_seed: u64,
}

impl Walk {
    pub fn new(stream: &Stream, block_bytes: u64, passes: Option<f64>, share: ThreadShare) -> Self {
        let own_part = stream.pattern == Pattern::Sequential || stream.verify;
        let region = if own_part {
            part_of_region(stream, block_bytes, share)
        } else {
            (stream.region_start_bytes, stream.region_end_bytes)
        };
        if stream.pattern == Pattern::Sequential {
            return Self::Sequential(Sequential::new(stream, region, block_bytes, passes));
        }
        match stream.single_size_bytes() {
            Some(size_bytes) if stream.spare_percent.is_some() => {
                let spare = stream.spare_percent.unwrap_or(0.0) / 100.0;
                let align_bytes = stream.align_bytes.unwrap_or(size_bytes);
                let span = Span::disjoint(region.0, region.1, size_bytes, align_bytes);
                let own = own_places(span, share);
                Self::Shaped(Shaped::new(span, size_bytes, spare, share.cover_seed, own))
            }
            Some(size_bytes) if covers(stream) => {
                let share = if own_part { alone(share) } else { share };
                Self::Cover(Cover::new(stream, region, size_bytes, passes, share))
            }
            _ => Self::Random(Random::new(
                stream,
                region,
                block_bytes,
                passes,
                own_part,
                share,
            )),
        }
    }

    #[inline(always)]
    pub fn next(&mut self, size_bytes: u64, rng: &mut fastrand::Rng) -> Option<Place> {
        match self {
            Self::Sequential(walk) => walk.next(size_bytes),
            Self::Random(walk) => walk.next(size_bytes, rng),
            Self::Cover(walk) => walk.next(),
            Self::Shaped(walk) => walk.next(rng),
        }
    }

    /// Where the last I/O of this direction ended, if chance lets the next one go on.
    #[inline(always)]
    pub fn go_on(
        &mut self,
        direction: Direction,
        size_bytes: u64,
        rng: &mut fastrand::Rng,
    ) -> Option<Place> {
        match self {
            Self::Random(walk) => walk.go_on(direction, size_bytes, rng),
            _ => None,
        }
    }

    /// Remembers where an I/O ends, for those that go on from there.
    #[inline(always)]
    pub fn ended(&mut self, direction: Direction, place: Place) {
        if let Self::Random(Random {
            following: Some(following),
            ..
        }) = self
        {
            following.ends_bytes[direction as usize] = place.offset_bytes + place.size_bytes;
        }
    }

    /// Whether the passes are done; always false without passes.
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Sequential(walk) => walk.left_bytes == Some(0),
            Self::Random(walk) => walk.left_bytes == Some(0),
            Self::Cover(walk) => walk.left == Some(0) || walk.length == 0,
            Self::Shaped(walk) => walk.is_finished(),
        }
    }

    /// The size and the places of uniform random I/O of one size without an end, which a
    /// single draw determines.
    pub fn uniform(&self) -> Option<(u64, Span)> {
        match self {
            Self::Random(walk) => walk.uniform(),
            _ => None,
        }
    }

    /// Whether an offset that cannot be used now may be replaced by another draw.
    pub fn may_redraw(&self) -> bool {
        matches!(self, Self::Random(walk) if walk.left_bytes.is_none())
    }
}

/// Only uniform random I/O can visit each block once; it does so where that is asked for.
fn covers(stream: &Stream) -> bool {
    stream.permuted && matches!(stream.distribution, crate::job::Distribution::Uniform {})
}

fn alone(share: ThreadShare) -> ThreadShare {
    ThreadShare {
        thread: 0,
        threads: 1,
        cover_seed: mix(share.cover_seed ^ share.thread as u64),
        ..share
    }
}

/// A thread's share of the positions of an order.
fn own_places(span: Span, share: ThreadShare) -> (u64, u64) {
    let (thread, threads) = (share.thread as u128, share.threads as u128);
    let edge = |at: u128| (u128::from(span.count) * at / threads) as u64;
    (edge(thread), edge(thread + 1))
}

/// Disjoint parts, cut at multiples of the largest I/O where there is room.
pub fn part_of_region(stream: &Stream, block_bytes: u64, share: ThreadShare) -> (u64, u64) {
    let (start, end) = (stream.region_start_bytes, stream.region_end_bytes);
    let threads = share.threads as u64;
    let unit_bytes = if (end - start) / stream.largest_bytes().max(1) >= threads {
        stream.largest_bytes()
    } else {
        block_bytes
    };
    let units = u128::from((end - start) / unit_bytes);
    let edge = |thread: u64| {
        if thread == threads {
            return end;
        }
        start + (units * u128::from(thread) / u128::from(threads)) as u64 * unit_bytes
    };
    (edge(share.thread as u64), edge(share.thread as u64 + 1))
}

#[derive(Debug, Clone)]
pub struct Sequential {
    start_bytes: u64,
    end_bytes: u64,
    cursor_bytes: u64,
    align_bytes: u64,
    /// With passes: what is left to do. Then the tail is cut, else it is skipped.
    left_bytes: Option<u64>,
}

impl Sequential {
    fn new(stream: &Stream, region: (u64, u64), block_bytes: u64, passes: Option<f64>) -> Self {
        let natural = match passes {
            Some(_) => block_bytes,
            None => stream.single_size_bytes().unwrap_or(block_bytes),
        };
        let align_bytes = stream.align_bytes.unwrap_or(natural);
        let blocks = (region.1 - region.0) / block_bytes;
        let left = |passes: f64| (blocks as f64 * passes).round() as u64 * block_bytes;
        let start_bytes = region.0.next_multiple_of(align_bytes);
        Self {
            start_bytes,
            end_bytes: region.1,
            cursor_bytes: start_bytes,
            align_bytes,
            left_bytes: passes.map(left),
        }
    }

    #[inline(never)]
    fn next(&mut self, size_bytes: u64) -> Option<Place> {
        let mut size_bytes = size_bytes;
        if let Some(left_bytes) = self.left_bytes {
            if left_bytes == 0 {
                return None;
            }
            if self.cursor_bytes >= self.end_bytes {
                self.cursor_bytes = self.start_bytes;
            }
            let tail_bytes = self.end_bytes - self.cursor_bytes;
            size_bytes = size_bytes.min(tail_bytes).min(left_bytes);
        } else if self.cursor_bytes + size_bytes > self.end_bytes {
            self.cursor_bytes = self.start_bytes;
        }
        let offset_bytes = self.cursor_bytes;
        debug_assert!(offset_bytes + size_bytes <= self.end_bytes);
        self.cursor_bytes = (offset_bytes + size_bytes).next_multiple_of(self.align_bytes);
        if let Some(left_bytes) = &mut self.left_bytes {
            // What the alignment skips is part of the pass, too.
            let moved = self.cursor_bytes.min(self.end_bytes) - offset_bytes;
            *left_bytes = left_bytes.saturating_sub(moved);
        }
        Some(Place {
            offset_bytes,
            size_bytes,
        })
    }
}

#[derive(Debug, Clone)]
pub struct Random {
    scatter: Scatter,
    spans: Vec<(u64, Span)>,
    left_bytes: Option<u64>,
    following: Option<Following>,
}

/// The I/Os of a random stream that go on from the last one.
#[derive(Debug, Clone)]
struct Following {
    /// By direction.
    shares: [f64; 3],
    start_bytes: u64,
    end_bytes: u64,
    align_bytes: u64,
    /// By direction.
    ends_bytes: [u64; 3],
}

impl Following {
    fn of(stream: &Stream, region: (u64, u64), block_bytes: u64) -> Option<Self> {
        let natural = stream.single_size_bytes().unwrap_or(block_bytes);
        let align_bytes = stream.align_bytes.unwrap_or(natural);
        let start_bytes = region.0.next_multiple_of(align_bytes);
        let [reads, others] = stream.drawn_percents().map(|percent| 1.0 - percent / 100.0);
        (reads > 0.0 || others > 0.0).then_some(Self {
            shares: [reads, others, others],
            start_bytes,
            end_bytes: region.1,
            align_bytes,
            ends_bytes: [start_bytes; 3],
        })
    }

    /// The next place of a direction; behind the end it begins again.
    fn offset(&self, direction: Direction, size_bytes: u64) -> u64 {
        let next_bytes = self.ends_bytes[direction as usize].next_multiple_of(self.align_bytes);
        if next_bytes + size_bytes > self.end_bytes {
            return self.start_bytes;
        }
        next_bytes
    }
}

impl Random {
    fn new(
        stream: &Stream,
        region: (u64, u64),
        block_bytes: u64,
        passes: Option<f64>,
        own_part: bool,
        share: ThreadShare,
    ) -> Self {
        let span = |size_bytes: u64| {
            let align_bytes = stream.align_bytes.unwrap_or(size_bytes);
            Span::new(region.0, region.1, size_bytes, align_bytes)
        };
        let mut sizes: Vec<u64> = stream.used_sizes().collect();
        sizes.sort_unstable();
        sizes.dedup();
        let largest_bytes = stream.largest_bytes();
        let align_bytes = stream.align_bytes.unwrap_or(largest_bytes);
        let largest = Span::disjoint(region.0, region.1, largest_bytes, align_bytes);
        let divisor = if own_part { 1.0 } else { share.threads as f64 };
        let length_bytes = (region.1 - region.0) as f64;
        Self {
            scatter: Scatter::new(&stream.distribution, largest, share.scatter_seed),
            spans: sizes.into_iter().map(|size| (size, span(size))).collect(),
            left_bytes: passes.map(|passes| (length_bytes * passes / divisor) as u64),
            following: Following::of(stream, region, block_bytes),
        }
    }

    fn uniform(&self) -> Option<(u64, Span)> {
        let endless = self.left_bytes.is_none() && self.following.is_none();
        match (&self.scatter, &self.spans[..]) {
            (Scatter::Uniform, [only]) if endless => Some(*only),
            _ => None,
        }
    }

    #[inline(always)]
    fn go_on(
        &mut self,
        direction: Direction,
        size_bytes: u64,
        rng: &mut fastrand::Rng,
    ) -> Option<Place> {
        let following = self.following.as_ref()?;
        if self.left_bytes == Some(0) || rng.f64() >= following.shares[direction as usize] {
            return None;
        }
        self.left_bytes = self.left_bytes.map(|left| left.saturating_sub(size_bytes));
        Some(Place {
            offset_bytes: following.offset(direction, size_bytes),
            size_bytes,
        })
    }

    #[inline(always)]
    fn next(&mut self, size_bytes: u64, rng: &mut fastrand::Rng) -> Option<Place> {
        if let Some(left_bytes) = &mut self.left_bytes {
            if *left_bytes == 0 {
                return None;
            }
            *left_bytes = left_bytes.saturating_sub(size_bytes);
        }
        let mut spans = self.spans.iter();
        let (_, span) = spans.find(|(size, _)| *size == size_bytes)?;
        Some(Place {
            offset_bytes: self.scatter.offset(span, size_bytes, rng),
            size_bytes,
        })
    }
}

/// Uniform random I/O of one size that visits each block once per pass. Each pass
/// has its own order; a thread takes its share of the positions of each. Without a
/// number of passes it goes on for ever.
#[derive(Debug, Clone)]
pub struct Cover {
    span: Span,
    size_bytes: u64,
    seed: u64,
    pass: u64,
    order: Permutation,
    first: u64,
    length: u64,
    position: u64,
    left: Option<u64>,
}

impl Cover {
    fn new(
        stream: &Stream,
        region: (u64, u64),
        size_bytes: u64,
        passes: Option<f64>,
        share: ThreadShare,
    ) -> Self {
        let align_bytes = stream.align_bytes.unwrap_or(size_bytes);
        let span = Span::disjoint(region.0, region.1, size_bytes, align_bytes);
        let (first, end) = own_places(span, share);
        Self {
            span,
            size_bytes,
            seed: share.cover_seed,
            pass: 0,
            order: Permutation::new(span.count, share.cover_seed),
            first,
            length: end - first,
            position: 0,
            left: passes.map(|passes| ((end - first) as f64 * passes).round() as u64),
        }
    }

    #[inline(never)]
    fn next(&mut self) -> Option<Place> {
        if self.left == Some(0) || self.length == 0 {
            return None;
        }
        if self.position == self.length {
            self.position = 0;
            self.pass += 1;
            self.order = Permutation::new(self.span.count, mix(self.seed ^ self.pass));
        }
        let block = self.order.at(self.first + self.position);
        self.position += 1;
        self.left = self.left.map(|left| left - 1);
        Some(Place {
            offset_bytes: self.span.offset(block),
            size_bytes: self.size_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(json: &str) -> Stream {
        let mut value: serde_json::Value = serde_json::json!({
            "pattern": "random", "read_percent": 0.0,
            "read_sizes": [{"size_bytes": 4096, "percent": 100.0}],
            "write_sizes": [{"size_bytes": 4096, "percent": 100.0}],
            "region_start_bytes": 0, "region_end_bytes": 1 << 20});
        let more: serde_json::Value = serde_json::from_str(json).expect("JSON");
        for (key, field) in more.as_object().expect("an object") {
            value[key] = field.clone();
        }
        serde_json::from_value(value).expect("a stream")
    }

    fn visits(stream: &Stream, passes: f64, threads: usize) -> Vec<u32> {
        let mut seen = vec![0; stream.region_end_bytes as usize / 512];
        for thread in 0..threads {
            let share = share(thread, threads);
            let mut walk = Walk::new(stream, 512, Some(passes), share);
            let mut rng = fastrand::Rng::with_seed(1);
            while let Some(place) = walk.next(stream.largest_bytes(), &mut rng) {
                let start = place.offset_bytes as usize / 512;
                let end = start + place.size_bytes as usize / 512;
                seen[start..end].iter_mut().for_each(|count| *count += 1);
            }
        }
        seen
    }

    fn share(thread: usize, threads: usize) -> ThreadShare {
        ThreadShare {
            thread,
            threads,
            scatter_seed: 1,
            cover_seed: 2,
        }
    }

    #[test]
    fn random_passes_visit_every_block_that_often() {
        for (json, threads) in [
            (r#"{"permuted":true}"#, 1),
            (r#"{"permuted":true}"#, 3),
            (r#"{"permuted":true,"verify":true}"#, 3),
            (
                r#"{"permuted":true,"align_bytes":512,"region_start_bytes":0}"#,
                2,
            ),
        ] {
            let stream = stream(json);
            assert!(
                visits(&stream, 2.0, threads)
                    .iter()
                    .all(|&count| count == 2)
            );
            let half = visits(&stream, 0.5, threads);
            assert!(half.iter().all(|&count| count <= 1));
            let share = half.iter().sum::<u32>() as f64 / half.len() as f64;
            assert!((share - 0.5).abs() < 0.02, "{share}");
        }
    }

    #[test]
    fn passes_do_not_decide_where_random_falls() {
        let share = share(0, 1);
        for passes in [None, Some(1.0)] {
            for (json, anew) in [("{}", true), (r#"{"permuted":true}"#, false)] {
                let mut walk = Walk::new(&stream(json), 512, passes, share);
                let mut rng = fastrand::Rng::with_seed(1);
                let mut seen = std::collections::HashSet::new();
                let drawn = |_| walk.next(4096, &mut rng).expect("256 blocks");
                seen.extend((0..256).map(drawn).map(|place| place.offset_bytes));
                assert_eq!(seen.len() < 256, anew, "{json} {passes:?}");
            }
        }
    }

    #[test]
    fn a_thread_without_a_block_has_nothing_to_permute() {
        let share = share(0, 300);
        let mut walk = Walk::new(&stream(r#"{"permuted":true}"#), 512, None, share);
        let mut rng = fastrand::Rng::with_seed(1);
        assert!(walk.is_finished() && walk.next(4096, &mut rng).is_none());
    }

    #[test]
    fn sequential_passes_cover_the_tail() {
        let size = r#""write_sizes":[{"size_bytes":131072,"percent":100}]"#;
        let json = format!(r#"{{"pattern":"sequential",{size},"region_end_bytes":1049088}}"#);
        let stream = stream(&json);
        for threads in [1, 2, 5] {
            assert!(
                visits(&stream, 1.0, threads)
                    .iter()
                    .all(|&count| count == 1)
            );
            assert!(
                visits(&stream, 3.0, threads)
                    .iter()
                    .all(|&count| count == 3)
            );
        }
    }

    #[test]
    fn sequential_threads_wrap_in_their_own_part() {
        let stream = stream(r#"{"pattern":"sequential"}"#);
        for thread in 0..2 {
            let share = share(thread, 2);
            let mut walk = Walk::new(&stream, 512, None, share);
            let mut rng = fastrand::Rng::with_seed(1);
            for round in 0..300 {
                let place = walk.next(4096, &mut rng).expect("endless");
                let expected = thread as u64 * (1 << 19) + round % 128 * 4096;
                assert_eq!(place.offset_bytes, expected);
            }
        }
    }

    #[test]
    fn a_share_of_random_io_goes_on_from_the_last_of_its_direction() {
        let stream = stream(r#"{"random_percent":65.0,"region_start_bytes":8192}"#);
        let share = share(0, 1);
        let mut walk = Walk::new(&stream, 512, None, share);
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut ends, mut went_on) = ([8192, 8192], 0);
        for number in 0..20_000 {
            let direction = [Direction::Read, Direction::Write][number % 2];
            let place = match walk.go_on(direction, 4096, &mut rng) {
                Some(place) => {
                    let end = ends[number % 2];
                    let wrapped = if end + 4096 > 1 << 20 { 8192 } else { end };
                    assert_eq!(place.offset_bytes, wrapped);
                    went_on += 1;
                    place
                }
                None => walk.next(4096, &mut rng).expect("endless"),
            };
            assert!(place.offset_bytes >= 8192 && place.offset_bytes + 4096 <= 1 << 20);
            walk.ended(direction, place);
            ends[number % 2] = place.offset_bytes + 4096;
        }
        assert!((6700..7300).contains(&went_on), "{went_on}");
    }

    #[test]
    fn the_share_of_random_io_may_differ_by_direction() {
        let stream = stream(r#"{"random_percent":100.0,"write_random_percent":25.0}"#);
        let share = ThreadShare {
            thread: 0,
            threads: 1,
            scatter_seed: 1,
            cover_seed: 2,
        };
        let mut walk = Walk::new(&stream, 512, None, share);
        let mut rng = fastrand::Rng::with_seed(1);
        let mut went_on = |direction| {
            let found = (0..20_000).filter(|_| walk.go_on(direction, 4096, &mut rng).is_some());
            found.count()
        };
        assert_eq!(went_on(Direction::Read), 0);
        assert!((14_700..15_300).contains(&went_on(Direction::Write)));
        assert!((14_700..15_300).contains(&went_on(Direction::Trim)));
    }

    #[test]
    fn random_offsets_stay_inside_and_are_aligned() {
        let sizes =
            r#""write_sizes":[{"size_bytes":4096,"percent":50},{"size_bytes":12288,"percent":50}]"#;
        for kind in [
            r#"{"kind":"uniform"}"#,
            r#"{"kind":"zipf","theta":1.2}"#,
            r#"{"kind":"pareto","h":0.2}"#,
            r#"{"kind":"normal","deviation_percent":40}"#,
        ] {
            let region = r#""region_start_bytes":5120,"region_end_bytes":1000448"#;
            let stream = stream(&format!(r#"{{{sizes},{region},"distribution":{kind}}}"#));
            let share = share(0, 1);
            let mut walk = Walk::new(&stream, 512, None, share);
            let mut rng = fastrand::Rng::with_seed(1);
            for size_bytes in [4096, 12_288].repeat(5000) {
                let place = walk.next(size_bytes, &mut rng).expect("endless");
                assert_eq!(place.offset_bytes % size_bytes, 0);
                assert!(place.offset_bytes >= 5120);
                assert!(place.offset_bytes + size_bytes <= 1_000_448);
            }
        }
    }
}
