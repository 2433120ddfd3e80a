//! `probe`: what this machine and a target support. Reads one block and writes nothing.

use serde_json::json;

use crate::job::event::Facts;
use crate::job::failure::{Cause, Failure};
use crate::job::record::VERSION;
use crate::measure::clock::Reading;
use crate::ring;
use crate::target::buffers::Buffers;
use crate::target::{self, Target};

const READ_BYTES: u64 = 4096;

pub fn probe(path: &str) -> Result<Facts, Failure> {
    let mut facts = Facts::new();
    let reason = ring::unusable_reason();
    facts.insert("version".into(), json!(VERSION));
    facts.insert("io_uring".into(), json!(reason.is_none()));
    facts.insert("io_uring_reason".into(), json!(reason.unwrap_or_default()));
    if let Some(reading) = Reading::for_later() {
        facts.insert("clock".into(), json!(reading));
    }
    facts.insert("path".into(), json!(path));
    let (target, direct) = match Target::open(path, false) {
        Ok(target) => {
            let direct = target.direct && reads(&target)?;
            (target, direct)
        }
        Err(failure) if failure.cause == Cause::NoDirectIo => (Target::open_buffered(path)?, false),
        Err(failure) => return Err(failure),
    };
    facts.insert("kind".into(), json!(target.kind.name()));
    facts.insert("size_bytes".into(), json!(target.size_bytes));
    facts.insert("block_bytes".into(), json!(target.block_bytes));
    facts.insert("direct".into(), json!(direct));
    facts.insert("nowait".into(), json!(target.nowait()));
    Ok(facts)
}

/// Whether a direct read works; an empty target has nothing to read.
fn reads(target: &Target) -> Result<bool, Failure> {
    let length_bytes = READ_BYTES.max(target.block_bytes);
    let mut buffers = Buffers::new(1, length_bytes)?;
    let result = target::read_at(target.fd(), buffers.slice(0, length_bytes), 0);
    Ok(result >= 0 || -result != i64::from(libc::EINVAL))
}
