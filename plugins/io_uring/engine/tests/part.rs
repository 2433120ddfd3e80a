//! Streams that have a part of the run: they start late, or end early.

mod common;

use common::{Events, MIB, MODES, Scratch, run, stream};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

/// A rated stream beside a paused one that goes on all the time.
fn job(scratch: &Scratch, mode: &str, part: Value) -> Value {
    let mut fields = json!({"name": "part", "rate": {"iops": 1000.0}});
    for (key, value) in part.as_object().expect("an object") {
        fields[key] = value.clone();
    }
    let mut job = scratch.job(json!({
        "mode": mode, "warmup_ns": 200 * MS, "run_ns": 800 * MS, "interval_ns": 100 * MS,
        "read_only": true}));
    let whole = json!({"name": "whole", "pause_ns": 5 * MS});
    job["streams"] = json!([stream(MIB, &fields), stream(MIB, &whole)]);
    job
}

/// The I/Os of the first stream in each interval of the warm-up and after it.
fn series(events: &Events, warmup: bool) -> Vec<u64> {
    let lines = events.of("progress");
    let lines = lines.iter().filter(|line| line["warmup"] == warmup);
    lines
        .map(|line| {
            let read = &line["streams"][0]["directions"]["read"];
            read["ios"].as_u64().unwrap_or(0)
        })
        .collect()
}

#[test]
fn a_stream_does_its_io_in_its_part_of_the_run_only() {
    let scratch = Scratch::new(MIB);
    for mode in MODES {
        let part = json!({"starts_ns": 300 * MS, "ends_ns": 600 * MS});
        let events = run(&job(&scratch, mode, part)).successful();
        // The rate's intended starts decide: just as many as fall into the part.
        assert_eq!(events.ios("read"), 300, "{mode}");
        let own_ns = events.result()["streams"][0]["run_ns"].as_u64();
        assert_eq!(own_ns, Some(300 * MS), "{mode}");
        assert_eq!(series(&events, true).iter().sum::<u64>(), 0, "{mode}");
        let counted = series(&events, false);
        assert_eq!(counted[..3].iter().sum::<u64>(), 0, "{mode}: {counted:?}");
        assert_eq!(counted.iter().sum::<u64>(), 300, "{mode}: {counted:?}");
        let run_ns = events.result()["run_ns"].as_f64().expect("a time");
        assert!((run_ns / 800e6 - 1.0).abs() < 0.05, "{mode}: {run_ns}");
    }
}

#[test]
fn a_late_stream_warms_up_before_its_part() {
    let scratch = Scratch::new(MIB);
    for mode in MODES {
        let part = json!({"starts_ns": 100 * MS});
        let events = run(&job(&scratch, mode, part)).successful();
        assert_eq!(events.ios("read"), 700, "{mode}");
        // It begins 100 ms after the run, and of its 200 ms the first 100 are in the run's.
        let warm: u64 = series(&events, true).iter().sum();
        assert!((50..=101).contains(&warm), "{mode}: {warm}");
    }
}

#[test]
fn a_part_is_within_the_run() {
    let scratch = Scratch::new(MIB);
    for part in [
        json!({"starts_ns": 800 * MS}),
        json!({"ends_ns": 900 * MS}),
        json!({"starts_ns": 500 * MS, "ends_ns": 400 * MS}),
    ] {
        let events = run(&job(&scratch, "auto", part));
        assert_eq!(events.cause(), Some("bad-job"));
    }
}
