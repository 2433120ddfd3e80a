//! The slots of the queue depth: which are free, in flight, or in the batch that is
//! about to be submitted.

use crate::threads::apart::ApartSlice;

/// A stack of free slots. Slots that were just taken lie above its top.
pub struct Slots {
    order: ApartSlice<u32>,
    free: usize,
    /// Those between the top and here are in the batch that is about to be submitted.
    taken_up_to: usize,
}

impl Slots {
    pub fn new(depth: usize) -> Self {
        let mut order = ApartSlice::new(0, depth);
        let from_last = (0..depth as u32).rev();
        order
            .iter_mut()
            .zip(from_last)
            .for_each(|(at, slot)| *at = slot);
        Self {
            order,
            free: depth,
            taken_up_to: depth,
        }
    }

    #[inline(always)]
    pub fn free(&self) -> usize {
        self.free
    }

    #[inline(always)]
    pub fn none_free(&self) -> bool {
        self.free == 0
    }

    /// The slot that was released last: its memory is still in the cache.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        let at = self.free.checked_sub(1)?;
        self.free = at;
        Some(self.order[at])
    }

    /// So many at once, the one that was released last at the end.
    #[inline(always)]
    pub fn take_many(&mut self, count: usize) -> &[u32] {
        self.free -= count;
        &self.order[self.free..][..count]
    }

    /// Returns the slots that were taken last: nothing is submitted for them.
    pub fn undo_take(&mut self, count: usize) {
        self.free += count;
    }

    /// The slots taken since the last batch was submitted, the last first.
    #[inline(always)]
    pub fn unsubmitted(&self) -> &[u32] {
        &self.order[self.free..self.taken_up_to]
    }

    #[inline(always)]
    pub fn mark_submitted(&mut self) {
        self.taken_up_to = self.free;
    }

    /// A slot's I/O has completed; none is unsubmitted then.
    #[inline(always)]
    pub fn release(&mut self, slot: u32) {
        debug_assert!(self.taken_up_to == self.free);
        self.order[self.free] = slot;
        self.free += 1;
        self.taken_up_to = self.free;
    }

    /// Of so many slots the I/Os have completed: they are to be written there.
    #[inline(always)]
    pub fn release_many(&mut self, count: usize) -> &mut [u32] {
        debug_assert!(self.taken_up_to == self.free);
        let released = &mut self.order[self.free..][..count];
        self.free += count;
        self.taken_up_to = self.free;
        released
    }

    pub fn in_flight(&self) -> usize {
        self.order.len() - self.free
    }

    /// Where it writes.
    #[cfg(test)]
    pub fn written(&self) -> std::ops::Range<usize> {
        crate::threads::apart::addresses(&self.order[..])
    }

    pub fn is_free(&self, slot: usize) -> bool {
        self.order[..self.free].contains(&(slot as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_either_free_or_busy() {
        let mut slots = Slots::new(3);
        assert_eq!((slots.take(), slots.take()), (Some(0), Some(1)));
        assert_eq!(slots.unsubmitted(), [1, 0]);
        slots.undo_take(1);
        assert_eq!((slots.unsubmitted(), slots.in_flight()), (&[0][..], 1));
        slots.mark_submitted();
        assert_eq!(
            (slots.take(), slots.take(), slots.take()),
            (Some(1), Some(2), None)
        );
        slots.mark_submitted();
        assert!(slots.none_free() && slots.in_flight() == 3);
        slots.release(2);
        assert!(slots.is_free(2) && !slots.is_free(0) && slots.take() == Some(2));
    }
}
