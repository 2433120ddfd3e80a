//! The data of writes: random, zero or partly compressible.
//!
//! A slot's buffer is filled once with random bytes. Before each write, a fresh
//! random word goes into every 512 bytes, so that no two sectors ever written are
//! equal (deduplication finds nothing) while the rest stays incompressible.

use crate::job::{Data, DataKind};
use crate::target::keystream;

const SECTOR_BYTES: usize = 512;
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

    /// Fills a slot's buffer at the start of the run.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let random_bytes = self.random_bytes;
        for chunk in buffer.chunks_mut(self.chunk_bytes) {
            let (random, zeros) = chunk.split_at_mut(random_bytes.min(chunk.len()));
            keystream::fill(random, &mut self.rng);
            zeros.fill(0);
        }
    }

    /// Makes every sector of a write differ from all others.
    #[inline]
    pub fn refresh(&mut self, buffer: &mut [u8]) {
        if self.random_bytes < 8 {
            return;
        }
        for chunk in buffer.chunks_mut(self.chunk_bytes) {
            let end = self.random_bytes.min(chunk.len());
            for sector in chunk[..end].chunks_mut(SECTOR_BYTES) {
                if let Some(word) = sector.first_chunk_mut::<8>() {
                    *word = self.rng.u64(..).to_le_bytes();
                }
            }
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
        filler.fill(&mut buffer);
        let mut all = Vec::new();
        for _ in 0..blocks {
            filler.refresh(&mut buffer);
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
        assert!(compressed_share(&data[..65_536]) > 0.99);
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
