//! The data, and which of it would survive a loss of power.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::script::{Cache, Script};

/// Reads see each write at once; `cut` takes back what was in the volatile cache.
#[derive(Debug)]
pub struct Store {
    file: File,
    pub size_bytes: u64,
    cache: Cache,
    seed: u64,
    volatile: Mutex<Volatile>,
}

/// What is there keeps its size, and with it all that is in it.
fn backing(path: &str, size_bytes: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false);
    let file = file.open(path)?;
    let known = file.metadata()?;
    if known.is_file() && [0, size_bytes].contains(&known.len()) {
        return Ok(file);
    }
    Err(io::Error::other(format!(
        "the backing {path} exists, and is no file of {size_bytes} B: name another one, \
         or remove it"
    )))
}

/// Writes since the last flush that counted, the oldest first.
#[derive(Debug, Default)]
struct Volatile {
    writes: VecDeque<Written>,
    bytes: u64,
    cuts: u64,
}

#[derive(Debug)]
struct Written {
    offset: u64,
    before: Vec<u8>,
    after: Vec<u8>,
    /// Past the cache from then on: it survives.
    durable: Option<Instant>,
}

impl Written {
    fn is_durable(&self, now: Instant) -> bool {
        self.durable.is_some_and(|from| from <= now)
    }
}

impl Store {
    pub fn new(script: &Script) -> io::Result<Self> {
        let file = match &script.backing {
            Some(path) => backing(path, script.size_bytes)?,
            None => memory()?,
        };
        file.set_len(script.size_bytes)?;
        Ok(Store {
            file,
            size_bytes: script.size_bytes,
            cache: script.cache.clone(),
            seed: script.seed,
            volatile: Mutex::default(),
        })
    }

    /// Fewer bytes than asked at the end of the data.
    pub fn read(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let left = self.size_bytes.saturating_sub(offset);
        let mut data = vec![0; size.min(left as usize)];
        self.file.read_exact_at(&mut data, offset)?;
        Ok(data)
    }

    pub fn write(&self, offset: u64, data: &[u8], fua: bool) -> io::Result<()> {
        if offset + data.len() as u64 > self.size_bytes {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        if !self.cache.volatile {
            return self.file.write_all_at(data, offset);
        }
        let mut volatile = self.volatile.lock().unwrap();
        let before = self.read(offset, data.len())?;
        self.file.write_all_at(data, offset)?;
        let durable = self.cache.capacitor || (fua && !self.cache.fua_ignored);
        volatile.push(Written {
            offset,
            before,
            after: data.to_vec(),
            durable: durable.then(Instant::now),
        });
        volatile.destage(self.cache.size_bytes);
        Ok(())
    }

    pub fn discard(&self, offset: u64, size: u64) -> io::Result<()> {
        let size = size.min(self.size_bytes.saturating_sub(offset));
        if self.cache.volatile {
            return self.write(offset, &vec![0; size as usize], false);
        }
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a system call on an open file.
        let done =
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as i64, size as i64) };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    pub fn flush(&self) {
        if !self.cache.flush_lies {
            let mut volatile = self.volatile.lock().unwrap();
            volatile.flush(Duration::from_nanos(self.cache.flush_delay_ns));
        }
    }

    /// Lose the volatile cache; returns how many writes were lost or torn.
    pub fn cut(&self) -> io::Result<u64> {
        let mut volatile = self.volatile.lock().unwrap();
        volatile.cuts += 1;
        volatile.bytes = 0;
        let mut rng = Rng::with_seed(self.seed.wrapping_add(volatile.cuts));
        let writes = std::mem::take(&mut volatile.writes);
        for one in writes.iter().rev() {
            self.file.write_all_at(&one.before, one.offset)?;
        }
        let mut lost = 0;
        let now = Instant::now();
        for one in &writes {
            let kept = match one.is_durable(now) {
                true => one.after.len(),
                false => self.kept_bytes(one, &mut rng),
            };
            self.file.write_all_at(&one.after[..kept], one.offset)?;
            lost += u64::from(kept < one.after.len());
        }
        Ok(lost)
    }

    /// How much of a write had reached the medium, by chance.
    fn kept_bytes(&self, one: &Written, rng: &mut Rng) -> usize {
        let size = one.after.len();
        if self.cache.reordered && rng.bool() {
            return size;
        }
        match self.cache.torn_bytes {
            Some(unit) => (rng.u64(0..=size as u64 / unit) * unit) as usize,
            None => 0,
        }
    }
}

impl Volatile {
    fn push(&mut self, written: Written) {
        self.bytes += written.after.len() as u64;
        self.writes.push_back(written);
    }

    /// What is there is kept, now or after a while.
    fn flush(&mut self, delay: Duration) {
        let now = Instant::now();
        for one in &mut self.writes {
            one.durable.get_or_insert(now + delay);
        }
        while self.writes.front().is_some_and(|one| one.is_durable(now)) {
            self.pop();
        }
    }

    fn pop(&mut self) -> Option<()> {
        let oldest = self.writes.pop_front()?;
        self.bytes -= oldest.after.len() as u64;
        Some(())
    }

    /// What is beyond the cache's size has reached the medium.
    fn destage(&mut self, most_bytes: u64) {
        while self.bytes > most_bytes && self.pop().is_some() {}
    }
}

fn memory() -> io::Result<File> {
    // SAFETY: the name is a constant; the descriptor is new, and nobody else's.
    unsafe {
        match libc::memfd_create(c"ioplan-device".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}
