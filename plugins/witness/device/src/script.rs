//! What the device is told to be: checked and made of TOML by `ioplan device`, in
//! nanoseconds and bytes here.

use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    Read = 0,
    Write = 1,
    Flush = 2,
    Discard = 3,
}

/// Which I/Os a rule is for: all that is given must hold, both ends included.
#[derive(Debug, Default, Deserialize)]
pub struct When {
    pub direction: Option<Kind>,
    pub size: Option<(u64, u64)>,
    /// I/Os outstanding with this one.
    pub depth: Option<(u64, u64)>,
    /// Touched bytes: the second is the first that is beyond.
    pub range: Option<(u64, u64)>,
    /// Nanoseconds since the start; the second is the first that is beyond.
    pub time: Option<(u64, u64)>,
}

/// One I/O, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub kind: Kind,
    pub offset: u64,
    pub size: u64,
    pub depth: u64,
    pub since_start_ns: u64,
}

impl When {
    pub fn holds(&self, io: &Arrival) -> bool {
        let in_ends = |ends: Option<(u64, u64)>, value| {
            ends.is_none_or(|(low, high)| low <= value && value <= high)
        };
        self.direction.is_none_or(|kind| kind == io.kind)
            && in_ends(self.size, io.size)
            && in_ends(self.depth, io.depth)
            && self
                .range
                .is_none_or(|(from, to)| io.offset < to && from < io.offset + io.size.max(1))
            && self
                .time
                .is_none_or(|(from, to)| from <= io.since_start_ns && io.since_start_ns < to)
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum Shape {
    Fixed {
        value_ns: f64,
    },
    Uniform {
        low_ns: f64,
        high_ns: f64,
    },
    Normal {
        mean_ns: f64,
        deviation_ns: f64,
    },
    Lognormal {
        median_ns: f64,
        sigma: f64,
    },
    Exponential {
        mean_ns: f64,
    },
    /// Values and how often each is drawn, in parts of all weights.
    Values {
        values_ns: Vec<f64>,
        weights: Vec<f64>,
    },
}

/// The first rule that holds gives the latency.
#[derive(Debug, Deserialize)]
pub struct Latency {
    #[serde(default)]
    pub when: When,
    pub shape: Shape,
    /// Time for the transfer, on top.
    pub bytes_per_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// An errno's number.
    Error(i32),
    /// So many bytes are moved, and no more.
    Short(u64),
    /// One bit of the data read is wrong.
    Corrupt(bool),
}

/// Of the I/Os that a rule is for: from the `nth` on each `every`-th, so many `times`.
#[derive(Debug, Deserialize)]
pub struct Fault {
    #[serde(default)]
    pub when: When,
    pub effect: Effect,
    pub nth: u64,
    pub every: Option<u64>,
    pub times: Option<u64>,
}

/// I/Os that arrive in it wait for its end.
#[derive(Debug, Deserialize)]
pub struct Stall {
    pub at_ns: u64,
    pub length_ns: u64,
    pub every_ns: Option<u64>,
}

/// A bucket that fills at a rate, and holds a burst.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Bucket {
    pub per_s: f64,
    pub burst: f64,
}

#[derive(Debug, Default, Deserialize)]
pub struct Throttle {
    pub ios: Option<Bucket>,
    pub bytes: Option<Bucket>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Cache {
    pub volatile: bool,
    pub size_bytes: u64,
    pub flush_lies: bool,
    /// A flush answers at once, and what it covers is kept so much later.
    pub flush_delay_ns: u64,
    /// Without power, all that it holds is written down.
    pub capacitor: bool,
    pub fua_ignored: bool,
    /// What is written whole, or not at all, when the power is cut.
    pub torn_bytes: Option<u64>,
    pub reordered: bool,
}

#[derive(Debug, Deserialize)]
pub struct Script {
    pub size_bytes: u64,
    pub reported_bytes: u64,
    pub seed: u64,
    /// A file that keeps the data; memory if there is none.
    pub backing: Option<String>,
    pub latency: Vec<Latency>,
    pub fault: Vec<Fault>,
    pub stall: Vec<Stall>,
    pub throttle: Throttle,
    pub cache: Cache,
    pub read_only_after_ns: Option<u64>,
    pub vanish_after_ns: Option<u64>,
}
