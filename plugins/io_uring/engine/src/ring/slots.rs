//! The slots of the queue depth: which are free, in flight, or in the batch that is
//! about to be submitted.

/// A stack of free slots. Slots that were just taken lie above its top.
pub struct Slots {
    order: Box<[u32]>,
    free: usize,
    unsubmitted: usize,
}

impl Slots {
    pub fn new(depth: usize) -> Self {
        Self {
            order: (0..depth as u32).rev().collect(),
            free: depth,
            unsubmitted: 0,
        }
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
        self.unsubmitted += 1;
        Some(self.order[at])
    }

    /// Returns the slot that was taken last: nothing is submitted for it.
    pub fn undo_take(&mut self) {
        self.free += 1;
        self.unsubmitted -= 1;
    }

    /// The slots taken since the last batch was submitted, the last first.
    #[inline(always)]
    pub fn unsubmitted(&self) -> &[u32] {
        &self.order[self.free..self.free + self.unsubmitted]
    }

    #[inline(always)]
    pub fn mark_submitted(&mut self) {
        self.unsubmitted = 0;
    }

    /// A slot's I/O has completed; none is unsubmitted then.
    #[inline(always)]
    pub fn release(&mut self, slot: u32) {
        debug_assert!(self.unsubmitted == 0);
        self.order[self.free] = slot;
        self.free += 1;
    }

    pub fn in_flight(&self) -> usize {
        self.order.len() - self.free
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
        slots.undo_take();
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
