//! Streams that have a part of the run: they start late, or end early.

mod common;

use std::io::{BufRead, BufReader};

use common::{Events, MIB, MODES, Scratch, calmly, run, start, stream};
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

/// Those that arrived in the first stream's part: on a busy machine some are not issued.
fn arrived(events: &Events) -> u64 {
    let backlog = events.result()["streams"][0]["backlog_ios"].as_u64();
    events.ios("read") + backlog.unwrap_or(0)
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
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            let part = json!({"starts_ns": 300 * MS, "ends_ns": 600 * MS});
            let events = run(&job(&scratch, mode, part)).successful();
            // The rate's intended starts decide: just as many as fall into the part.
            assert_eq!(arrived(&events), 300, "{mode}");
            let own_ns = events.result()["streams"][0]["run_ns"].as_u64();
            assert_eq!(own_ns, Some(300 * MS), "{mode}");
            assert_eq!(series(&events, true).iter().sum::<u64>(), 0, "{mode}");
            let counted = series(&events, false);
            assert_eq!(counted[..3].iter().sum::<u64>(), 0, "{mode}: {counted:?}");
            let all: u64 = counted.iter().sum();
            assert_eq!(all, events.ios("read"), "{mode}: {counted:?}");
            let run_ns = events.result()["run_ns"].as_f64().expect("a time");
            assert!((0.7..1.5).contains(&(run_ns / 800e6)), "{mode}: {run_ns}");
        }
    });
}

#[test]
fn a_late_stream_warms_up_before_its_part() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            let part = json!({"starts_ns": 100 * MS});
            let events = run(&job(&scratch, mode, part)).successful();
            assert_eq!(arrived(&events), 700, "{mode}");
            // It begins 100 ms after the run, and of its 200 ms the first 100 are in the run's.
            let warm: u64 = series(&events, true).iter().sum();
            assert!((50..=101).contains(&warm), "{mode}: {warm}");
        }
    });
}

#[test]
fn a_run_that_is_stopped_before_a_stream_begins_is_no_longer_for_it() {
    let scratch = Scratch::new(MIB);
    let mut long = job(&scratch, "auto", json!({"starts_ns": 30_000 * MS}));
    long["run_ns"] = json!(60_000 * MS);
    long["warmup_ns"] = json!(0);
    let mut child = start(&long);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    while !line().contains("progress") {}
    // SAFETY: the child has not been waited for, so that its id is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let result = loop {
        let text = line();
        if text.contains("\"event\":\"result\"") {
            break serde_json::from_str::<Value>(&text).expect("JSON");
        }
    };
    child.wait().expect("the engine ends");
    let run_ns = result["run_ns"].as_u64().unwrap_or(0);
    assert!((1..10_000 * MS).contains(&run_ns), "{result}");
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
