//! The target: a file or device, opened with no more access than the job needs.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::Arc;

use crate::job::failure::{Cause, Failure, describe_errno, last_errno};
use crate::job::{Job, Stream};
use crate::target::passthrough::Namespace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    File,
    Block,
    Char,
}

impl TargetKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Block => "block",
            Self::Char => "char",
        }
    }
}

pub struct Target {
    file: File,
    pub kind: TargetKind,
    pub direct: bool,
    /// 0 for a character device.
    pub size_bytes: u64,
    pub block_bytes: u64,
    /// Receives the commands of a job with passthrough.
    pub namespace: Option<Namespace>,
}

/// The numbers of inherited descriptors, of a caller that has checked the targets and holds
/// them: these are opened again, because the paths may lead elsewhere by now.
const HELD: &str = "IOPLAN_TARGET_HELD";
const BLKROGET: u64 = 0x125e;
const BLKSSZGET: u64 = 0x1268;
const BLKGETSIZE64: u64 = 0x8008_1272;
const BLKDISCARD: u64 = 0x1277;
const TMPFS_MAGIC: i64 = 0x0102_1994;
const RAMFS_MAGIC: i64 = 0x8584_58f6;

impl Target {
    /// All targets of a job, each with the access that its streams need, and checked.
    pub fn open_all(job: &Job) -> Result<Vec<Arc<Self>>, Failure> {
        let paths = job.paths();
        let opened = paths.iter().enumerate().map(|(number, path)| {
            let part = job.on(number, path);
            let writable = part.streams.iter().any(Stream::modifies);
            let mut target = Self::open_held(path, writable, held(number))?;
            target.check(&part)?;
            if job.passthrough {
                target.open_passthrough(path, writable)?;
            }
            Ok(Arc::new(target))
        });
        opened.collect()
    }

    /// Opens for reading only, unless `writable`. Never creates, never truncates; a
    /// block device that is mounted or otherwise held is not opened for writing.
    pub fn open(path: &str, writable: bool) -> Result<Self, Failure> {
        Self::open_held(path, writable, held(0))
    }

    fn open_held(path: &str, writable: bool, held: Option<String>) -> Result<Self, Failure> {
        let place = held.as_ref().map(|fd| format!("/proc/self/fd/{fd}"));
        let place = place.as_deref().unwrap_or(path);
        let metadata = std::fs::metadata(place).map_err(|error| open_failure(path, &error))?;
        let kind = kind_of(path, &metadata)?;
        let direct = kind != TargetKind::Char;
        let access = if writable {
            libc::O_RDWR
        } else {
            libc::O_RDONLY
        };
        // Where the caller holds the device (O_EXCL), a second O_EXCL would fail.
        let exclusive = if writable && kind == TargetKind::Block && held.is_none() {
            libc::O_EXCL
        } else {
            0
        };
        let direct_flag = if direct { libc::O_DIRECT } else { 0 };
        let flags = access | exclusive | direct_flag | libc::O_CLOEXEC | libc::O_NOCTTY;
        let file = open_with(place, flags).map_err(|error| open_failure(path, &error))?;
        refuse_memory(path, &file, kind)?;
        if writable && kind == TargetKind::Block {
            refuse_read_only(path, &file)?;
        }
        let (size_bytes, block_bytes) = geometry(&file, kind, &metadata);
        Ok(Self {
            file,
            kind,
            direct,
            size_bytes,
            block_bytes,
            namespace: None,
        })
    }

    /// Opens the NVMe namespace's character device as well.
    pub fn open_passthrough(&mut self, path: &str, writable: bool) -> Result<(), Failure> {
        self.namespace = Some(Namespace::of(path, writable, self.block_bytes)?);
        Ok(())
    }

    /// For `probe` only: reads go through the page cache.
    pub fn open_buffered(path: &str) -> Result<Self, Failure> {
        let metadata = std::fs::metadata(path).map_err(|error| open_failure(path, &error))?;
        let kind = kind_of(path, &metadata)?;
        let file = open_with(path, libc::O_RDONLY | libc::O_CLOEXEC);
        let file = file.map_err(|error| open_failure(path, &error))?;
        let (size_bytes, block_bytes) = geometry(&file, kind, &metadata);
        Ok(Self {
            file,
            kind,
            direct: false,
            size_bytes,
            block_bytes,
            namespace: None,
        })
    }

    /// Whether the target takes I/O without blocking its caller. Where it does not, io_uring
    /// hands each I/O to a kernel thread. A byte is asked for: that is refused for the
    /// want of NOWAIT before it is refused for being no block, and no I/O is done.
    pub fn nowait(&self) -> bool {
        let mut byte = 0u8;
        let vector = libc::iovec {
            iov_base: std::ptr::from_mut(&mut byte).cast(),
            iov_len: 1,
        };
        // SAFETY: one iovec that describes `byte`, which outlives the call.
        let rc = unsafe { libc::preadv2(self.fd(), &vector, 1, 0, libc::RWF_NOWAIT) };
        rc >= 0 || !matches!(last_errno(), libc::EOPNOTSUPP | libc::ENOSYS)
    }

    /// The descriptor that a ring does its I/O on.
    pub fn io_fd(&self) -> RawFd {
        let namespace = self.namespace.as_ref().map(Namespace::fd);
        namespace.unwrap_or_else(|| self.fd())
    }

    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Whether the job fits the target.
    pub fn check(&self, job: &Job) -> Result<(), Failure> {
        let path = &job.target;
        self.check_way(job)?;
        if self.kind == TargetKind::Char {
            return self.check_character(job);
        }
        if self.size_bytes < job.capacity_bytes {
            return Err(Failure::new(
                Cause::TooSmall,
                format!(
                    "{path} has {} bytes, but the job's capacity is {} bytes; the engine never extends a target",
                    self.size_bytes, job.capacity_bytes
                ),
            ));
        }
        if job.block_bytes % self.block_bytes != 0 {
            return Err(Failure::new(
                Cause::Unaligned,
                format!(
                    "{path} does direct I/O in blocks of {} bytes, and the job's block of {} bytes is no multiple of that",
                    self.block_bytes, job.block_bytes
                ),
            ));
        }
        let trims = job.streams.iter().any(Stream::trims);
        if trims && self.kind == TargetKind::Block && !self.discards() {
            return Err(Failure::bad_job(format!(
                "{path} cannot discard (its queue has discard_max_bytes 0); leave out trim"
            )));
        }
        Ok(())
    }

    fn check_character(&self, job: &Job) -> Result<(), Failure> {
        let refused = |what: &str| {
            let path = &job.target;
            Err(Failure::bad_job(format!(
                "{path} is a character device: {what}"
            )))
        };
        if job.streams.iter().any(Stream::trims) {
            return refused("it cannot be trimmed");
        }
        if job.streams.iter().any(|stream| stream.sync_every.is_some()) {
            return refused("it cannot be flushed; leave out sync");
        }
        if job.streams.iter().any(|stream| stream.fua) {
            return refused("it keeps nothing; leave out fua");
        }
        Ok(())
    }

    fn discards(&self) -> bool {
        self.queue("discard_max_bytes")
            .is_none_or(|text| text != "0")
    }

    /// An attribute of the queue of the block device, or of the one that holds the file.
    pub fn queue(&self, name: &str) -> Option<String> {
        let folder = self.device_folder()?;
        // A partition has no queue of its own: its disk, the parent folder, has.
        let paths = [
            format!("{folder}/queue/{name}"),
            format!("{folder}/../queue/{name}"),
        ];
        let read = |path: &String| std::fs::read_to_string(path).ok();
        let text = paths.iter().find_map(read)?;
        Some(text.trim().to_owned())
    }

    /// The sysfs folder of the block device, or of the one that holds the file.
    fn device_folder(&self) -> Option<String> {
        let metadata = self.file.metadata().ok()?;
        let device = match self.kind {
            TargetKind::Block => metadata.rdev(),
            TargetKind::File => metadata.dev(),
            TargetKind::Char => return None,
        };
        let (major, minor) = (libc::major(device), libc::minor(device));
        Some(format!("/sys/dev/block/{major}:{minor}"))
    }

    /// Whether the target supports `polled` and `passthrough` as the job uses them.
    fn check_way(&self, job: &Job) -> Result<(), Failure> {
        let path = &job.target;
        let refused = |way: &str, what: &str| {
            Err(Failure::bad_job(format!(
                "{way} I/O has no {what}; leave out {what}, or {way}"
            )))
        };
        if job.passthrough && job.streams.iter().any(Stream::trims) {
            return refused("passthrough", "trim");
        }
        if job.polled && job.streams.iter().any(Stream::trims) {
            return refused("polled", "trim");
        }
        if job.polled && job.streams.iter().any(|stream| stream.sync_every.is_some()) {
            return refused("polled", "sync");
        }
        if job.polled && job.streams.iter().any(|stream| stream.fua) {
            return refused("polled", "fua");
        }
        if job.polled && self.queue("io_poll").as_deref() != Some("1") {
            return Err(Failure::bad_job(format!(
                "{path} has no queues to poll (its queue/io_poll is not 1); for NVMe, load \
                 the driver with nvme.poll_queues=N, or leave out polled"
            )));
        }
        let largest_bytes = job.streams.iter().map(Stream::largest_bytes).max();
        let most_kib = self
            .queue("max_hw_sectors_kb")
            .and_then(|text| text.parse::<u64>().ok());
        match (job.passthrough, most_kib) {
            (true, Some(kib)) if largest_bytes > Some(kib << 10) => Err(Failure::bad_job(format!(
                "{path} takes at most {kib} KiB in one command; use smaller blocks, or leave out passthrough"
            ))),
            _ => Ok(()),
        }
    }
}

/// The descriptor of the target at this place in the job.
fn held(number: usize) -> Option<String> {
    let all = std::env::var(HELD).ok()?;
    all.split(',').nth(number).map(str::to_owned)
}

/// Without noting the time of access, which costs each read of a block device a look at the
/// clock. Only the owner and root may ask for that.
fn open_with(path: &str, flags: i32) -> io::Result<File> {
    match open_with_exactly(path, flags | libc::O_NOATIME) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => open_with_exactly(path, flags),
        outcome => outcome,
    }
}

fn open_with_exactly(path: &str, flags: i32) -> io::Result<File> {
    let path = CString::new(path).map_err(|_| io::Error::from_raw_os_error(libc::ENOENT))?;
    // SAFETY: `path` is a NUL-terminated string that lives through the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and belongs to nobody else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

fn kind_of(path: &str, metadata: &std::fs::Metadata) -> Result<TargetKind, Failure> {
    let kind = metadata.file_type();
    if kind.is_file() {
        Ok(TargetKind::File)
    } else if kind.is_block_device() {
        Ok(TargetKind::Block)
    } else if kind.is_char_device() {
        Ok(TargetKind::Char)
    } else {
        Err(Failure::new(
            Cause::Open,
            format!("{path} is neither a file nor a device"),
        ))
    }
}

fn open_failure(path: &str, error: &io::Error) -> Failure {
    let errno = error.raw_os_error().unwrap_or(0);
    let why = describe_errno(errno);
    let (cause, what) = match errno {
        libc::ENOENT | libc::ENOTDIR | libc::ENXIO | libc::ENODEV => (
            Cause::MissingTarget,
            format!("there is no {path}: {why}; the engine never creates a target"),
        ),
        libc::EACCES | libc::EPERM => (
            Cause::Permission,
            format!(
                "{path} may not be opened: {why}; run as a user who may, or change its permissions"
            ),
        ),
        libc::EROFS => (Cause::ReadOnly, format!("{path} can only be read: {why}")),
        libc::EBUSY => (
            Cause::Open,
            format!(
                "{path} is in use (mounted, swap, or held by another program): {why}; free it first"
            ),
        ),
        libc::EINVAL => no_direct_io(path),
        _ => (Cause::Open, format!("{path} cannot be opened: {why}")),
    };
    Failure::new(cause, what)
}

fn no_direct_io(path: &str) -> (Cause, String) {
    let what = format!(
        "{path} is on a file system without direct I/O (O_DIRECT), so that memory would be \
         measured and not a device; use a file on a disk's file system, or a block device"
    );
    (Cause::NoDirectIo, what)
}

/// Newer kernels accept O_DIRECT on tmpfs, but still do the I/O in memory.
fn refuse_memory(path: &str, file: &File, kind: TargetKind) -> Result<(), Failure> {
    if kind != TargetKind::File {
        return Ok(());
    }
    // SAFETY: statfs is plain data, for which all zeros is valid.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and `system` is valid.
    let rc = unsafe { libc::fstatfs(file.as_raw_fd(), &mut system) };
    #[allow(clippy::unnecessary_cast)] // the type differs between architectures
    let magic = system.f_type as i64;
    if rc == 0 && (magic == TMPFS_MAGIC || magic == RAMFS_MAGIC) {
        let (cause, what) = no_direct_io(path);
        return Err(Failure::new(cause, what));
    }
    Ok(())
}

/// A read-only device can be opened for writing; only the writes fail.
fn refuse_read_only(path: &str, file: &File) -> Result<(), Failure> {
    let mut read_only = 0i32;
    // SAFETY: BLKROGET writes one int.
    let rc = unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET as _, &mut read_only) };
    if rc == 0 && read_only != 0 {
        let what = format!("{path} is a read-only device; make it writable (blockdev --setrw)");
        return Err(Failure::new(Cause::ReadOnly, what));
    }
    Ok(())
}

/// Size and the block that direct I/O needs, both in bytes.
fn geometry(file: &File, kind: TargetKind, metadata: &std::fs::Metadata) -> (u64, u64) {
    match kind {
        TargetKind::File => (metadata.len(), direct_block_bytes(file).unwrap_or(512)),
        TargetKind::Char => (0, 512),
        TargetKind::Block => {
            let (mut size_bytes, mut block_bytes) = (0u64, 512i32);
            // SAFETY: both ioctls write one value of the type that is passed.
            unsafe {
                libc::ioctl(file.as_raw_fd(), BLKGETSIZE64 as _, &mut size_bytes);
                libc::ioctl(file.as_raw_fd(), BLKSSZGET as _, &mut block_bytes);
            }
            (size_bytes, block_bytes.max(1) as u64)
        }
    }
}

/// The alignment that the file system reports (Linux 6.1 and newer).
fn direct_block_bytes(file: &File) -> Option<u64> {
    // SAFETY: statx is plain data, for which all zeros is valid.
    let mut facts: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: an empty path with AT_EMPTY_PATH means the descriptor; `facts` is valid.
    let rc = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &mut facts,
        )
    };
    let known = rc == 0 && facts.stx_mask & libc::STATX_DIOALIGN != 0;
    (known && facts.stx_dio_offset_align > 0).then(|| u64::from(facts.stx_dio_offset_align))
}

/// The result of a system call in the form of io_uring: bytes, or minus errno.
fn outcome(rc: isize) -> i64 {
    if rc < 0 {
        -i64::from(last_errno())
    } else {
        rc as i64
    }
}

pub fn read_at(fd: RawFd, buffer: &mut [u8], offset_bytes: u64) -> i64 {
    let (address, length) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: `buffer` is valid for writes of its length during the call.
    outcome(unsafe { libc::pread(fd, address, length, offset_bytes as libc::off_t) })
}

/// With `fua` it is durable when it is acknowledged.
pub fn write_at(fd: RawFd, buffer: &[u8], offset_bytes: u64, fua: bool) -> i64 {
    let (address, length) = (buffer.as_ptr().cast(), buffer.len());
    let offset = offset_bytes as libc::off_t;
    if fua {
        let part = libc::iovec {
            iov_base: buffer.as_ptr().cast_mut().cast(),
            iov_len: length,
        };
        // SAFETY: `buffer` is valid for reads of its length during the call.
        return outcome(unsafe { libc::pwritev2(fd, &part, 1, offset, libc::RWF_DSYNC) });
    }
    // SAFETY: as above.
    outcome(unsafe { libc::pwrite(fd, address, length, offset) })
}

pub fn flush(fd: RawFd) -> i64 {
    // SAFETY: takes no memory.
    outcome(unsafe { libc::fdatasync(fd) } as isize)
}

pub const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

pub fn discard(fd: RawFd, kind: TargetKind, offset_bytes: u64, size_bytes: u64) -> i64 {
    if kind == TargetKind::Block {
        let range = [offset_bytes, size_bytes];
        // SAFETY: BLKDISCARD reads two 64-bit words, which `range` is.
        return outcome(unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) } as isize);
    }
    let (offset, length) = (offset_bytes as libc::off_t, size_bytes as libc::off_t);
    // SAFETY: takes no memory.
    outcome(unsafe { libc::fallocate(fd, PUNCH, offset, length) } as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_their_cause() {
        let cause = |path| Target::open(path, false).err().map(|failure| failure.cause);
        assert_eq!(cause("/nonexistent/x"), Some(Cause::MissingTarget));
        assert_eq!(cause("/tmp"), Some(Cause::Open));
        assert_eq!(cause("/proc/version"), Some(Cause::NoDirectIo));
    }

    #[test]
    fn a_character_device_is_not_direct() {
        let zero = Target::open("/dev/zero", false).expect("/dev/zero");
        assert!(zero.kind == TargetKind::Char && !zero.direct);
        let mut buffer = [1u8; 512];
        assert_eq!(read_at(zero.fd(), &mut buffer, 0), 512);
        assert_eq!(buffer, [0; 512]);
        assert_eq!(
            write_at(zero.fd(), &buffer, 0, false),
            -i64::from(libc::EBADF)
        );
    }
}
