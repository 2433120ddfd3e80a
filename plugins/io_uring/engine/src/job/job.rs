//! The job: one run as it is requested, the JSON form of `ioplan.job.Job`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::job::protocol::PROTOCOL;

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    #[serde(default = "default_protocol", rename = "protocol")]
    pub _protocol: u64,
    pub target: String,
    /// Where there are several, instead of `target`; streams say theirs by number.
    #[serde(default)]
    pub targets: Vec<JobTarget>,
    pub capacity_bytes: u64,
    pub block_bytes: u64,
    pub streams: Vec<Stream>,
    /// Parts of the run that have counts of their own.
    #[serde(default)]
    pub phases: Vec<Phase>,
    #[serde(default)]
    pub warmup_ns: u64,
    #[serde(default)]
    pub run_ns: Option<u64>,
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    #[serde(default)]
    pub passes: Option<f64>,
    #[serde(default = "default_interval_ns")]
    pub interval_ns: u64,
    #[serde(default = "default_seed")]
    pub seed: u64,
    #[serde(default = "default_true")]
    pub read_only: bool,
    #[serde(default)]
    pub mode: Mode,
    /// Once all threads are ready, wait for the line on stdin that gives the start time.
    #[serde(default)]
    pub await_start: bool,
    /// Those that the threads may have, the best first; none means the allowed ones.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Poll for completions instead of waiting for interrupts (IOPOLL).
    #[serde(default)]
    pub polled: bool,
    /// Send NVMe commands that bypass the block layer.
    #[serde(default)]
    pub passthrough: bool,
    /// The file that remembers what was written with `verify`.
    #[serde(default)]
    pub stamps: Option<String>,
    /// The files of the traces that streams replay, by their digests.
    #[serde(default)]
    pub traces: BTreeMap<String, String>,
    /// Where the threads keep what they issue: what their files' names begin with.
    #[serde(default)]
    pub keep: Option<String>,
}

impl Job {
    pub fn verifies(&self) -> bool {
        self.streams.iter().any(|stream| stream.verify)
    }

    /// The paths of all targets.
    pub fn paths(&self) -> Vec<String> {
        match self.targets.is_empty() {
            true => vec![self.target.clone()],
            false => self.targets.iter().map(|one| one.path.clone()).collect(),
        }
    }

    /// The part of a target: its streams.
    pub fn on(&self, target: usize, path: &str) -> Self {
        let mut part = Self {
            target: path.to_owned(),
            ..self.clone()
        };
        part.streams.retain(|one| one.targets().contains(&target));
        part
    }

    /// The stream that a stream follows.
    pub fn log_of(&self, stream: usize) -> Option<usize> {
        let log = self.streams[stream].follows.as_ref()?;
        self.streams.iter().position(|one| one.name == *log)
    }

    pub fn is_followed(&self, stream: usize) -> bool {
        let name = &self.streams[stream].name;
        let mut others = self.streams.iter();
        others.any(|one| one.follows.as_ref() == Some(name))
    }

    /// How many threads its streams have.
    pub fn lanes(&self) -> usize {
        self.streams.iter().map(Stream::lanes).sum()
    }
}

/// One of several targets of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobTarget {
    pub name: String,
    pub path: String,
}

/// A part of the measured time: `length_ns` from `start_ns` on, and again `every_ns`, all
/// before `end_ns`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub name: String,
    pub start_ns: u64,
    pub length_ns: u64,
    #[serde(default)]
    pub every_ns: Option<u64>,
    #[serde(default)]
    pub end_ns: Option<u64>,
}

fn default_protocol() -> u64 {
    PROTOCOL
}

fn default_interval_ns() -> u64 {
    SECOND_NS
}

fn default_seed() -> u64 {
    1
}

fn default_true() -> bool {
    true
}

fn default_one() -> usize {
    1
}

fn default_percent() -> f64 {
    100.0
}

fn default_speed() -> f64 {
    1.0
}

fn default_pause_every() -> u64 {
    1
}

fn default_name() -> String {
    "main".to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Auto,
    IoUring,
    Sync,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    #[serde(default = "default_name")]
    pub name: String,
    pub pattern: Pattern,
    pub read_percent: f64,
    #[serde(default)]
    pub trim_percent: f64,
    pub read_sizes: Vec<SizeShare>,
    pub write_sizes: Vec<SizeShare>,
    /// Random I/O of one size visits each block once before any again.
    #[serde(default)]
    pub permuted: bool,
    /// Random writes of one pass over flash that is so much more than the capacity.
    #[serde(default)]
    pub spare_percent: Option<f64>,
    /// Share of the I/Os of a random stream that are drawn; each of the rest begins where
    /// the last one of its direction in the thread ended.
    #[serde(default = "default_percent")]
    pub random_percent: f64,
    /// That of its writes and discards, where it differs.
    #[serde(default)]
    pub write_random_percent: Option<f64>,
    #[serde(default)]
    pub align_bytes: Option<u64>,
    #[serde(default = "default_one")]
    pub qd: usize,
    #[serde(default = "default_one")]
    pub threads: usize,
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Think time of a closed loop: how long a thread pauses after each `pause_every`
    /// I/Os; 0 means never.
    #[serde(default)]
    pub pause_ns: u64,
    #[serde(default = "default_pause_every")]
    pub pause_every: u64,
    /// The stream's part of the run's measured time; a warm-up as long as the run's goes
    /// before it.
    #[serde(default)]
    pub starts_ns: u64,
    #[serde(default)]
    pub ends_ns: Option<u64>,
    /// The region as the plan states it; the engine uses the two byte offsets below.
    #[serde(default, rename = "region")]
    pub _region: Region,
    #[serde(default)]
    pub distribution: Distribution,
    #[serde(default)]
    pub data: Data,
    #[serde(default)]
    pub dedup_percent: f64,
    #[serde(default)]
    pub sync_every: Option<u64>,
    /// Each write is durable before it is acknowledged.
    #[serde(default)]
    pub fua: bool,
    /// The stream without whose durable entry none of its writes is issued.
    #[serde(default)]
    pub follows: Option<String>,
    #[serde(default)]
    pub verify: bool,
    /// How many of its I/Os may fail; by a share, any number, which is judged afterwards.
    #[serde(default)]
    pub errors_allowed: Option<u64>,
    #[serde(default)]
    pub errors_allowed_percent: Option<f64>,
    /// How often an I/O that fails is issued again.
    #[serde(default)]
    pub retries: u8,
    /// How long an I/O may take, where that is longer than the engine waits for others.
    #[serde(default)]
    pub hang_ns: u64,
    /// The I/Os of a trace at their times, instead of drawn ones.
    #[serde(default)]
    pub replay: Option<Replay>,
    /// How many times as fast as it was recorded a trace is replayed.
    #[serde(default = "default_speed")]
    pub speed: f64,
    /// Where the I/Os of a trace are.
    #[serde(default)]
    pub offsets: Offsets,
    /// Which I/Os of a trace are replayed.
    #[serde(default)]
    pub only: Only,
    #[serde(default)]
    pub writes_as_reads: bool,
    #[serde(default)]
    pub pace: TracePace,
    pub region_start_bytes: u64,
    pub region_end_bytes: u64,
    /// Its targets, by their places in the job's; empty means the first.
    #[serde(default)]
    pub target_numbers: Vec<usize>,
    /// All targets have the stream together, and take its I/Os in turn; else each has
    /// the whole stream.
    #[serde(default)]
    pub over_all: bool,
}

impl Stream {
    pub fn targets(&self) -> &[usize] {
        match self.target_numbers.is_empty() {
            true => &[0],
            false => &self.target_numbers,
        }
    }

    /// Whether its targets take its I/Os in turn.
    pub fn takes_turns(&self) -> bool {
        self.over_all && self.targets().len() > 1
    }

    /// How many threads it has, on all targets.
    pub fn lanes(&self) -> usize {
        let each = if self.over_all {
            1
        } else {
            self.targets().len()
        };
        self.threads * each
    }

    pub fn reads(&self) -> bool {
        self.read_percent > 0.0 && self.trim_percent < 100.0
    }

    pub fn writes(&self) -> bool {
        self.read_percent < 100.0 && self.trim_percent < 100.0
    }

    pub fn trims(&self) -> bool {
        self.trim_percent > 0.0
    }

    /// Whether the stream changes what is stored.
    pub fn modifies(&self) -> bool {
        self.writes() || self.trims()
    }

    /// How much of the random I/O is drawn, in percent: of reads, of writes and discards.
    pub fn drawn_percents(&self) -> [f64; 2] {
        let reads = self.random_percent;
        [reads, self.write_random_percent.unwrap_or(reads)]
    }

    /// Whether its I/Os have intended starts.
    pub fn is_open_loop(&self) -> bool {
        self.rate.is_some() || self.replays_times()
    }

    /// Whether the times of a trace say when its I/Os start.
    pub fn replays_times(&self) -> bool {
        self.replay.is_some() && self.pace != TracePace::Fast
    }

    pub fn pauses(&self) -> bool {
        self.pause_ns > 0
    }

    /// Every size that an I/O of this stream can have.
    pub fn used_sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let reads = self.read_sizes.iter().filter(|_| self.reads());
        let others = self.write_sizes.iter().filter(|_| self.modifies());
        reads.chain(others).map(|share| share.size_bytes)
    }

    pub fn largest_bytes(&self) -> u64 {
        self.used_sizes().max().unwrap_or(0)
    }

    /// The one size of all I/Os, if there is only one.
    pub fn single_size_bytes(&self) -> Option<u64> {
        let largest_bytes = self.largest_bytes();
        self.used_sizes()
            .all(|size_bytes| size_bytes == largest_bytes)
            .then_some(largest_bytes)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    Random,
    Sequential,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    pub size_bytes: u64,
    pub percent: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offsets {
    #[default]
    Recorded,
    Scaled,
    Wrapped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    #[default]
    All,
    Reads,
    Writes,
}

/// When the I/Os of a trace start: at their times, as soon as there is a place, or when those
/// are complete that were so before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TracePace {
    #[default]
    Recorded,
    Fast,
    After,
}

/// A recorded trace; the engine needs no more of it than is here.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Of its file.
    pub digest: String,
    pub ios: u64,
    #[serde(rename = "span_ns")]
    pub _span_ns: u64,
    pub end_bytes: u64,
    #[serde(rename = "moved_bytes")]
    pub _moved_bytes: u64,
    /// The part of it that is replayed, in its time.
    #[serde(default)]
    pub from_ns: u64,
    #[serde(default)]
    pub to_ns: Option<u64>,
    #[serde(default, rename = "quiet_ns")]
    pub _quiet_ns: u64,
    #[serde(default, rename = "fua")]
    pub _fua: u64,
}

/// Where it changes, `iops` or `bytes_per_s` is its mean, and gives the unit of the others.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    #[serde(default)]
    pub iops: Option<f64>,
    #[serde(default)]
    pub bytes_per_s: Option<f64>,
    #[serde(default)]
    pub arrivals: ArrivalKind,
    /// Of the gaps of gamma arrivals: their standard deviation over their mean.
    #[serde(default = "poissons_variation")]
    pub gap_variation: f64,
    /// Repeated, the first one from the start of the stream's measured part on.
    #[serde(default)]
    pub phases: Vec<RatePhase>,
    /// From the one to the other over the stream's measured part.
    #[serde(default)]
    pub first_per_s: Option<f64>,
    #[serde(default)]
    pub last_per_s: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePhase {
    pub length_ns: u64,
    pub per_s: f64,
    #[serde(default, rename = "name")]
    pub _name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalKind {
    #[default]
    Fixed,
    Poisson,
    Gamma,
}

fn poissons_variation() -> f64 {
    1.0
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    #[serde(default, rename = "start_percent")]
    pub _start_percent: f64,
    #[serde(default, rename = "end_percent")]
    pub _end_percent: f64,
    #[serde(default, rename = "start_bytes")]
    pub _start_bytes: u64,
    #[serde(default, rename = "end_bytes")]
    pub _end_bytes: u64,
}

/// `Uniform {}` and not `Uniform`: serde checks the fields of struct variants only.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Distribution {
    Uniform {},
    Hotspots { spots: Vec<Hotspot> },
    Zipf { theta: f64 },
    Pareto { h: f64 },
    Normal { deviation_percent: f64 },
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Uniform {}
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hotspot {
    pub io_percent: f64,
    pub space_percent: f64,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    #[serde(default)]
    pub kind: DataKind,
    #[serde(default)]
    pub percent: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataKind {
    #[default]
    Random,
    Zeros,
    Compressible,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"{"target":"/dev/zero","capacity_bytes":4096,"block_bytes":512,
        "streams":[{"pattern":"random","read_percent":100.0,
        "read_sizes":[{"size_bytes":4096,"percent":100.0}],
        "write_sizes":[{"size_bytes":512,"percent":100.0}],
        "region_start_bytes":0,"region_end_bytes":4096}]}"#;

    #[test]
    fn defaults_are_those_of_the_protocol() {
        let job: Job = serde_json::from_str(MINIMAL).expect("a minimal job");
        assert!(job.read_only && job.seed == 1 && job.interval_ns == SECOND_NS);
        let stream = &job.streams[0];
        assert_eq!((stream.qd, stream.threads), (1, 1));
        assert_eq!(stream.single_size_bytes(), Some(4096));
        assert!(!stream.modifies() && !stream.pauses() && stream.pause_every == 1);
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        for (from, to) in [
            ("\"target\"", "\"colour\":1,\"target\""),
            ("\"pattern\"", "\"colour\":1,\"pattern\""),
            (
                "\"pattern\"",
                "\"distribution\":{\"kind\":\"uniform\",\"colour\":1},\"pattern\"",
            ),
        ] {
            let text = MINIMAL.replacen(from, to, 1);
            let error = serde_json::from_str::<Job>(&text).expect_err("must be refused");
            assert!(error.to_string().contains("colour"), "{error}");
        }
    }
}
