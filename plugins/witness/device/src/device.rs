//! The file system: a folder with the file `disk`, and `control` for commands.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::behaviour::{Behaviour, Fate};
use crate::log::{Entry, Log, digest, entropy};
use crate::script::{Arrival, Kind};
use crate::store::Store;
use crate::timer::{Timer, now_ns};

const DISK: INodeNo = INodeNo(2);
const CONTROL: INodeNo = INodeNo(3);
const NAMES: [(&str, INodeNo); 2] = [("disk", DISK), ("control", CONTROL)];
/// Larger I/Os arrive in pieces of that size.
const MOST_BYTES: u32 = 1 << 20;
/// Attributes are never kept by the kernel: the size may change.
const TTL: Duration = Duration::ZERO;

pub struct Device {
    pub behaviour: Behaviour,
    pub store: Store,
    pub log: Arc<Log>,
    pub timer: Timer,
    pub outstanding: Arc<AtomicU64>,
    /// Without power: nothing is answered but with an error.
    pub off: Arc<AtomicBool>,
    pub started_ns: u64,
    pub stop: Sender<()>,
}

/// An I/O between its arrival and its answer.
struct Io {
    entry: Entry,
    fate: Fate,
}

impl Device {
    fn arrive(&self, req: &Request, kind: Kind, offset: u64, size: u64, fua: bool) -> Io {
        let arrived_ns = now_ns();
        let depth = self.outstanding.fetch_add(1, Ordering::Relaxed) + 1;
        let since_start_ns = arrived_ns - self.started_ns;
        let mut fate = self.behaviour.decide(&Arrival {
            kind,
            offset,
            size,
            depth,
            since_start_ns,
        });
        if self.off.load(Ordering::SeqCst) {
            (fate.errno, fate.delay_ns) = (libc::ENODEV, 0);
        }
        let entry = Entry {
            arrived_ns,
            done_ns: 0,
            due_ns: arrived_ns + fate.delay_ns,
            offset,
            digest: 0,
            size: size.min(u64::from(u32::MAX)) as u32,
            moved: 0,
            thread: self.log.asking_thread(req.pid()),
            depth: depth.min(u64::from(u16::MAX)) as u16,
            errno: fate.errno as u16,
            entropy: 0,
            zeros: 0,
            kind,
            fua,
        };
        Io { entry, fate }
    }

    /// Answer when it is due. The log has it before the asker knows.
    fn answer(&self, mut io: Io, reply: impl FnOnce(Result<u32, Errno>) + Send + 'static) {
        let (log, outstanding) = (self.log.clone(), self.outstanding.clone());
        let off = self.off.clone();
        let due_ns = io.entry.due_ns;
        let finish = move || {
            io.entry.done_ns = now_ns();
            outstanding.fetch_sub(1, Ordering::Relaxed);
            if io.entry.errno == 0 && off.load(Ordering::SeqCst) {
                io.entry.errno = libc::EIO as u16; // its power went meanwhile
            }
            log.add(&io.entry);
            match io.entry.errno {
                0 => reply(Ok(io.entry.moved)),
                errno => reply(Err(Errno::from_i32(errno.into()))),
            }
        };
        if due_ns > now_ns() {
            self.timer.at(due_ns, finish)
        } else {
            finish()
        }
    }

    fn attr(&self, ino: INodeNo) -> FileAttr {
        let size = if ino == DISK {
            self.behaviour.script.reported_bytes
        } else {
            0
        };
        let (kind, perm) = match ino {
            INodeNo::ROOT => (FileType::Directory, 0o700),
            _ => (FileType::RegularFile, 0o600),
        };
        let (now, uid, gid) = (SystemTime::UNIX_EPOCH, owner().0, owner().1);
        FileAttr {
            ino,
            size,
            blocks: size.div_ceil(512),
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            kind,
            perm,
            nlink: 1,
            uid,
            gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn vanished(&self) -> bool {
        let since_ns = now_ns() - self.started_ns;
        self.behaviour
            .script
            .vanish_after_ns
            .is_some_and(|after_ns| since_ns >= after_ns)
            || self.off.load(Ordering::SeqCst)
    }

    fn command(&self, text: &[u8]) -> Result<(), Errno> {
        match text.trim_ascii() {
            b"cut" => self.store.cut().map(|_| ()).map_err(Errno::from),
            b"off" => {
                self.off.store(true, Ordering::SeqCst);
                self.store.cut().map(|_| ()).map_err(Errno::from)
            }
            b"on" => {
                self.off.store(false, Ordering::SeqCst);
                Ok(())
            }
            b"flush-log" => {
                self.log.flush();
                Ok(())
            }
            b"stop" => {
                self.log.flush();
                self.stop.send(()).map_err(|_| Errno::EIO)
            }
            _ => Err(Errno::EINVAL),
        }
    }
}

fn owner() -> (u32, u32) {
    // SAFETY: they always succeed.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The bytes that a fault leaves of an I/O.
fn cut_short(size: usize, fate: &Fate) -> usize {
    fate.short_bytes
        .map_or(size, |most| size.min(most as usize))
}

fn note_data(entry: &mut Entry, data: &[u8]) {
    entry.moved = data.len() as u32;
    entry.digest = digest(data);
    (entry.entropy, entry.zeros) = entropy(data);
}

fn note_result(entry: &mut Entry, done: io::Result<()>) {
    if let Err(error) = done {
        entry.errno = error.raw_os_error().unwrap_or(libc::EIO) as u16;
        entry.moved = 0;
    }
}

impl Filesystem for Device {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in [InitFlags::FUSE_ASYNC_DIO, InitFlags::FUSE_MAX_PAGES] {
            let _ = config.add_capabilities(wanted); // older kernels do without
        }
        let _ = config.set_max_write(MOST_BYTES);
        let _ = config.set_max_background(u16::MAX);
        let _ = config.set_congestion_threshold(u16::MAX);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = NAMES.iter().find(|(one, _)| name == *one);
        match found {
            Some((_, ino)) if parent == INodeNo::ROOT && !(*ino == DISK && self.vanished()) => {
                reply.entry(&TTL, &self.attr(*ino), Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attr(ino));
    }

    /// Times and modes may be set, without effect; the size is the script's.
    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let attr = self.attr(ino);
        match size {
            Some(size) if ino == DISK && size != attr.size => reply.error(Errno::EPERM),
            _ => reply.attr(&TTL, &attr),
        }
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if ino == DISK && self.vanished() {
            return reply.error(Errno::ENXIO);
        }
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino != DISK {
            return reply.data(b"");
        }
        let mut io = self.arrive(req, Kind::Read, offset, size.into(), false);
        let mut data = Vec::new();
        if io.entry.errno == 0 {
            match self.store.read(offset, cut_short(size as usize, &io.fate)) {
                Ok(read) => data = read,
                Err(error) => note_result(&mut io.entry, Err(error)),
            }
        }
        if io.fate.corrupt && !data.is_empty() {
            let middle = data.len() / 2;
            data[middle] ^= 1;
        }
        note_data(&mut io.entry, &data);
        self.answer(io, move |done| match done {
            Ok(_) => reply.data(&data),
            Err(errno) => reply.error(errno),
        });
    }

    fn write(
        &self,
        req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino != DISK {
            return match self.command(data) {
                Ok(()) => reply.written(data.len() as u32),
                Err(errno) => reply.error(errno),
            };
        }
        let fua = flags.0 & libc::O_DSYNC != 0;
        let mut io = self.arrive(req, Kind::Write, offset, data.len() as u64, fua);
        if io.entry.errno == 0 {
            let part = &data[..cut_short(data.len(), &io.fate)];
            note_data(&mut io.entry, part);
            note_result(&mut io.entry, self.store.write(offset, part, fua));
        }
        self.answer(io, move |done| match done {
            Ok(moved) => reply.written(moved),
            Err(errno) => reply.error(errno),
        });
    }

    /// Each close of the file; nothing that a device sees.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, req: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if ino != DISK {
            return reply.ok();
        }
        let io = self.arrive(req, Kind::Flush, 0, 0, false);
        if io.entry.errno == 0 {
            self.store.flush();
        }
        self.answer(io, move |done| empty(reply, done));
    }

    fn fallocate(
        &self,
        req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let discards = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if ino != DISK || mode & discards == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let mut io = self.arrive(req, Kind::Discard, offset, length, false);
        if io.entry.errno == 0 {
            io.entry.moved = io.entry.size;
            note_result(&mut io.entry, self.store.discard(offset, length));
        }
        self.answer(io, move |done| empty(reply, done));
    }

    fn readdir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let own = [(".", INodeNo::ROOT), ("..", INodeNo::ROOT)];
        let all = own.iter().chain(&NAMES).enumerate();
        for (place, (name, ino)) in all.skip(offset as usize) {
            if reply.add(*ino, place as u64 + 1, self.attr(*ino).kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn empty(reply: ReplyEmpty, done: Result<u32, Errno>) {
    match done {
        Ok(_) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}
