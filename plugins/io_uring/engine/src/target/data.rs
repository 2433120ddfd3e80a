//! The data of writes: random, zero or partly compressible.
//!
//! Each write gets a keystream of its own. A buffer that was filled once and changed in
//! a few bytes would do against deduplication of whole blocks, but not against a
//! compressor whose window reaches an earlier write of the same buffer.

use crate::job::{DataKind, Stream};
use crate::target::keystream;

const CHUNK_BYTES: usize = 4096;
/// A repeated write has the data of one of so many before it.
const SEEDS_KEPT: usize = 1024;

pub struct Filler {
    rng: fastrand::Rng,
    chunk_bytes: usize,
    /// The incompressible bytes at the start of each chunk; zeros follow.
    random_bytes: usize,
    /// The share of the writes that repeat an earlier one.
    dedup: f64,
    seeds: Vec<u64>,
}

impl Filler {
    /// `smallest_bytes`: a chunk of 4 KiB would not show its share in a smaller I/O.
    pub fn new(stream: &Stream, smallest_bytes: u64, rng: fastrand::Rng) -> Self {
        let data = &stream.data;
        let chunk_bytes = CHUNK_BYTES.min(smallest_bytes as usize).max(1);
        let share = match data.kind {
            DataKind::Random => 1.0,
            DataKind::Zeros => 0.0,
            DataKind::Compressible => 1.0 - data.percent / 100.0,
        };
        Self {
            rng,
            chunk_bytes,
            random_bytes: (chunk_bytes as f64 * share).round() as usize,
            dedup: stream.dedup_percent / 100.0,
            seeds: Vec::new(),
        }
    }

    /// Makes the data of one write. What is to be zeros is never written: the memory
    /// of a slot is zeros at first.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        if self.random_bytes == 0 {
            return;
        }
        let mut rng = fastrand::Rng::with_seed(self.seed());
        if self.random_bytes == self.chunk_bytes {
            return keystream::fill(buffer, &mut rng);
        }
        self.fill_chunks(buffer, &mut rng);
    }

    #[inline(never)]
    fn fill_chunks(&self, buffer: &mut [u8], rng: &mut fastrand::Rng) {
        for chunk in buffer.chunks_mut(self.chunk_bytes) {
            let random_bytes = self.random_bytes.min(chunk.len());
            keystream::fill(&mut chunk[..random_bytes], rng);
        }
    }

    /// What the data of a write follows from: new, or that of an earlier write.
    #[inline]
    fn seed(&mut self) -> u64 {
        match self.dedup {
            0.0 => self.rng.u64(..),
            _ => self.seed_or_repeat(),
        }
    }

    #[inline(never)]
    fn seed_or_repeat(&mut self) -> u64 {
        if !self.seeds.is_empty() && self.rng.f64() < self.dedup {
            return self.seeds[self.rng.usize(..self.seeds.len())];
        }
        let seed = self.rng.u64(..);
        if self.seeds.len() < SEEDS_KEPT {
            self.seeds.push(seed);
        } else {
            self.seeds[self.rng.usize(..SEEDS_KEPT)] = seed;
        }
        seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn written(kind: &str, percent: f64, blocks: usize) -> Vec<u8> {
        fill(
            &serde_json::json!({"kind": kind, "percent": percent}),
            0.0,
            blocks,
        )
    }

    fn fill(data: &serde_json::Value, dedup_percent: f64, blocks: usize) -> Vec<u8> {
        let stream = serde_json::json!({
            "pattern": "random", "read_percent": 0.0, "read_sizes": [], "write_sizes": [],
            "region_start_bytes": 0, "region_end_bytes": 4096,
            "data": data, "dedup_percent": dedup_percent});
        let stream: Stream = serde_json::from_value(stream).expect("a stream");
        let mut filler = Filler::new(&stream, 4096, fastrand::Rng::with_seed(1));
        let mut buffer = vec![0; 65_536];
        let mut all = Vec::new();
        for _ in 0..blocks {
            filler.fill(&mut buffer);
            all.extend_from_slice(&buffer);
        }
        all
    }

    fn compressed_share(data: &[u8]) -> f64 {
        let small = miniz_oxide::deflate::compress_to_vec(data, 6);
        small.len() as f64 / data.len() as f64
    }

    #[test]
    fn random_data_neither_compresses_nor_repeats() {
        let data = written("random", 0.0, 64);
        assert!(compressed_share(&data) > 0.99);
        let sectors: HashSet<&[u8]> = data.chunks(512).collect();
        assert_eq!(sectors.len(), data.len() / 512);
    }

    #[test]
    fn zeros_are_zeros() {
        assert!(written("zeros", 0.0, 2).iter().all(|&byte| byte == 0));
    }

    #[test]
    fn compressible_data_compresses_by_its_share() {
        for percent in [25.0, 50.0, 80.0] {
            let data = written("compressible", percent, 1);
            let share = compressed_share(&data);
            assert!((share - (1.0 - percent / 100.0)).abs() < 0.02, "{share}");
            for chunk in data.chunks(4096) {
                let zeros = chunk.iter().rev().take_while(|&&byte| byte == 0).count();
                assert!(zeros.abs_diff((40.96 * percent) as usize) < 8);
            }
        }
    }

    #[test]
    fn whole_writes_are_repeated_by_their_share() {
        for data in [
            r#"{"kind":"random"}"#,
            r#"{"kind":"compressible","percent":30}"#,
        ] {
            let data = serde_json::from_str(data).expect("JSON");
            let all = fill(&data, 30.0, 2000);
            let distinct: HashSet<&[u8]> = all.chunks(65_536).collect();
            // 1400 of 2000, and five deviations of 20.
            assert!(distinct.len().abs_diff(1400) < 103, "{}", distinct.len());
            let sectors: HashSet<&[u8]> = all.chunks(4096).collect();
            assert_eq!(sectors.len(), 16 * distinct.len());
        }
    }
}
