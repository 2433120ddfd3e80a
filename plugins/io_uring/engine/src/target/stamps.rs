//! Which generation of each logical block was written last with `verify`.
//!
//! A map with four words of 32 bits for each block, shared by all threads of a run. In a file
//! that the job names it holds for later runs as well: the kernel keeps the pages of a
//! process that is killed. Without a file it ends with the run.
//!
//! The first is 0 where nothing is known, else a generation of 30 bits, and, from before
//! the write is submitted until it is acknowledged, `IN_FLIGHT`. Of a block whose write
//! was in flight at a kill either generation is right. The second word says which
//! generation is durable (`durable.rs`), the third, if that is by a flush or by FUA, how
//! many writes had been issued as that ended (its lower half). The fourth is the last
//! generation that was acknowledged: of those that failed after it nothing is promised.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::job::failure::{Cause, Failure};
use crate::job::{Job, Stream};
use crate::target::durable::{Durable, EPOCHS};

/// The bytes before the first entry: a page.
const HEADER_BYTES: u64 = 4096;
const ALLOCATED_BYTES: u64 = 16 << 20;
const ENTRY_BYTES: u64 = 16;
const MAGIC: u64 = u64::from_le_bytes(*b"ioplanSM");
const VERSION: u64 = 6;
/// Where the header says in which boot of the host the file is in use; 0 after its end.
const IN_USE_AT: u64 = 40;
/// How often the target's power was cut; who cuts it counts there.
const CUTS_AT: u64 = 48;
/// How many writes have been issued, for all threads and runs.
const WRITES_AT: usize = 56;
/// Not 0 once blocks were forgotten: they were discarded, or written without stamps.
const FORGOTTEN_AT: usize = 64;

pub const GENERATION: u32 = (1 << 30) - 1;
pub const IN_FLIGHT: u32 = 1 << 31;
/// Of a write in flight: what was there before is not known either.
pub const UNKNOWN_BEFORE: u32 = 1 << 30;

pub struct Stamps {
    base: NonNull<u8>,
    length_bytes: usize,
    blocks: u64,
    file: Option<File>,
    /// Tells blocks of this map from those of another.
    key: u64,
    /// How often the target's power was cut since the map was made.
    cuts: u64,
}

// SAFETY: the entries are atomic, and the mapping lives as long as the value.
unsafe impl Send for Stamps {}
// SAFETY: as above.
unsafe impl Sync for Stamps {}

impl Stamps {
    /// The map of a job that verifies, in its file if it names one.
    pub fn open(job: &Job) -> Result<Self, Failure> {
        let blocks = job.capacity_bytes / job.block_bytes;
        let opened = match &job.stamps {
            None => Self::map(None, blocks, fastrand::u64(..), 0),
            Some(path) => Self::in_file(path, job, blocks),
        };
        opened.map_err(|error| failure(job, &error))
    }

    fn in_file(path: &str, job: &Job, blocks: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(Path::new(path))?;
        let key = match known_key(&file, job)? {
            Some(key) => key,
            None => begin(&file, job, blocks)?,
        };
        for stream in stamped(job) {
            let [start, end] = [stream.region_start_bytes, stream.region_end_bytes]
                .map(|bytes| HEADER_BYTES + bytes / job.block_bytes * ENTRY_BYTES);
            allocate(&file, start, end)?;
        }
        file.write_all_at(&boot().to_le_bytes(), IN_USE_AT)?;
        file.sync_data()?;
        let mut cuts = [0; 8];
        file.read_exact_at(&mut cuts, CUTS_AT)?;
        Self::map(Some(file), blocks, key, u64::from_le_bytes(cuts))
    }

    fn map(file: Option<File>, blocks: u64, key: u64, cuts: u64) -> io::Result<Self> {
        let length_bytes = (HEADER_BYTES + blocks * ENTRY_BYTES) as usize;
        let (flags, fd) = match &file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags | libc::MAP_NORESERVE,
                fd,
                0,
            )
        };
        let base = (address != libc::MAP_FAILED).then(|| NonNull::new(address.cast()));
        let base = base.flatten().ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            base,
            length_bytes,
            blocks,
            file,
            key,
            cuts,
        })
    }

    pub fn key(&self) -> u64 {
        self.key
    }

    pub fn epoch(&self) -> u64 {
        self.cuts
    }

    fn word(&self, block: u64, word: u64) -> &AtomicU32 {
        assert!(block < self.blocks);
        let at = (HEADER_BYTES + block * ENTRY_BYTES + word * 4) as usize;
        // SAFETY: inside the mapping, aligned to 4 bytes, and only used atomically.
        unsafe { &*self.base.as_ptr().add(at).cast::<AtomicU32>() }
    }

    pub fn get(&self, block: u64) -> u32 {
        self.word(block, 0).load(Ordering::Relaxed)
    }

    pub fn set(&self, block: u64, value: u32) {
        self.word(block, 0).store(value, Ordering::Relaxed);
    }

    pub fn durable(&self, block: u64) -> Durable {
        Durable::of(self.word(block, 1).load(Ordering::Relaxed))
    }

    /// The number of a write that is about to be issued, from 1.
    pub fn next_write(&self) -> u64 {
        self.counter().fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A flush that covers the block has ended, or its write with FUA.
    pub fn set_issued(&self, block: u64) {
        let issued = self.counter().load(Ordering::Relaxed);
        let word = self.word(block, 2);
        word.store(issued as u32, Ordering::Relaxed);
    }

    /// The last generation that the target has acknowledged, or that was read; 0 is none.
    pub fn acknowledged(&self, block: u64) -> u32 {
        self.word(block, 3).load(Ordering::Relaxed)
    }

    pub fn set_acknowledged(&self, block: u64, generation: u32) {
        self.word(block, 3).store(generation, Ordering::Relaxed);
    }

    /// How many writes had been issued then; of long ago, a later number.
    pub fn issued(&self, block: u64) -> u64 {
        let issued = self.counter().load(Ordering::Relaxed);
        let then = self.word(block, 2).load(Ordering::Relaxed);
        issued - u64::from((issued as u32).wrapping_sub(then))
    }

    fn counter(&self) -> &AtomicU64 {
        self.header(WRITES_AT)
    }

    fn header(&self, at: usize) -> &AtomicU64 {
        assert!(at % 8 == 0 && at < HEADER_BYTES as usize);
        // SAFETY: inside the mapping's first page, aligned to 8 bytes, only used atomically.
        unsafe { &*self.base.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Whether there may be stamps of this map older than what it knows of their blocks.
    pub fn has_forgotten(&self) -> bool {
        self.header(FORGOTTEN_AT).load(Ordering::Relaxed) != 0
    }

    /// Nothing is known of the block any more, though it may carry a stamp.
    pub fn forget(&self, block: u64) {
        if self.get(block) == 0 {
            return;
        }
        self.set(block, 0);
        self.header(FORGOTTEN_AT).store(1, Ordering::Relaxed);
    }

    pub fn set_durable(&self, block: u64, durable: Durable) {
        let word = self.word(block, 1);
        word.store(durable.word(), Ordering::Relaxed);
    }

    /// The run has ended: what it knows outlasts the host, too.
    pub fn close(&self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        // SAFETY: exactly the mapping.
        let rc =
            unsafe { libc::msync(self.base.as_ptr().cast(), self.length_bytes, libc::MS_SYNC) };
        if rc != 0 {
            return Err(io::Error::last_os_error());
        }
        file.write_all_at(&0u64.to_le_bytes(), IN_USE_AT)
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` returned; nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length_bytes) };
    }
}

/// The streams whose writes are remembered.
fn stamped(job: &Job) -> impl Iterator<Item = &Stream> {
    let streams = job.streams.iter();
    streams.filter(|stream| stream.verify && stream.writes())
}

fn failure(job: &Job, error: &io::Error) -> Failure {
    let what = job.stamps.as_deref().unwrap_or("memory");
    if error.raw_os_error() != Some(libc::ENOSPC) {
        let text = format!("what is written with 'verify' cannot be remembered in {what}");
        return Failure::new(Cause::Memory, format!("{text}: {error}"));
    }
    let bytes = stamped(job).map(|stream| stream.region_end_bytes - stream.region_start_bytes);
    let mib = (bytes.sum::<u64>() / job.block_bytes * ENTRY_BYTES) >> 20;
    Failure::new(
        Cause::NoSpace,
        format!(
            "what is written with 'verify' is remembered in {what}, which needs {mib} MiB; \
             make room, limit the region, or set XDG_STATE_HOME to a folder on another disk"
        ),
    )
}

/// Room on the disk: a page that has none would kill the process when it is written.
/// tmpfs gives up a whole call at a signal, so it is asked for in steps.
fn allocate(file: &File, start: u64, end: u64) -> io::Result<()> {
    let mut at = start;
    while at < end {
        let length = (end - at).min(ALLOCATED_BYTES);
        // SAFETY: a call on an open file; it touches no memory.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), at as i64, length as i64) } {
            0 => at += length,
            libc::EINTR => (),
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
    }
    Ok(())
}

/// The key of a file that was made for this target and can be believed. One that was in use
/// when the host went down may know less than the target.
fn known_key(file: &File, job: &Job) -> io::Result<Option<u64>> {
    let mut header = [0; 56];
    if let Err(error) = file.read_exact_at(&mut header, 0) {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(None),
            _ => Err(error),
        };
    }
    let word = |at: usize| {
        let bytes = header[8 * at..].first_chunk::<8>();
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let [
        magic,
        version,
        block_bytes,
        capacity_bytes,
        key,
        in_use,
        cuts,
    ] = std::array::from_fn(word);
    let same = (magic, version) == (MAGIC, VERSION)
        && (block_bytes, capacity_bytes) == (job.block_bytes, job.capacity_bytes);
    let same = same && cuts < EPOCHS;
    Ok((same && (in_use == 0 || in_use == boot())).then_some(key))
}

/// Empties the file and writes its header; returns its key.
fn begin(file: &File, job: &Job, blocks: u64) -> io::Result<u64> {
    file.set_len(0)?;
    file.set_len(HEADER_BYTES + blocks * ENTRY_BYTES)?;
    let key = fastrand::u64(..);
    let header = [MAGIC, VERSION, job.block_bytes, job.capacity_bytes, key];
    let bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.write_all_at(&bytes, 0)?;
    Ok(key)
}

/// Identifies this boot of the host; never 0.
fn boot() -> u64 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = id
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(16)
        .collect();
    u64::from_str_radix(&digits, 16).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(path: &Path, capacity_bytes: u64) -> Job {
        let stream = serde_json::json!({
            "pattern": "random", "read_percent": 0.0, "read_sizes": [], "write_sizes": [],
            "region_start_bytes": 0, "region_end_bytes": capacity_bytes, "verify": true});
        let job = serde_json::json!({
            "target": "/dev/zero", "capacity_bytes": capacity_bytes, "block_bytes": 512,
            "stamps": path, "streams": [stream]});
        serde_json::from_value(job).expect("a job")
    }

    /// What is known of block 5 when the file is opened again.
    fn after(change: impl Fn(&File), capacity_bytes: u64) -> u32 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let first = Stamps::open(&job(&path, 1 << 20)).expect("a map");
        first.set(5, 7);
        let file = OpenOptions::new().write(true).open(&path).expect("it");
        change(&file);
        let again = Stamps::open(&job(&path, capacity_bytes));
        again.expect("a map").get(5)
    }

    #[test]
    fn what_was_set_is_known_unless_the_file_cannot_be_believed() {
        let in_use = |boot: u64| {
            move |file: &File| {
                file.write_all_at(&boot.to_le_bytes(), IN_USE_AT)
                    .expect("a write")
            }
        };
        assert_eq!(after(|_| (), 1 << 20), 7);
        assert_eq!(after(in_use(0), 1 << 20), 7);
        assert_eq!(after(in_use(boot() ^ 1), 1 << 20), 0, "the host went down");
        assert_eq!(after(|_| (), 2 << 20), 0, "another target");
        let damaged = |file: &File| file.write_all_at(b"x", 0).expect("a write");
        assert_eq!(after(damaged, 1 << 20), 0, "another file");
    }

    #[test]
    fn an_end_of_the_run_is_marked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let stamps = Stamps::open(&job(&path, 1 << 20)).expect("a map");
        let in_use = || {
            let bytes = std::fs::read(&path).expect("it");
            bytes[IN_USE_AT as usize..IN_USE_AT as usize + 8].to_vec()
        };
        assert_eq!(in_use(), boot().to_le_bytes());
        stamps.close().expect("a disk");
        assert_eq!(in_use(), [0; 8]);
    }
}
