//! Verifiers without an engine around them.

mod cost;
mod cuts;
mod damage;

use std::sync::Arc;

use super::Verifier;
use super::judge::Fault;
use crate::job::Job;
use crate::pattern::sizes::Direction;
use crate::target::stamps::Stamps;

/// In the file, if there is one.
fn verifier(file: Option<&str>) -> Verifier {
    promising(file, false)
}

/// Of a stream with FUA, or else with flushes.
fn promising(file: Option<&str>, fua: bool) -> Verifier {
    let more = serde_json::json!({"fua": fua, "sync_every": 9});
    verifier_of(file, more)
}

/// Of a stream of which so much more is said.
fn verifier_of(file: Option<&str>, more: serde_json::Value) -> Verifier {
    let mut stream = serde_json::json!({
        "pattern": "random", "read_percent": 100.0, "read_sizes": [], "write_sizes": [],
        "region_start_bytes": 0, "region_end_bytes": 0});
    let (all, more) = (stream.as_object_mut(), more.as_object().cloned());
    all.expect("a stream").extend(more.unwrap_or_default());
    let job = serde_json::json!({
        "target": "/dev/zero", "capacity_bytes": 4 << 20, "block_bytes": 512,
        "stamps": file, "streams": [stream]});
    let job: Job = serde_json::from_value(job).expect("a job");
    let stamps = Arc::new(Stamps::open(&job).expect("a map"));
    Verifier::new(512, stamps, &job.streams[0], false)
}

fn write(verifier: &mut Verifier, offset_bytes: u64) -> Vec<u8> {
    let mut buffer: Vec<u8> = (0..4096).map(|_| fastrand::u8(..)).collect();
    verifier.stamp(offset_bytes, &mut buffer);
    verifier.complete(Direction::Write, offset_bytes, 4096, true, None);
    buffer
}

fn faults(verifier: &Verifier, offset_bytes: u64, data: &[u8]) -> Vec<Fault> {
    let found = verifier.check(offset_bytes, data).mismatches;
    found.iter().map(|one| one.fault).collect()
}
