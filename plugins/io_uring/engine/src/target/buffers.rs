//! Page-aligned memory for the slots of a thread, in huge pages where there are any.

use std::ptr::NonNull;

use crate::job::failure::{Cause, Failure};

const HUGE_BYTES: usize = 2 << 20;

/// One mapping, cut into equal buffers. Shared by address with the kernel.
pub struct Buffers {
    base: NonNull<u8>,
    length_bytes: usize,
    each_bytes: usize,
    count: usize,
    huge: &'static str,
}

// SAFETY: the mapping is plain memory owned by this value; a move to another
// thread changes nothing about it, and all access needs `&mut self`.
unsafe impl Send for Buffers {}

impl Buffers {
    pub fn new(count: usize, each_bytes: u64) -> Result<Self, Failure> {
        let each_bytes = (each_bytes as usize).next_multiple_of(4096);
        let wanted = each_bytes
            .checked_mul(count)
            .ok_or_else(|| no_memory(usize::MAX))?;
        let length_bytes = wanted.next_multiple_of(if wanted >= HUGE_BYTES {
            HUGE_BYTES
        } else {
            4096
        });
        require(length_bytes as u64)?;
        let (base, huge) = map(length_bytes).ok_or_else(|| no_memory(length_bytes))?;
        Ok(Self {
            base,
            length_bytes,
            each_bytes,
            count,
            huge,
        })
    }

    pub fn address(&self, index: usize) -> *mut u8 {
        assert!(index < self.count);
        // SAFETY: index < count, and count * each_bytes lies inside the mapping.
        unsafe { self.base.as_ptr().add(index * self.each_bytes) }
    }

    /// The caller must have no I/O in flight on that buffer: the kernel would be
    /// writing to it.
    pub fn slice(&mut self, index: usize, length_bytes: u64) -> &mut [u8] {
        let length_bytes = length_bytes as usize;
        assert!(length_bytes <= self.each_bytes);
        let address = self.address(index);
        // SAFETY: inside the mapping (asserted), initialised by mmap to zeros, and
        // borrowed from `self`, so that no other slice of it exists.
        unsafe { std::slice::from_raw_parts_mut(address, length_bytes) }
    }

    /// All of them.
    #[cfg(test)]
    pub fn written(&self) -> std::ops::Range<usize> {
        let start = self.base.as_ptr() as usize;
        start..start + self.length_bytes
    }

    pub fn each_bytes(&self) -> usize {
        self.each_bytes
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// "hugetlb", "transparent" or "none".
    pub fn huge_pages(&self) -> &'static str {
        self.huge
    }

    /// Never frees the memory: for I/O that never completed.
    pub fn leak(self) {
        std::mem::forget(self);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` returned; nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length_bytes) };
    }
}

/// Fails if the machine has less memory available for buffers.
pub fn require(bytes: u64) -> Result<(), Failure> {
    if bytes > available_bytes() {
        return Err(no_memory(bytes as usize));
    }
    Ok(())
}

fn no_memory(bytes: usize) -> Failure {
    let mib = bytes >> 20;
    Failure::new(
        Cause::Memory,
        format!(
            "the I/O buffers need {mib} MiB, which this machine cannot give; \
             use a lower queue depth or a smaller block size"
        ),
    )
}

/// Memory that the kernel estimates to be available without swapping. mmap itself would
/// promise more, and the process would be killed when it uses it.
fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024 / 10 * 9)
}

fn map(length_bytes: usize) -> Option<(NonNull<u8>, &'static str)> {
    if length_bytes < HUGE_BYTES {
        return map_with(length_bytes, 0).map(|base| (base, "none"));
    }
    if let Some(base) = map_with(length_bytes, libc::MAP_HUGETLB) {
        return Some((base, "hugetlb"));
    }
    let base = map_with(length_bytes, 0)?;
    // SAFETY: advice on a mapping that was just made; it cannot change its content.
    let rc = unsafe { libc::madvise(base.as_ptr().cast(), length_bytes, libc::MADV_HUGEPAGE) };
    Some((base, if rc == 0 { "transparent" } else { "none" }))
}

fn map_with(length_bytes: usize, flags: i32) -> Option<NonNull<u8>> {
    // SAFETY: a new anonymous private mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length_bytes.max(1),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    (address != libc::MAP_FAILED).then(|| NonNull::new(address.cast()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = Buffers::new(5, 5000).expect("memory");
        assert_eq!(buffers.each_bytes(), 8192);
        for index in 0..5 {
            assert_eq!(buffers.address(index) as usize % 4096, 0);
            buffers.slice(index, 5000).fill(index as u8 + 1);
        }
        assert!((0..5).all(|at| buffers.slice(at, 5000).iter().all(|&b| b == at as u8 + 1)));
    }

    #[test]
    fn too_much_memory_is_a_failure() {
        let failure = Buffers::new(1 << 20, 1 << 30).err().expect("too much");
        assert_eq!(failure.cause, Cause::Memory);
    }
}
