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
            stamped: (magic ^ MAGIC).count_ones() <= 1, // the checksum tells of a flipped bit
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

/// Whether one flipped bit is all that is wrong with a block: any other damage has that
/// difference of checksums once in 100,000 times.
pub fn is_flipped(block: &[u8]) -> bool {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let difference = word(block, CRC_AT / 8) ^ u64::from(checksum(block));
    let bits = 8 * (block.len() - (HEADER_BYTES - CRC_AT));
    let later = |of: &u32| Some((of >> 1) ^ (POLYNOMIAL * (of & 1)));
    let mut each = std::iter::successors(Some(POLYNOMIAL), later).take(bits);
    difference.count_ones() == 1 || each.any(|one| u64::from(one) == difference)
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
