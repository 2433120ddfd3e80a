//! What a flush makes durable: the writes that had completed before it was issued.

use super::Verifier;
use super::generations::age;
use crate::target::durable::{Durable, Promise};
use crate::target::stamps::GENERATION;

/// A block, with the generation that was acknowledged.
pub type Written = (u64, u32);

/// What a flush will have made durable: the writes that completed before it was issued.
#[derive(Debug, Default)]
pub struct Flushes {
    pub wanted: bool,
    pub pending: Vec<Written>,
    pub issued: u64,
    pub in_flight: Vec<(u64, Vec<Written>)>,
}

impl Verifier {
    /// A flush is about to be issued; returns its number.
    pub fn begin_flush(&mut self) -> u64 {
        let flushes = &mut self.flushes;
        flushes.issued += 1;
        let covered = std::mem::take(&mut flushes.pending);
        flushes.in_flight.push((flushes.issued, covered));
        flushes.issued
    }

    /// What a flush that failed covers, the next one covers.
    pub fn end_flush(&mut self, number: u64, success: bool) {
        let mut flights = self.flushes.in_flight.iter();
        let Some(at) = flights.position(|(one, _)| *one == number) else {
            return;
        };
        let (_, covered) = self.flushes.in_flight.swap_remove(at);
        if !success {
            return self.flushes.pending.extend(covered);
        }
        for (block, generation) in &covered {
            self.flushed(*block, *generation);
        }
    }

    /// A later generation may have been written meanwhile, or made durable.
    fn flushed(&self, block: u64, generation: u32) {
        let last = self.stamps.get(block) & GENERATION;
        if last == 0 {
            return;
        }
        let distance = age(last, generation);
        let known = self.stamps.durable(block).distance;
        if known.is_none_or(|known| distance < known) {
            let durable = Durable::last(Promise::Flush, self.stamps.epoch());
            let distance = Some(distance);
            let log = self.is_log;
            let durable = Durable {
                distance,
                log,
                ..durable
            };
            self.stamps.set_durable(block, durable);
            self.stamps.set_issued(block);
        }
    }
}
