//! A random order of 0..count that needs no memory.
//!
//! On the next power of two, each round is a bijection: multiply by an odd number
//! and add (mod 2^bits), then xor with itself shifted right. What falls outside
//! `count` is put in again until it falls inside (cycle walking: Black and Rogaway,
//! Ciphers with arbitrary finite domains, 2002), fewer than two times on average.

use crate::pattern::seed::mix;

const ROUNDS: usize = 4;

#[derive(Debug, Clone)]
pub struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    pub fn new(count: u64, seed: u64) -> Self {
        assert!(count > 0 && count <= 1 << 62);
        let bits = count.next_power_of_two().trailing_zeros().max(1);
        let key = |round: usize| {
            let odd = mix(seed ^ mix(2 * round as u64)) | 1;
            (odd, mix(seed ^ mix(2 * round as u64 + 1)))
        };
        Self {
            count,
            mask: (1 << bits) - 1,
            shift: (bits / 2).max(1),
            keys: std::array::from_fn(key),
        }
    }

    #[inline]
    pub fn at(&self, position: u64) -> u64 {
        debug_assert!(position < self.count);
        let mut value = self.scramble(position);
        while value >= self.count {
            value = self.scramble(value);
        }
        value
    }

    #[inline]
    fn scramble(&self, value: u64) -> u64 {
        self.keys.iter().fold(value, |value, (odd, add)| {
            let value = value.wrapping_mul(*odd).wrapping_add(*add) & self.mask;
            value ^ (value >> self.shift)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_once() {
        for count in [1, 2, 3, 5, 64, 65, 1000, 65_537] {
            let permutation = Permutation::new(count, count * 7);
            let mut seen = vec![false; count as usize];
            for position in 0..count {
                let value = permutation.at(position) as usize;
                assert!(!std::mem::replace(&mut seen[value], true));
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let count = 100_000;
        let permutation = Permutation::new(count, 1);
        let near = (1..count)
            .filter(|&at| permutation.at(at).abs_diff(permutation.at(at - 1)) < count / 100)
            .count();
        // By chance, 2 % of all pairs are that near.
        assert!(near < 4_000, "{near} of {count} neighbours stay near");
    }

    #[test]
    fn seeds_give_different_orders() {
        let (one, two) = (Permutation::new(1000, 1), Permutation::new(1000, 2));
        let same = (0..1000).filter(|&at| one.at(at) == two.at(at)).count();
        assert!(same < 20);
    }
}
