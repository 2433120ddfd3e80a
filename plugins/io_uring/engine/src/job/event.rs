//! What the engine prints: one JSON object per line, as `ioplan.job` defines them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::job::failure::Failure;
use crate::measure::histogram::Bins;

pub type Facts = Map<String, Value>;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Started {
        protocol: u64,
        mode: &'static str,
        reason: String,
        facts: Facts,
    },
    Progress {
        t_ns: u64,
        interval_ns: u64,
        warmup: bool,
        streams: Vec<StreamReport>,
    },
    Result {
        run_ns: u64,
        stopped: bool,
        streams: Vec<StreamReport>,
        /// The counts of each stream in each phase.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        phases: BTreeMap<String, Vec<StreamReport>>,
        cpu: Cpu,
        warnings: Vec<String>,
        facts: Facts,
    },
    Failure {
        cause: &'static str,
        message: String,
    },
}

impl From<&Failure> for Event {
    fn from(failure: &Failure) -> Self {
        Self::Failure {
            cause: failure.cause.as_str(),
            message: failure.message.clone(),
        }
    }
}

#[derive(Serialize, Clone, Copy, Default)]
pub struct Cpu {
    pub user_ns: u64,
    pub system_ns: u64,
}

#[derive(Serialize)]
pub struct StreamReport {
    pub name: String,
    /// The stream's own time; only in the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_ns: Option<u64>,
    /// The longest time without a completed I/O; only in the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ns: Option<u64>,
    pub directions: BTreeMap<&'static str, CountsReport>,
    pub sync_ios: u64,
    pub backlog_ios: u64,
    pub verified_bytes: u64,
    pub verify_errors: u64,
}

#[derive(Serialize)]
pub struct CountsReport {
    pub ios: u64,
    pub bytes: u64,
    pub errors: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub sum_ns: u128,
    pub sum_sq_ns2: f64,
    #[serde(serialize_with = "flat")]
    pub bins: Bins,
}

/// Bins as one flat list: index, count, index, count…
fn flat<S: Serializer>(bins: &Bins, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(bins.iter().flat_map(|bin| [u64::from(bin.0), bin.1]))
}

/// Prints one line and flushes it. An error means that nobody reads.
pub fn emit(event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
