//! Memory that one thread writes for each of its I/Os: no other thread's lies in the same
//! cache line, which the processors would otherwise pass to and fro.
//!
//! An allocator gives threads neighbouring places: one of musl all of them, glibc's where
//! there are more threads than arenas. What a worker has on its stack is apart anyway.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Two lines: processors fetch a line's neighbour as well.
pub const APART_BYTES: usize = 128;

/// A single value that is apart.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// A slice that is apart, of a fixed length.
pub struct ApartSlice<T> {
    base: NonNull<T>,
    length: usize,
}

// SAFETY: owns its elements, as a boxed slice does.
unsafe impl<T: Send> Send for ApartSlice<T> {}

impl<T: Copy> ApartSlice<T> {
    /// So many times the same value, at least once.
    pub fn new(value: T, length: usize) -> Self {
        assert!(length > 0 && size_of::<T>() > 0);
        // SAFETY: the layout is not of no bytes, as just asserted.
        let base = unsafe { alloc(layout::<T>(length)) };
        let Some(base) = NonNull::new(base.cast::<T>()) else {
            handle_alloc_error(layout::<T>(length));
        };
        for at in 0..length {
            // SAFETY: inside the allocation, and aligned for T.
            unsafe { base.add(at).write(value) };
        }
        Self { base, length }
    }
}

fn layout<T>(length: usize) -> Layout {
    let array = Layout::array::<T>(length).and_then(|array| array.align_to(APART_BYTES));
    array.expect("fits the address space").pad_to_align()
}

impl<T> Deref for ApartSlice<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `new` has initialised so many; they are borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for ApartSlice<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; no other borrow exists.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) }
    }
}

impl<T> Drop for ApartSlice<T> {
    fn drop(&mut self) {
        // SAFETY: what `new` allocated, by the same layout; T is Copy, so nothing to drop.
        unsafe { dealloc(self.base.as_ptr().cast(), layout::<T>(self.length)) };
    }
}

/// The addresses of what a thread writes, for the test of the layout.
#[cfg(test)]
pub fn addresses<T: ?Sized>(written: &T) -> std::ops::Range<usize> {
    let start = std::ptr::from_ref(written).cast::<u8>() as usize;
    start..start + size_of_val(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_keep_their_values_and_share_no_line() {
        let mut slices: Vec<_> = (0..50u32).map(|at| ApartSlice::new(at, 3)).collect();
        slices.iter_mut().for_each(|slice| slice[2] += 100);
        for (at, slice) in (0..).zip(&slices) {
            assert_eq!(slice[..], [at, at, at + 100]);
            assert_eq!(addresses(&slice[..]).start % APART_BYTES, 0);
        }
        let first = |slice: &ApartSlice<u32>| addresses(&slice[..]).start;
        let mut places: Vec<usize> = slices.iter().map(first).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|two| two[1] - two[0] >= APART_BYTES));
    }
}
