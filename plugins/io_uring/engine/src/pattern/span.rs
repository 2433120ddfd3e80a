//! The offsets that I/Os of one size may have in a region: first, first + step, …

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub first_bytes: u64,
    pub step_bytes: u64,
    pub count: u64,
}

impl Span {
    /// Every multiple of `align_bytes` where an I/O of that size stays inside.
    pub fn new(start_bytes: u64, end_bytes: u64, size_bytes: u64, align_bytes: u64) -> Self {
        let first_bytes = start_bytes.next_multiple_of(align_bytes);
        let room_bytes = end_bytes.saturating_sub(first_bytes);
        let count = if room_bytes < size_bytes {
            0
        } else {
            (room_bytes - size_bytes) / align_bytes + 1
        };
        Self {
            first_bytes,
            step_bytes: align_bytes,
            count,
        }
    }

    /// The same, but such that no two I/Os overlap.
    pub fn disjoint(start_bytes: u64, end_bytes: u64, size_bytes: u64, align_bytes: u64) -> Self {
        let all = Self::new(start_bytes, end_bytes, size_bytes, align_bytes);
        let step_bytes = size_bytes.next_multiple_of(align_bytes);
        let per_step = step_bytes / align_bytes;
        Self {
            step_bytes,
            count: all.count.div_ceil(per_step),
            ..all
        }
    }

    #[inline]
    pub fn offset(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        self.first_bytes + index * self.step_bytes
    }

    /// The index range whose I/Os of `size_bytes` lie inside a part of the region;
    /// the nearest single index when none does.
    pub fn within(&self, start_bytes: u64, end_bytes: u64, size_bytes: u64) -> (u64, u64) {
        let from_bytes = start_bytes.saturating_sub(self.first_bytes);
        let low = from_bytes.div_ceil(self.step_bytes);
        let last_bytes = end_bytes.saturating_sub(size_bytes + self.first_bytes);
        let high = (last_bytes / self.step_bytes + 1).min(self.count);
        if low < high {
            (low, high)
        } else {
            let near = (from_bytes / self.step_bytes).min(self.count - 1);
            (near, near + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_stays_inside_and_is_aligned() {
        let span = Span::new(1000, 20_000, 4096, 512);
        assert_eq!(span.first_bytes, 1024);
        let last = span.offset(span.count - 1);
        assert!(last + 4096 <= 20_000 && last + 512 + 4096 > 20_000);
        assert_eq!(Span::new(0, 4095, 4096, 4096).count, 0);
    }

    #[test]
    fn disjoint_offsets_touch_but_do_not_overlap() {
        let span = Span::disjoint(512, 512 + 3 * 4096, 4096, 512);
        assert_eq!(
            (span.first_bytes, span.step_bytes, span.count),
            (512, 4096, 3)
        );
    }

    #[test]
    fn a_part_of_the_region_has_its_indexes() {
        let span = Span::new(0, 1 << 20, 4096, 4096);
        assert_eq!(span.within(65_536, 131_072, 4096), (16, 32));
        let coarse = Span::new(0, 1 << 20, 12_288, 12_288);
        assert_eq!(coarse.within(16_384, 20_480, 12_288), (1, 2));
    }
}
