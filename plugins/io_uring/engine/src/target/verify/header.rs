//! The stamp at the beginning of each logical block.

use crate::target::aftermath::Place;
use crate::target::stamps::GENERATION;

const MAGIC: u64 = u64::from_le_bytes(*b"ioplanVB");
pub const HEADER_BYTES: usize = 48;
const CRC_AT: usize = 40;

/// What a block says of itself.
pub struct Header {
    pub stamped: bool,
    pub offset: u64,
    pub generation: u32,
    pub key: u64,
    pub place: Place,
    pub whole: bool,
}

impl Header {
    pub fn of(block: &[u8]) -> Self {
        let [magic, offset, generation, key, write, crc] =
            [0, 1, 2, 3, 4, 5].map(|at| word(block, at));
        Self {
            stamped: magic == MAGIC,
            offset,
            generation: generation as u32 & GENERATION,
            key,
            place: Place::of(write, generation),
            whole: crc == u64::from(checksum(block)),
        }
    }
}

/// Stamps a block, with a checksum of the rest of it.
pub fn stamp(block: &mut [u8], offset: u64, generation: u32, key: u64, place: Place) {
    let generation = u64::from(generation) | place.bits();
    let header = [MAGIC, offset, generation, key, place.write];
    for (field, value) in block.chunks_exact_mut(8).zip(header) {
        field.copy_from_slice(&value.to_le_bytes());
    }
    let crc = u64::from(checksum(block));
    block[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
}

fn word(block: &[u8], index: usize) -> u64 {
    let bytes = block[8 * index..].first_chunk::<8>();
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn checksum(block: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&block[..CRC_AT]);
    crc.update(&block[HEADER_BYTES..]);
    crc.finalize()
}
