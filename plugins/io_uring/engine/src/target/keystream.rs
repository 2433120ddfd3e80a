//! Incompressible bytes at the speed of memory: two AES rounds over a counter, with the
//! widest instructions that the processor has.
//!
//! This is not cryptography: the data must not compress, but may be guessed. Two rounds mix each byte of the counter into the whole block.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Bytes of one step of the widest variant; the others use the same steps.
const STEP_BYTES: usize = 256;

/// Fills the buffer with bytes that differ at each call.
pub fn fill(buffer: &mut [u8], rng: &mut fastrand::Rng) {
    let key = [rng.u64(..), rng.u64(..)];
    let whole = buffer.len() / STEP_BYTES * STEP_BYTES;
    let (steps, rest) = buffer.split_at_mut(whole);
    fill_steps(steps, key, rng);
    if !rest.is_empty() {
        rng.fill(rest);
    }
}

#[cfg(target_arch = "x86_64")]
fn fill_steps(buffer: &mut [u8], key: [u64; 2], rng: &mut fastrand::Rng) {
    #[cfg(avx512)]
    if is_x86_feature_detected!("vaes") && is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has what the function needs.
        return unsafe { fill_vaes(buffer, key) };
    }
    if is_x86_feature_detected!("aes") {
        // SAFETY: as above.
        unsafe { fill_aes(buffer, key) }
    } else {
        rng.fill(buffer);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fill_steps(buffer: &mut [u8], _: [u64; 2], rng: &mut fastrand::Rng) {
    rng.fill(buffer);
}

/// Each 64-bit half of a block counts in steps of its own, odd and with bits everywhere, so that
/// every byte changes from block to block and none comes twice (Weyl 1916).
#[cfg(target_arch = "x86_64")]
const STEPS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// Half `half` of the block that is `blocks` after the key's.
#[cfg(target_arch = "x86_64")]
fn counter(key: [u64; 2], blocks: u64, half: usize) -> i64 {
    key[half].wrapping_add(STEPS[half].wrapping_mul(blocks)) as i64
}

#[cfg(target_arch = "x86_64")]
fn block(key: [u64; 2], blocks: u64) -> __m128i {
    // SAFETY: SSE2 is part of the x86-64 baseline.
    #[allow(unused_unsafe)] // newer compilers know that it is safe
    unsafe {
        _mm_set_epi64x(counter(key, blocks, 1), counter(key, blocks, 0))
    }
}

/// Four times 64 bytes at once.
#[cfg(all(target_arch = "x86_64", avx512))]
#[allow(clippy::incompatible_msrv)] // it is compiled by compilers that have it, see build.rs
#[target_feature(enable = "vaes,avx512f")]
fn fill_vaes(buffer: &mut [u8], key: [u64; 2]) {
    let round_key = _mm512_broadcast_i32x4(block(key, 0));
    // The distances to the key are constants: what a call computes is four additions.
    let four = |first: u64| {
        let half = |blocks, half| counter([0, 0], first + blocks, half);
        let distances = _mm512_set_epi64(
            half(3, 1),
            half(3, 0),
            half(2, 1),
            half(2, 0),
            half(1, 1),
            half(1, 0),
            half(0, 1),
            half(0, 0),
        );
        _mm512_add_epi64(round_key, distances)
    };
    let (mut a, mut b, mut c, mut d) = (four(0), four(4), four(8), four(12));
    let step = _mm512_broadcast_i32x4(block([0, 0], 16));
    let mix = |value| _mm512_aesenc_epi128(_mm512_aesenc_epi128(value, round_key), round_key);
    for chunk in buffer.chunks_exact_mut(STEP_BYTES) {
        let at: *mut __m512i = chunk.as_mut_ptr().cast();
        // SAFETY: the chunk has four times 64 bytes; the store needs no alignment.
        unsafe {
            _mm512_storeu_si512(at, mix(a));
            _mm512_storeu_si512(at.add(1), mix(b));
            _mm512_storeu_si512(at.add(2), mix(c));
            _mm512_storeu_si512(at.add(3), mix(d));
        }
        a = _mm512_add_epi64(a, step);
        b = _mm512_add_epi64(b, step);
        c = _mm512_add_epi64(c, step);
        d = _mm512_add_epi64(d, step);
    }
}

/// Eight times 16 bytes at once, twice a step.
///
/// # Safety
///
/// The processor has AES-NI.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes,sse2")]
unsafe fn fill_aes(buffer: &mut [u8], key: [u64; 2]) {
    let round_key = block(key, 0);
    let mut counters: [__m128i; 8] = std::array::from_fn(|at| block(key, at as u64));
    let step = block([0, 0], 8);
    for chunk in buffer.chunks_exact_mut(STEP_BYTES / 2) {
        let at: *mut __m128i = chunk.as_mut_ptr().cast();
        for (lane, counter) in counters.iter_mut().enumerate() {
            // SAFETY: the chunk has eight times 16 bytes; the store needs no alignment.
            unsafe {
                let mixed = _mm_aesenc_si128(*counter, round_key);
                let mixed = _mm_aesenc_si128(mixed, round_key);
                _mm_storeu_si128(at.add(lane), mixed);
                *counter = _mm_add_epi64(*counter, step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    type Way = fn(&mut [u8], [u64; 2]);

    fn ways() -> Vec<(&'static str, Way)> {
        let mut ways: Vec<(&'static str, Way)> = vec![("any", |buffer, key| {
            fill(buffer, &mut fastrand::Rng::with_seed(key[0]));
        })];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("aes") {
                // SAFETY: the processor has it.
                ways.push(("aes", |buffer, key| unsafe { fill_aes(buffer, key) }));
            }
            #[cfg(avx512)]
            if is_x86_feature_detected!("vaes") && is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has it.
                ways.push(("vaes", |buffer, key| unsafe { fill_vaes(buffer, key) }));
            }
        }
        ways
    }

    #[test]
    fn no_way_makes_data_that_compresses_or_repeats() {
        for (name, way) in ways() {
            let mut data = vec![0; 1 << 20];
            way(&mut data, [1, 2]);
            let small = miniz_oxide::deflate::compress_to_vec(&data, 6);
            assert!(small.len() as f64 > 0.999 * data.len() as f64, "{name}");
            let blocks: HashSet<&[u8]> = data.chunks(16).collect();
            assert_eq!(blocks.len(), data.len() / 16, "{name}");
            let ones: u64 = data.iter().map(|byte| u64::from(byte.count_ones())).sum();
            // Half of 2^23 bits, and five deviations of 1448.
            assert!(ones.abs_diff(1 << 22) < 7240, "{name} {ones}");
        }
    }

    #[test]
    fn bytes_beyond_the_last_step_are_filled_as_well() {
        let mut data = vec![0; STEP_BYTES + 100];
        fill(&mut data, &mut fastrand::Rng::with_seed(1));
        assert!(data[STEP_BYTES..].iter().filter(|&&byte| byte != 0).count() > 80);
    }

    /// `cargo test --release -- --ignored --nocapture speed_of_data`
    #[test]
    #[ignore = "prints figures"]
    fn speed_of_data() {
        for (name, way) in ways() {
            let mut data = vec![0; 16 << 10];
            let before = crate::threads::conditions::Usage::now();
            (0..400_000).for_each(|number| way(std::hint::black_box(&mut data), [number, 2]));
            let spent_ns = crate::threads::conditions::Usage::now().cpu_ns - before.cpu_ns;
            let gb_per_s = 400_000.0 * data.len() as f64 / spent_ns as f64;
            println!("{name}: {gb_per_s:.1} GB/s");
        }
    }
}
