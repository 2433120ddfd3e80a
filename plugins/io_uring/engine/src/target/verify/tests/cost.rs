//! What it costs to remember what was promised of each block.

use super::verifier_of;
use crate::pattern::sizes::Direction;
use crate::target::verify::Verifier;
use crate::threads::conditions::thread_cpu_ns;

const BLOCK_BYTES: u64 = 4096;
const WRITES: u64 = 20_000;
const FLUSH_EVERY: u64 = 64;
const ROUNDS: usize = 25;

/// CPU time of this thread for a write of 4 KiB: stamped, and acknowledged.
fn write_ns(verifier: &mut Verifier, flushes: bool) -> f64 {
    let mut buffer = vec![0xa5; BLOCK_BYTES as usize];
    let begun_ns = thread_cpu_ns();
    for number in 0..WRITES {
        let offset_bytes = number * 7919 % 1024 * BLOCK_BYTES;
        verifier.stamp(offset_bytes, &mut buffer);
        verifier.complete(Direction::Write, offset_bytes, BLOCK_BYTES, true, None);
        if flushes && number % FLUSH_EVERY == 0 {
            let flush = verifier.begin_flush();
            verifier.end_flush(flush, true);
        }
    }
    (thread_cpu_ns() - begun_ns) as f64 / WRITES as f64
}

#[test]
#[ignore = "a measurement, see docs/durability.md"]
fn cost_of_promises() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("map");
    let mut without = verifier_of(None, serde_json::json!({}));
    let mut with = verifier_of(
        path.to_str(),
        serde_json::json!({"sync_every": FLUSH_EVERY}),
    );
    let mut pairs: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| (write_ns(&mut without, false), write_ns(&mut with, true)))
        .collect();
    pairs.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    let ratio = |at: usize| pairs[at].1 / pairs[at].0;
    println!(
        "{:.0} ns with promises, {:.0} ns without: {:.2} ({:.2} to {:.2}, the middle half)",
        pairs[ROUNDS / 2].1,
        pairs[ROUNDS / 2].0,
        ratio(ROUNDS / 2),
        ratio(ROUNDS / 4),
        ratio(3 * ROUNDS / 4),
    );
}
