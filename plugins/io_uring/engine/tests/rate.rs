//! Rates that change while a stream runs: in phases, or evenly.

mod common;

use std::path::Path;

use common::{Events, MIB, MODES, Scratch, job, run};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

fn done(mode: &str, rate: &Value) -> Events {
    run(&job(
        Path::new("/dev/zero"),
        MIB,
        json!({
        "mode": mode, "warmup_ns": 300 * MS, "run_ns": 1000 * MS, "interval_ns": 100 * MS,
        "qd": 4, "threads": 2, "rate": rate, "read_only": true}),
    ))
    .successful()
}

fn series(events: &Events) -> Vec<f64> {
    let lines = events.of("progress");
    let lines = lines.iter().filter(|line| line["warmup"] == false);
    lines
        .map(|line| {
            let read = &line["streams"][0]["directions"]["read"];
            read["ios"].as_f64().unwrap_or(0.0)
        })
        .collect()
}

/// I/Os count when they complete: those of two threads at an interval's end may be next's.
/// Other programs may take the CPU for longer, so that one of several tries must be right.
fn check(mode: &str, rate: &Value, expected: &[f64]) {
    let mut seen = Vec::new();
    for _ in 0..8 {
        seen.push(series(&done(mode, rate)));
        let pairs = seen.last().into_iter().flatten().zip(expected);
        if pairs
            .map(|(found, due)| (found - due).abs())
            .fold(0.0, f64::max)
            <= 4.0
        {
            return;
        }
    }
    panic!("{mode}: {expected:?} were due, not {seen:?}");
}

#[test]
fn a_burst_has_the_ios_of_its_phases() {
    for mode in MODES {
        let phases = json!([{"length_ns": 200 * MS, "per_s": 2000.0},
            {"length_ns": 100 * MS, "per_s": 0.0}, {"length_ns": 200 * MS, "per_s": 500.0}]);
        let rate = json!({"iops": 1000.0, "phases": phases});
        let cycle = [200.0, 200.0, 0.0, 50.0, 50.0];
        check(mode, &rate, &cycle.repeat(2));
    }
}

#[test]
fn a_ramp_has_the_ios_below_its_line() {
    for mode in MODES {
        let rate = json!({"iops": 1100.0, "first_per_s": 200.0, "last_per_s": 2000.0});
        let line: Vec<f64> = (0..10)
            .map(|n| 20.0 + 18.0 * (f64::from(n) + 0.5))
            .collect();
        check(mode, &rate, &line);
    }
}

#[test]
fn a_poisson_burst_has_them_in_the_mean() {
    let phases = json!([{"length_ns": 250 * MS, "per_s": 4000.0},
        {"length_ns": 250 * MS, "per_s": 400.0}]);
    let rate = json!({"iops": 2200.0, "arrivals": "poisson", "phases": phases});
    let events = done("io_uring", &rate);
    let off = events.ios("read") as f64 - 2200.0;
    assert!(off.abs() < 5.0 * 2200f64.sqrt(), "{off}");
}

#[test]
fn gamma_arrivals_have_them_in_the_mean() {
    for variation in [0.25, 1.5] {
        let rate = json!({"iops": 2000.0, "arrivals": "gamma", "gap_variation": variation});
        for mode in MODES {
            let found = done(mode, &rate).ios("read") as f64;
            assert!(
                (found - 2000.0).abs() < 5.0 * variation * 2000f64.sqrt(),
                "{found}"
            );
        }
    }
}

/// A thread's file: the times of its I/Os, since the start.
fn kept_times(prefix: &str, thread: usize) -> Vec<u64> {
    let bytes = std::fs::read(format!("{prefix}.{thread}")).expect("the thread kept its I/O");
    let time = |record: &[u8]| u64::from_le_bytes(record[..8].try_into().expect("8 bytes"));
    let mut times: Vec<u64> = bytes.chunks_exact(32).map(time).collect();
    times.sort_unstable(); // in sync mode, slots are not in order
    times
}

#[test]
fn threads_keep_the_starts_that_they_were_to_take_turns_at() {
    for mode in MODES {
        let scratch = Scratch::new(MIB);
        let prefix = format!("{}.kept", scratch.path().display());
        let rate = json!({"iops": 2000.0, "arrivals": "gamma", "gap_variation": 2.0});
        let events = run(&scratch.job(json!({
            "mode": mode, "run_ns": 500 * MS, "qd": 8, "threads": 2, "rate": rate,
            "read_only": true, "keep": prefix})))
        .successful();
        let (first, second) = (kept_times(&prefix, 0), kept_times(&prefix, 1));
        assert!((first.len() + second.len()) as u64 >= events.ios("read"));
        assert!(first.len().min(second.len()) > 50, "{mode}: each has turns");
        for (number, at_ns) in second.iter().enumerate() {
            // On a busy machine the end may come before the last starts of either.
            let in_turn = first.get(number).is_none_or(|at| *at <= *at_ns + 1);
            assert!(in_turn, "{mode}: {number}");
            assert!(first.get(number + 1).is_none_or(|next| next + 1 >= *at_ns));
        }
        for thread in 0..2 {
            std::fs::remove_file(format!("{prefix}.{thread}")).expect("it is ours");
        }
    }
}

#[test]
fn a_rate_without_sense_is_refused() {
    let scratch = Scratch::new(MIB);
    for rate in [
        json!({"iops": 1.0, "phases": [{"length_ns": 1, "per_s": 0.0}]}),
        json!({"iops": 1.0, "phases": [{"length_ns": 0, "per_s": 1.0}]}),
        json!({"iops": 1.0, "first_per_s": 1.0}),
        json!({"iops": 1.0, "first_per_s": -1.0, "last_per_s": 2.0}),
        json!({"iops": 1.0, "arrivals": "gamma", "gap_variation": 0.0}),
        json!({"iops": 1.0, "arrivals": "gamma", "gap_variation": 101.0}),
    ] {
        let refused = scratch.job(json!({"run_ns": MS, "rate": rate}));
        assert_eq!(run(&refused).cause(), Some("bad-job"));
    }
}
