//! The data of writes: random, zero or partly compressible.
//!
//! Each write gets a keystream of its own. A buffer that was filled once and changed in
//! a few bytes would do against deduplication of whole blocks, but not against a
//! compressor whose window reaches an earlier write of the same buffer.

use crate::job::{Data, DataKind};
use crate::target::keystream;

const CHUNK_BYTES: usize = 4096;

pub struct Filler {
    rng: fastrand::Rng,
    chunk_bytes: usize,
    /// The incompressible bytes at the start of each chunk; zeros follow.
    random_bytes: usize,
}

impl Filler {
    /// `smallest_bytes`: a chunk of 4 KiB would not show its share in a smaller I/O.
    pub fn new(data: &Data, smallest_bytes: u64, rng: fastrand::Rng) -> Self {
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
        }
    }

    /// Makes the data of one write. What is to be zeros is never written: the memory
    /// of a slot is zeros at first.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        if self.random_bytes == self.chunk_bytes {
            return keystream::fill(buffer, &mut self.rng);
        }
        if self.random_bytes > 0 {
            self.fill_chunks(buffer);
        }
    }

    #[inline(never)]
    fn fill_chunks(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(self.chunk_bytes) {
            let random_bytes = self.random_bytes.min(chunk.len());
            keystream::fill(&mut chunk[..random_bytes], &mut self.rng);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn written(kind: DataKind, percent: f64, blocks: usize) -> Vec<u8> {
        let rng = fastrand::Rng::with_seed(1);
        let mut filler = Filler::new(&Data { kind, percent }, 4096, rng);
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
        let data = written(DataKind::Random, 0.0, 64);
        assert!(compressed_share(&data) > 0.99);
        let sectors: HashSet<&[u8]> = data.chunks(512).collect();
        assert_eq!(sectors.len(), data.len() / 512);
    }

    #[test]
    fn zeros_are_zeros() {
        assert!(
            written(DataKind::Zeros, 0.0, 2)
                .iter()
                .all(|&byte| byte == 0)
        );
    }

    #[test]
    fn compressible_data_compresses_by_its_share() {
        for percent in [25.0, 50.0, 80.0] {
            let data = written(DataKind::Compressible, percent, 1);
            let share = compressed_share(&data);
            assert!((share - (1.0 - percent / 100.0)).abs() < 0.02, "{share}");
            for chunk in data.chunks(4096) {
                let zeros = chunk.iter().rev().take_while(|&&byte| byte == 0).count();
                assert!(zeros.abs_diff((40.96 * percent) as usize) < 8);
            }
        }
    }
}
