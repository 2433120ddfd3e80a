//! Failed I/Os of each stream: how many it may have, and what they were.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::job::Stream;
use crate::job::failure::errno_name;
use crate::threads::shared::lock;

/// Of one errno; the latencies are in no other figure.
#[derive(Default)]
struct Failed {
    ios: u64,
    sum_ns: u128,
    max_ns: u64,
}

struct StreamFailures {
    name: String,
    allowed: Option<u64>,
    ios: AtomicU64,
    by_errno: Mutex<BTreeMap<i32, Failed>>,
    /// Attempts that failed and were followed by another one.
    retried: Mutex<BTreeMap<i32, u64>>,
}

#[derive(Default)]
pub struct Failures(Vec<StreamFailures>);

impl Failures {
    pub fn of(streams: &[Stream]) -> Self {
        let by_stream = streams.iter().map(|stream| StreamFailures {
            name: stream.name.clone(),
            allowed: stream
                .errors_allowed
                .or(stream.errors_allowed_percent.map(|_| u64::MAX)),
            ios: AtomicU64::new(0),
            by_errno: Mutex::default(),
            retried: Mutex::default(),
        });
        Self(by_stream.collect())
    }

    /// One more failed: whether these are too many; None for a stream that allows none.
    pub fn exceeded(&self, stream: usize) -> Option<bool> {
        let of = self.0.get(stream)?;
        let ios = of.ios.fetch_add(1, Ordering::Relaxed) + 1;
        of.allowed.map(|allowed| ios > allowed)
    }

    pub fn count(&self, stream: usize, errno: i32, latency_ns: u64) {
        let Some(of) = self.0.get(stream) else {
            return;
        };
        let mut by_errno = lock(&of.by_errno);
        let failed = by_errno.entry(errno).or_default();
        failed.ios += 1;
        failed.sum_ns += u128::from(latency_ns);
        failed.max_ns = failed.max_ns.max(latency_ns);
    }

    /// One more attempt, of the warm-up as well.
    pub fn retried(&self, stream: usize, errno: i32) {
        if let Some(of) = self.0.get(stream) {
            *lock(&of.retried).entry(errno).or_default() += 1;
        }
    }

    /// By stream and errno, those of streams that had any.
    pub fn retried_facts(&self) -> Value {
        let streams = self.0.iter().filter_map(|of| {
            let retried = lock(&of.retried);
            let named = retried
                .iter()
                .map(|(errno, ios)| (errno_name(*errno), json!(ios)));
            (!retried.is_empty()).then(|| (of.name.clone(), named.collect::<Value>()))
        });
        streams.collect()
    }

    /// By stream and errno.
    pub fn facts(&self) -> Value {
        let streams = self.0.iter().map(|of| {
            let by_errno = lock(&of.by_errno);
            let named = by_errno.iter().map(|(errno, failed)| {
                let mean_ns = (failed.sum_ns / u128::from(failed.ios.max(1))) as u64;
                let figures = json!({
                    "ios": failed.ios, "mean_ns": mean_ns, "max_ns": failed.max_ns,
                });
                (errno_name(*errno), figures)
            });
            (of.name.clone(), named.collect::<Value>())
        });
        streams.collect()
    }
}
