//! When an I/O is done, and how it goes wrong: by the script, the seed and its number.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;

use crate::script::{Arrival, Bucket, Effect, Kind, Latency, Script, Shape, Stall};

const SECOND_NS: f64 = 1e9;

/// What is decided of one I/O; `delay_ns` counts from its arrival.
#[derive(Debug, Default, PartialEq)]
pub struct Fate {
    pub delay_ns: u64,
    pub errno: i32,
    pub short_bytes: Option<u64>,
    pub corrupt: bool,
}

#[derive(Debug)]
pub struct Behaviour {
    pub script: Script,
    number: AtomicU64,
    /// How many I/Os each fault's rule was for.
    matched: Vec<AtomicU64>,
    ios: Mutex<Level>,
    bytes: Mutex<Level>,
}

/// Of a bucket: below zero is what it owes.
#[derive(Debug, Default)]
struct Level {
    tokens: f64,
    at_ns: u64,
}

impl Behaviour {
    pub fn new(script: Script) -> Self {
        let full = |bucket: Option<Bucket>| {
            Mutex::new(Level {
                tokens: bucket.map_or(0.0, |one| one.burst),
                at_ns: 0,
            })
        };
        Behaviour {
            number: AtomicU64::new(0),
            matched: script.fault.iter().map(|_| AtomicU64::new(0)).collect(),
            ios: full(script.throttle.ios),
            bytes: full(script.throttle.bytes),
            script,
        }
    }

    /// The same for the same script and the same I/Os in the same order.
    pub fn decide(&self, io: &Arrival) -> Fate {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let mut rng = Rng::with_seed(self.script.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.u64(..); // the first draws of near seeds are alike
        let mut fate = Fate {
            errno: self.state_errno(io),
            ..Fate::default()
        };
        self.add_faults(io, &mut fate);
        let held_ns = held_ns(&self.script.stall, io.since_start_ns);
        let queued_ns = self.queued_ns(io);
        fate.delay_ns = held_ns.max(queued_ns) + latency_ns(&self.script.latency, io, &mut rng);
        fate
    }

    /// Read-only and vanished devices.
    fn state_errno(&self, io: &Arrival) -> i32 {
        let after = |limit: Option<u64>| limit.is_some_and(|ns| io.since_start_ns >= ns);
        if after(self.script.vanish_after_ns) {
            return libc::ENODEV;
        }
        let changes = matches!(io.kind, Kind::Write | Kind::Discard);
        if changes && after(self.script.read_only_after_ns) {
            return libc::EROFS;
        }
        0
    }

    fn add_faults(&self, io: &Arrival, fate: &mut Fate) {
        let rules = self.script.fault.iter().zip(&self.matched);
        for (rule, matched) in rules.filter(|(rule, _)| rule.when.holds(io)) {
            let count = matched.fetch_add(1, Ordering::Relaxed) + 1;
            if !struck(count, rule.nth, rule.every, rule.times) {
                continue;
            }
            match rule.effect {
                Effect::Error(errno) if fate.errno == 0 => fate.errno = errno,
                Effect::Error(_) => {}
                Effect::Short(bytes) => fate.short_bytes = Some(bytes),
                Effect::Corrupt(yes) => fate.corrupt |= yes,
            }
        }
    }

    fn queued_ns(&self, io: &Arrival) -> u64 {
        if !matches!(io.kind, Kind::Read | Kind::Write) {
            return 0;
        }
        let throttle = &self.script.throttle;
        let ios = taken(throttle.ios, &self.ios, 1.0, io.since_start_ns);
        let bytes = taken(
            throttle.bytes,
            &self.bytes,
            io.size as f64,
            io.since_start_ns,
        );
        ios.max(bytes)
    }
}

fn struck(count: u64, nth: u64, every: Option<u64>, times: Option<u64>) -> bool {
    let Some(beyond) = count.checked_sub(nth) else {
        return false;
    };
    let every = every.unwrap_or(1);
    beyond % every == 0 && times.is_none_or(|most| beyond / every < most)
}

/// How long an I/O waits for its tokens, in the order of arrival.
fn taken(bucket: Option<Bucket>, level: &Mutex<Level>, wanted: f64, now_ns: u64) -> u64 {
    let Some(bucket) = bucket else { return 0 };
    let mut level = level.lock().unwrap();
    let passed_ns = now_ns.saturating_sub(level.at_ns) as f64;
    level.at_ns = level.at_ns.max(now_ns);
    let filled = level.tokens + passed_ns * bucket.per_s / SECOND_NS;
    level.tokens = filled.min(bucket.burst) - wanted;
    (-level.tokens / bucket.per_s * SECOND_NS).max(0.0) as u64
}

/// Until the last stall ends that the time is in.
fn held_ns(stalls: &[Stall], now_ns: u64) -> u64 {
    let one = |stall: &Stall| {
        let since_ns = now_ns.checked_sub(stall.at_ns)?;
        let into_ns = stall
            .every_ns
            .map_or(since_ns, |every_ns| since_ns % every_ns);
        stall.length_ns.checked_sub(into_ns)
    };
    stalls.iter().filter_map(one).max().unwrap_or(0)
}

fn latency_ns(rules: &[Latency], io: &Arrival, rng: &mut Rng) -> u64 {
    let Some(rule) = rules.iter().find(|rule| rule.when.holds(io)) else {
        return 0;
    };
    let transfer_ns = rule
        .bytes_per_s
        .map_or(0.0, |speed| io.size as f64 / speed * SECOND_NS);
    (drawn_ns(&rule.shape, rng) + transfer_ns).max(0.0) as u64
}

fn drawn_ns(shape: &Shape, rng: &mut Rng) -> f64 {
    match shape {
        Shape::Fixed { value_ns } => *value_ns,
        Shape::Uniform { low_ns, high_ns } => low_ns + rng.f64() * (high_ns - low_ns),
        Shape::Normal {
            mean_ns,
            deviation_ns,
        } => mean_ns + deviation_ns * normal(rng),
        Shape::Lognormal { median_ns, sigma } => median_ns * (sigma * normal(rng)).exp(),
        Shape::Exponential { mean_ns } => -mean_ns * (1.0 - rng.f64()).ln(),
        Shape::Values { values_ns, weights } => chosen(values_ns, weights, rng),
    }
}

/// Box and Muller's.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

fn chosen(values: &[f64], weights: &[f64], rng: &mut Rng) -> f64 {
    let mut left = rng.f64() * weights.iter().sum::<f64>();
    for (value, weight) in values.iter().zip(weights) {
        left -= weight;
        if left < 0.0 {
            return *value;
        }
    }
    *values.last().unwrap_or(&0.0)
}
