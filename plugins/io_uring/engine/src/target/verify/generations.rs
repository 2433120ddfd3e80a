//! Generations go in a circle: 30 bits without 0, which is none.

use crate::target::stamps::GENERATION;

/// How many generations one is before the last one.
pub fn age(last: u32, generation: u32) -> u32 {
    (last + GENERATION - generation) % GENERATION
}

pub fn back(last: u32, generations: u32) -> u32 {
    match (last + GENERATION - generations) % GENERATION {
        0 => GENERATION,
        generation => generation,
    }
}

/// The generation after another one; 0 is none.
pub fn after(generation: u32) -> u32 {
    match (generation + 1) & GENERATION {
        0 => 1,
        next => next,
    }
}

pub fn before(generation: u32) -> u32 {
    match generation - 1 {
        0 => GENERATION,
        last => last,
    }
}
