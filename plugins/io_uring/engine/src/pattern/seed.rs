//! Independent random generators, each reproducible from the job's seed.

/// What a generator is for, so that one more draw of one purpose does not shift
/// the others.
#[derive(Clone, Copy)]
pub enum Purpose {
    Operations = 1,
    Arrivals = 2,
    Scatter = 3,
    Cover = 5,
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
pub fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

pub fn derive(seed: u64, stream: usize, thread: usize, purpose: Purpose) -> u64 {
    let parts = [stream as u64, thread as u64, purpose as u64];
    parts
        .iter()
        .fold(mix(seed), |state, part| mix(state ^ part))
}

pub fn generator(seed: u64, stream: usize, thread: usize, purpose: Purpose) -> fastrand::Rng {
    fastrand::Rng::with_seed(derive(seed, stream, thread, purpose))
}

/// A whole number below `count`, by multiplication (Lemire 2019, without the
/// rejection step: the bias is below count / 2^64).
#[inline]
pub fn below(rng: &mut fastrand::Rng, count: u64) -> u64 {
    ((u128::from(rng.u64(..)) * u128::from(count)) >> 64) as u64
}
