//! Each I/O that arrived, as 64 bytes in a file: read by `ioplan_witness/log.py`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::script::Kind;

pub const MAGIC: &[u8; 16] = b"ioplan-device 1\n";
const KEPT_BYTES: usize = 1 << 16;
/// So much of an I/O is looked at for its entropy: whole sectors, evenly spaced.
const SAMPLED_BYTES: usize = 16 << 10;
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
pub struct Entry {
    pub arrived_ns: u64,
    pub done_ns: u64,
    /// When it was to be done, by the script.
    pub due_ns: u64,
    pub offset: u64,
    pub digest: u64,
    pub size: u32,
    pub moved: u32,
    pub thread: u32,
    pub depth: u16,
    pub errno: u16,
    /// Bits of a byte of the data, times 256.
    pub entropy: u16,
    /// Parts in 65,535.
    pub zeros: u16,
    pub kind: Kind,
    pub fua: bool,
}

impl Entry {
    fn bytes(&self) -> [u8; 64] {
        let mut out = [0; 64];
        let wide = [
            self.arrived_ns,
            self.done_ns,
            self.due_ns,
            self.offset,
            self.digest,
        ];
        for (place, value) in out.chunks_exact_mut(8).zip(wide) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let middle = [self.size, self.moved, self.thread];
        for (place, value) in out[40..52].chunks_exact_mut(4).zip(middle) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let narrow = [self.depth, self.errno, self.entropy, self.zeros];
        for (place, value) in out[52..60].chunks_exact_mut(2).zip(narrow) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        out[60] = self.kind as u8;
        out[61] = u8::from(self.fua);
        out
    }
}

#[derive(Debug)]
pub struct Log {
    kept: Mutex<(File, Vec<u8>)>,
    threads: Mutex<HashMap<u32, u32>>,
}

impl Log {
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(MAGIC)?;
        Ok(Log {
            kept: Mutex::new((file, Vec::with_capacity(KEPT_BYTES))),
            threads: Mutex::default(),
        })
    }

    pub fn add(&self, entry: &Entry) {
        let mut kept = self.kept.lock().unwrap();
        kept.1.extend_from_slice(&entry.bytes());
        if kept.1.len() >= KEPT_BYTES {
            write_out(&mut kept);
        }
    }

    pub fn flush(&self) {
        write_out(&mut self.kept.lock().unwrap());
    }

    /// The thread that asked: io_uring's kernel threads are named by whom they work for.
    pub fn asking_thread(&self, thread: u32) -> u32 {
        *self
            .threads
            .lock()
            .unwrap()
            .entry(thread)
            .or_insert_with(|| {
                let name = fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
                let asking = name.trim().strip_prefix("iou-wrk-");
                asking.and_then(|id| id.parse().ok()).unwrap_or(thread)
            })
    }
}

/// A full disk ends the log, and not the device.
fn write_out((file, bytes): &mut (File, Vec<u8>)) {
    if let Err(error) = file.write_all(bytes) {
        eprintln!("the log cannot be written: {error}");
    }
    bytes.clear();
}

/// Of equal data within one log equal.
pub fn digest(data: &[u8]) -> u64 {
    #[allow(deprecated)] // DefaultHasher may change; this one is what it says
    let mut hasher = std::hash::SipHasher::new();
    hasher.write(data);
    hasher.finish()
}

/// Entropy and zeros of a sample, in the units of an `Entry`.
pub fn entropy(data: &[u8]) -> (u16, u16) {
    let sectors = data.len().div_ceil(SECTOR_BYTES);
    let step = sectors.div_ceil(SAMPLED_BYTES / SECTOR_BYTES).max(1);
    let mut counts = [0u32; 256];
    for sector in data.chunks(SECTOR_BYTES).step_by(step) {
        for byte in sector {
            counts[usize::from(*byte)] += 1;
        }
    }
    let total = f64::from(counts.iter().sum::<u32>()).max(1.0);
    let shares = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total);
    let bits: f64 = shares.map(|share| -share * share.log2()).sum();
    (
        (bits * 256.0) as u16,
        (f64::from(counts[0]) / total * 65535.0) as u16,
    )
}
