//! An io_uring, used by the one thread that made it.
//!
//! The order of a batch: `push` entries, `enter`, `ready`, that many `completions`, `release`.
//! The tails and heads are kept in plain fields and written to the shared memory
//! once a batch; the crate `io-uring`, which does so for each entry, costs 9 % more.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::job::failure::{describe_errno, last_errno};
use crate::ring::system_call::enter;
use crate::ring::uring_abi::*;
use crate::target::buffers::Buffers;
use crate::target::passthrough::Command;

/// Dropped from the left when the kernel does not know them (EINVAL).
const OPTIONAL_FLAGS: [(u32, &str); 5] = [
    (SETUP_NO_SQARRAY, "NO_SQARRAY"),
    (SETUP_DEFER_TASKRUN, "DEFER_TASKRUN"),
    (SETUP_SINGLE_ISSUER, "SINGLE_ISSUER"),
    (SETUP_TASKRUN_FLAG, "TASKRUN_FLAG"),
    (SETUP_COOP_TASKRUN, "COOP_TASKRUN"),
];

const FEATURES: u32 = FEAT_NODROP | FEAT_EXT_ARG;

/// The variants of a ring.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shape {
    /// Completions are polled for, without interrupts.
    pub polled: bool,
    /// Entries of twice the size, which an NVMe command needs.
    pub wide: bool,
}

impl Shape {
    fn flags(self) -> u32 {
        let polled = if self.polled { SETUP_IOPOLL } else { 0 };
        let wide = if self.wide {
            SETUP_SQE128 | SETUP_CQE32
        } else {
            0
        };
        SETUP_CQSIZE | polled | wide
    }
}

/// By how many bits an index is shifted: entries of a wide ring are two long.
fn entry_shift(params: &Params) -> u32 {
    u32::from(params.flags & SETUP_SQE128 != 0)
}

pub struct Ring {
    fd: OwnedFd,
    /// What `enter` is given: an index when the ring is registered.
    enter_fd: i32,
    enter_flags: u32,
    flags: u32,
    sq: SubmissionQueue,
    cq: CompletionQueue,
    _maps: Vec<Map>,
}

struct SubmissionQueue {
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    entries: NonNull<Sqe>,
    shift: u32,
    mask: u32,
    local_tail: u32,
    /// Where the queue is full, as of the last `enter`.
    full_tail: u32,
}

struct CompletionQueue {
    head: NonNull<AtomicU32>,
    tail: NonNull<AtomicU32>,
    entries: NonNull<Cqe>,
    shift: u32,
    mask: u32,
    local_head: u32,
}

/// How long `enter` may wait for a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Only submit.
    No,
    /// Let the kernel run its pending work, and return.
    Poll,
    /// Until one completion, but no longer than that.
    UpTo(u64),
}

impl Ring {
    /// Room for `batch` submissions at a time and `depth` I/Os in flight.
    pub fn new(batch: u32, depth: u32, shape: Shape) -> io::Result<Self> {
        let (fd, params) = set_up(batch.next_power_of_two(), depth.next_power_of_two(), shape)?;
        if params.features & FEATURES != FEATURES {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let maps = Maps::new(&fd, &params)?;
        Ok(Self {
            enter_fd: fd.as_raw_fd(),
            enter_flags: 0,
            flags: params.flags,
            sq: maps.submission_queue(&params),
            cq: maps.completion_queue(&params),
            _maps: maps.all,
            fd,
        })
    }

    /// Saves the kernel the look-up of the descriptor at each `enter`.
    pub fn register_ring(&mut self) -> bool {
        let mut update = RsrcUpdate {
            offset: u32::MAX,
            reserved: 0,
            data: self.fd.as_raw_fd() as u64,
        };
        let address = std::ptr::from_mut(&mut update).cast();
        // SAFETY: one update, valid during the call; the kernel writes the index to it.
        let rc = unsafe { register(self.fd.as_raw_fd(), REGISTER_RING_FDS, address, 1) };
        if rc == 1 {
            self.enter_fd = update.offset as i32;
            self.enter_flags = ENTER_REGISTERED_RING;
        }
        rc == 1
    }

    pub fn register_files(&mut self, fds: &[RawFd]) -> bool {
        let (address, count) = (fds.as_ptr().cast_mut().cast(), fds.len() as u32);
        // SAFETY: `count` descriptors, read by the kernel during the call.
        unsafe { register(self.fd.as_raw_fd(), REGISTER_FILES, address, count) == 0 }
    }

    /// The buffers must outlive the ring: see `Worker`, which leaks both when I/O
    /// does not complete.
    pub fn register_buffers(&mut self, buffers: &Buffers) -> bool {
        let vector = |index| libc::iovec {
            iov_base: buffers.address(index).cast(),
            iov_len: buffers.each_bytes(),
        };
        let vectors: Vec<libc::iovec> = (0..buffers.count()).map(vector).collect();
        let address = vectors.as_ptr().cast_mut().cast();
        let count = vectors.len() as u32;
        // SAFETY: `count` iovecs, read by the kernel during the call; each describes
        // memory inside the mapping of `buffers`, which the kernel pins.
        unsafe { register(self.fd.as_raw_fd(), REGISTER_BUFFERS, address, count) == 0 }
    }

    /// What it shares with the kernel.
    #[cfg(test)]
    pub fn written(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self._maps.iter().map(|map| {
            let start = map.base.as_ptr() as usize;
            start..start + map.length_bytes
        })
    }

    pub fn flag_names(&self) -> Vec<&'static str> {
        let set = OPTIONAL_FLAGS
            .iter()
            .filter(|(flag, _)| self.flags & flag != 0);
        set.map(|(_, name)| *name).collect()
    }

    /// Queues an entry.
    ///
    /// # Safety
    /// Memory that the entry points to must stay valid, and must not be touched,
    /// until its completion has been popped.
    #[inline(always)]
    pub unsafe fn push(&mut self, sqe: &Sqe, slot: u32) {
        let entry = self.next_entry();
        // SAFETY: by `next_entry`. Stored field by field and not as a changed copy: the processor
        // cannot forward narrow stores to the wide loads of a copy at once.
        unsafe {
            entry.write(*sqe);
            (*entry).user_data = u64::from(slot);
        }
        self.sq.local_tail = self.sq.local_tail.wrapping_add(1);
    }

    /// The same, for a read or a write at that place.
    ///
    /// # Safety
    /// As for `push`.
    #[inline(always)]
    pub unsafe fn push_transfer(
        &mut self,
        sqe: &Sqe,
        slot: u32,
        offset_bytes: u64,
        length_bytes: u32,
    ) {
        let entry = self.next_entry();
        // SAFETY: as in `push`.
        unsafe {
            entry.write(*sqe);
            (*entry).user_data = u64::from(slot);
            (*entry).off = offset_bytes;
            (*entry).len = length_bytes;
        }
        self.sq.local_tail = self.sq.local_tail.wrapping_add(1);
    }

    /// A command of a wide ring.
    ///
    /// # Safety
    /// As for `push`, for the memory that the command points to.
    #[inline(always)]
    pub unsafe fn push_command(&mut self, sqe: &Sqe, slot: u32, command: &Command) {
        assert!(self.sq.shift == 1, "a command needs a wide ring");
        let entry = self.next_entry();
        // SAFETY: as in `push`. The command has 72 of the 80 bytes from `addr3` on, which
        // are aligned to 8 bytes, as it is.
        unsafe {
            entry.write(*sqe);
            (*entry).user_data = u64::from(slot);
            (&raw mut (*entry).addr3).cast::<Command>().write(*command);
        }
        self.sq.local_tail = self.sq.local_tail.wrapping_add(1);
    }

    /// Where the next entry goes: valid for writes, and nobody else's until `enter`.
    #[inline(always)]
    fn next_entry(&self) -> *mut Sqe {
        assert!(
            self.sq.local_tail != self.sq.full_tail,
            "the submission queue is full"
        );
        let index = ((self.sq.local_tail & self.sq.mask) << self.sq.shift) as usize;
        // SAFETY: within the mapped array, which has mask + 1 entries of 1 << shift; the kernel has taken the
        // entry that was there, for fewer than mask + 1 are unsubmitted.
        unsafe { self.sq.entries.as_ptr().add(index) }
    }

    #[inline(always)]
    fn unsubmitted(&self) -> u32 {
        // SAFETY: points into the ring's mapping, which lives as long as `self`.
        let head = unsafe { self.sq.head.as_ref() }.load(Ordering::Acquire);
        self.sq.local_tail.wrapping_sub(head)
    }

    /// Submits what was pushed, at most `chunk` per system call, and waits in the last
    /// one. An interruption or a time-out is no error: the caller checks the time.
    #[inline(always)]
    pub fn enter(&mut self, wait: Wait, chunk: u32) -> io::Result<()> {
        let mut submit = self.unsubmitted();
        // SAFETY: as in `unsubmitted`.
        unsafe { self.sq.tail.as_ref() }.store(self.sq.local_tail, Ordering::Release);
        while submit > chunk {
            let submitted = self.system_call(chunk, 0, 0, std::ptr::null(), 0);
            if submitted <= 0 {
                break; // The last call says why.
            }
            submit -= submitted as u32;
        }
        let outcome = match wait {
            Wait::No if submit == 0 => return Ok(()),
            Wait::No => self.system_call(submit, 0, 0, std::ptr::null(), 0),
            Wait::Poll => self.system_call(submit, 0, ENTER_GETEVENTS, std::ptr::null(), 0),
            Wait::UpTo(timeout_ns) => self.enter_timed(submit, timeout_ns),
        };
        let free = self.sq.mask + 1 - self.unsubmitted();
        self.sq.full_tail = self.sq.local_tail.wrapping_add(free);
        if outcome >= 0 {
            return Ok(());
        }
        match -outcome as i32 {
            libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    fn enter_timed(&self, submit: u32, timeout_ns: u64) -> isize {
        let timeout = Timespec {
            seconds: (timeout_ns / 1_000_000_000) as i64,
            nanoseconds: (timeout_ns % 1_000_000_000) as i64,
        };
        let argument = GeteventsArg {
            sigmask: 0,
            sigmask_bytes: 0,
            min_wait_us: 0,
            timeout: std::ptr::from_ref(&timeout) as u64,
        };
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        let bytes = size_of::<GeteventsArg>();
        self.system_call(submit, 1, flags, std::ptr::from_ref(&argument), bytes)
    }

    #[inline(always)]
    fn system_call(
        &self,
        submit: u32,
        wanted: u32,
        flags: u32,
        argument: *const GeteventsArg,
        argument_bytes: usize,
    ) -> isize {
        // SAFETY: `argument` is null or valid during the call; the memory of the
        // entries submitted is vouched for by the callers of `push`.
        unsafe {
            enter(
                self.enter_fd,
                [submit, wanted, flags | self.enter_flags],
                argument.cast(),
                argument_bytes,
            )
        }
    }

    /// The number of completions that can be popped.
    #[inline(always)]
    pub fn ready(&self) -> u32 {
        // SAFETY: as in `unsubmitted`. Acquire: the entries were written before.
        let tail = unsafe { self.cq.tail.as_ref() }.load(Ordering::Acquire);
        tail.wrapping_sub(self.cq.local_head)
    }

    /// The next completions, as many as `ready` said.
    #[inline(always)]
    pub fn completions(&self, ready: u32) -> impl Iterator<Item = Cqe> + '_ {
        let queue = &self.cq;
        let (head, mask, shift) = (queue.local_head, queue.mask, queue.shift);
        (0..ready).map(move |number| {
            let index = ((head.wrapping_add(number) & mask) << shift) as usize;
            // SAFETY: within the mapped array, as in `next_entry`; the kernel does not
            // reuse the entry before `release` has moved the head over it.
            unsafe { queue.entries.as_ptr().add(index).read() }
        })
    }

    /// Returns so many entries to the kernel.
    #[inline(always)]
    pub fn release(&mut self, count: u32) {
        self.cq.local_head = self.cq.local_head.wrapping_add(count);
        // SAFETY: as in `unsubmitted`. Release: the entries have been read.
        unsafe { self.cq.head.as_ref() }.store(self.cq.local_head, Ordering::Release);
    }
}

/// # Safety
/// `address` must point to what the operation takes, `count` times.
unsafe fn register(fd: RawFd, what: u32, address: *mut libc::c_void, count: u32) -> libc::c_long {
    // SAFETY: by the contract of this function.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, what, address, count) }
}

fn set_up(sq_entries: u32, cq_entries: u32, shape: Shape) -> io::Result<(OwnedFd, Params)> {
    let mut dropped = 0;
    loop {
        let optional = OPTIONAL_FLAGS[dropped..].iter();
        let mut params = Params {
            flags: optional.fold(shape.flags(), |all, (flag, _)| all | flag),
            cq_entries: cq_entries.max(2 * sq_entries),
            ..Params::default()
        };
        let address = std::ptr::from_mut(&mut params);
        // SAFETY: `params` is valid during the call; the kernel fills it in.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, sq_entries, address) };
        if fd >= 0 {
            // SAFETY: a new descriptor that belongs to nobody else.
            return Ok((unsafe { OwnedFd::from_raw_fd(fd as RawFd) }, params));
        }
        let code = last_errno();
        if code != libc::EINVAL || dropped == OPTIONAL_FLAGS.len() {
            return Err(io::Error::from_raw_os_error(code));
        }
        dropped += 1;
    }
}

/// A shared mapping of a part of the ring.
struct Map {
    base: NonNull<u8>,
    length_bytes: usize,
}

impl Map {
    fn new(fd: &OwnedFd, offset: i64, length_bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { base, length_bytes })
    }

    fn at<T>(&self, offset_bytes: u32, count: u32) -> NonNull<T> {
        let end = offset_bytes as usize + count as usize * size_of::<T>();
        assert!(end <= self.length_bytes && offset_bytes as usize % align_of::<T>() == 0);
        // SAFETY: inside the mapping, by the assertion.
        unsafe { self.base.add(offset_bytes as usize).cast() }
    }

    fn read(&self, offset_bytes: u32) -> u32 {
        // SAFETY: inside the mapping; these words do not change after set-up.
        unsafe { self.at::<u32>(offset_bytes, 1).read() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; the ring that points into it is going.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length_bytes) };
    }
}

/// The mappings: submission ring, completion ring if separate, entries.
struct Maps {
    all: Vec<Map>,
}

impl Maps {
    fn new(fd: &OwnedFd, params: &Params) -> io::Result<Self> {
        let array_bytes = match params.flags & SETUP_NO_SQARRAY {
            0 => params.sq_off.array as usize + 4 * params.sq_entries as usize,
            _ => 0,
        };
        // Without the array, the ring ends behind its header, which is before the
        // completion entries in the single mapping.
        let header_bytes = params.sq_off.dropped.max(params.sq_off.flags) as usize + 4;
        let sq_bytes = array_bytes.max(header_bytes);
        let cqes = (params.cq_entries << entry_shift(params)) as usize;
        let cq_bytes = params.cq_off.cqes as usize + cqes * size_of::<Cqe>();
        let mut all = Vec::new();
        if params.features & FEAT_SINGLE_MMAP != 0 {
            all.push(Map::new(fd, OFF_SQ_RING, sq_bytes.max(cq_bytes))?);
        } else {
            all.push(Map::new(fd, OFF_SQ_RING, sq_bytes)?);
            all.push(Map::new(fd, OFF_CQ_RING, cq_bytes)?);
        }
        let sqe_bytes = (params.sq_entries << entry_shift(params)) as usize * size_of::<Sqe>();
        all.push(Map::new(fd, OFF_SQES, sqe_bytes)?);
        Ok(Self { all })
    }

    fn submission_queue(&self, params: &Params) -> SubmissionQueue {
        let (ring, offsets) = (&self.all[0], &params.sq_off);
        if params.flags & SETUP_NO_SQARRAY == 0 {
            let array = ring.at::<u32>(offsets.array, params.sq_entries);
            for index in 0..params.sq_entries {
                // SAFETY: `at` checked that all entries of the array are inside; the
                // kernel reads it only in `enter`.
                unsafe { array.add(index as usize).write(index) };
            }
        }
        let tail = ring.at::<AtomicU32>(offsets.tail, 1);
        // SAFETY: inside the mapping, as `at` checked.
        let local_tail = unsafe { tail.as_ref() }.load(Ordering::Relaxed);
        SubmissionQueue {
            head: ring.at(offsets.head, 1),
            tail,
            entries: self.all[self.all.len() - 1].at(0, params.sq_entries << entry_shift(params)),
            shift: entry_shift(params),
            mask: ring.read(offsets.ring_mask),
            local_tail,
            full_tail: local_tail.wrapping_add(params.sq_entries),
        }
    }

    fn completion_queue(&self, params: &Params) -> CompletionQueue {
        let (ring, offsets) = (&self.all[self.all.len() - 2], &params.cq_off);
        let head = ring.at::<AtomicU32>(offsets.head, 1);
        CompletionQueue {
            head,
            tail: ring.at(offsets.tail, 1),
            entries: ring.at(offsets.cqes, params.cq_entries << entry_shift(params)),
            shift: entry_shift(params),
            mask: ring.read(offsets.ring_mask),
            // SAFETY: inside the mapping, as `at` checked.
            local_head: unsafe { head.as_ref() }.load(Ordering::Relaxed),
        }
    }
}

/// Why io_uring cannot be used here, as a message.
pub fn unusable_reason() -> Option<String> {
    let error = Ring::new(1, 1, Shape::default()).err()?;
    let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let disabled = sysctl.unwrap_or_default().trim().to_owned();
    Some(match error.raw_os_error().unwrap_or(0) {
        libc::EPERM if disabled == "2" || disabled == "1" => {
            format!("io_uring is disabled by kernel.io_uring_disabled={disabled}")
        }
        libc::EPERM => "io_uring_setup: Operation not permitted (seccomp?)".to_owned(),
        libc::ENOSYS => "the kernel has no io_uring (io_uring_setup: ENOSYS)".to_owned(),
        libc::EOPNOTSUPP => "the kernel's io_uring is too old (before Linux 5.11)".to_owned(),
        code => format!("io_uring_setup: {}", describe_errno(code)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A NOP touches no memory, so that `push` is sound for it.
    fn nop() -> Sqe {
        Sqe {
            opcode: OP_NOP,
            ..Sqe::default()
        }
    }

    #[test]
    fn every_entry_comes_back_once() {
        for wide in [false, true] {
            let polled = false;
            nops_come_back(Shape { polled, wide });
        }
    }

    fn nops_come_back(shape: Shape) {
        let Ok(mut ring) = Ring::new(16, 64, shape) else {
            return; // io_uring is forbidden here
        };
        ring.register_ring();
        let mut seen = vec![false; 1600];
        for batch in 0..100 {
            for at in 0..16 {
                // SAFETY: see `nop`.
                unsafe { ring.push(&nop(), (batch * 16 + at) as u32) };
            }
            ring.enter(Wait::UpTo(1_000_000_000), 5).expect("enter");
            let ready = ring.ready();
            for cqe in ring.completions(ready) {
                assert_eq!(cqe.res, 0);
                assert!(!std::mem::replace(&mut seen[cqe.user_data as usize], true));
            }
            ring.release(ready);
        }
        assert!(seen.iter().all(|&came| came));
    }

    #[test]
    fn waiting_ends_in_time() {
        let Ok(mut ring) = Ring::new(1, 1, Shape::default()) else {
            return;
        };
        let start = std::time::Instant::now();
        ring.enter(Wait::UpTo(20_000_000), 1).expect("enter");
        let waited_ms = start.elapsed().as_millis();
        assert!((20..200).contains(&waited_ms), "{waited_ms}");
    }
}
