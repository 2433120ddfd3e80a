//! One run on several targets: together, in turn, or each by itself.

mod common;

use common::{Events, MIB, MODES, Scratch, run, stream};
use serde_json::{Value, json};

fn job(files: &[Scratch], mode: &str, streams: Value, more: Value) -> Value {
    let targets = files.iter().zip(["a", "b", "c"]);
    let named = targets.map(|(file, name)| json!({"name": name, "path": file.path()}));
    let mut job = json!({
        "target": "a, b, c", "targets": named.collect::<Vec<_>>(), "capacity_bytes": MIB,
        "block_bytes": 512, "streams": streams, "read_only": false, "mode": mode});
    let fields = job.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    job
}

fn one(numbers: &[usize], over_all: bool, fields: Value) -> Value {
    let mut one = stream(MIB, &fields);
    (one["target_numbers"], one["over_all"]) = (json!(numbers), json!(over_all));
    one
}

fn ios(events: &Events, target: &str, stream: usize, direction: &str) -> u64 {
    let of = &events.result()["facts"]["targets"][target][stream]["directions"][direction];
    of["ios"].as_u64().unwrap_or(0)
}

fn files() -> Vec<Scratch> {
    (0..3).map(|_| Scratch::new(MIB)).collect()
}

#[test]
fn a_shared_rate_and_depth_are_those_of_all_together() {
    let files = files();
    for mode in MODES {
        let shared = json!({"qd": 4, "rate": {"iops": 900.0}});
        let more = json!({"run_ns": 1_000_000_000, "warmup_ns": 300_000_000});
        let streams = json!([one(&[0, 1, 2], true, shared)]);
        let events = run(&job(&files, mode, streams, more)).successful();
        let each = ["a", "b", "c"].map(|name| ios(&events, name, 0, "read"));
        assert_eq!(each.iter().sum::<u64>(), events.ios("read"), "{mode}");
        let excused = events.excused(900);
        assert!(
            events.ios("read").abs_diff(900) <= 4 + excused,
            "{mode}: {each:?}"
        );
        let (most, least) = (each.iter().max(), each.iter().min());
        let apart = most.zip(least).map(|(most, least)| most - least);
        assert!(
            apart.is_some_and(|apart| apart <= 2 + excused / 3),
            "{each:?}"
        );
    }
}

#[test]
fn a_pass_over_all_writes_each_target_once() {
    for mode in MODES {
        let files = files();
        let writes = json!({"pattern": "sequential", "read_percent": 0.0, "qd": 2});
        let streams = json!([one(&[0, 2], true, writes)]);
        let events = run(&job(&files, mode, streams, json!({"passes": 1.0}))).successful();
        assert_eq!(events.ios("write"), 512, "{mode}");
        assert_eq!(ios(&events, "a", 0, "write"), 256);
        assert_eq!(ios(&events, "c", 0, "write"), 256);
        let written = |file: &Scratch| {
            let content = file.content();
            let mut blocks = content.chunks(4096);
            blocks.all(|block| block.iter().any(|&byte| byte != 0))
        };
        assert!(written(&files[0]) && written(&files[2]), "{mode}");
        assert!(files[1].content().iter().all(|&byte| byte == 0), "{mode}");
        assert!(files[0].content() != files[2].content());
    }
}

#[test]
fn each_target_has_the_whole_of_a_stream_that_is_not_over_all() {
    let files = files();
    for mode in MODES {
        let log = one(
            &[0],
            false,
            json!({"name": "log", "pattern": "sequential",
            "read_percent": 0.0, "sync_every": 16}),
        );
        let data = one(
            &[1, 2],
            false,
            json!({"name": "data", "rate": {"iops": 300.0}}),
        );
        let more = json!({"run_ns": 1_000_000_000});
        let events = run(&job(&files, mode, json!([log, data]), more)).successful();
        assert!(ios(&events, "b", 0, "read").abs_diff(300) <= 4, "{mode}");
        assert!(ios(&events, "c", 0, "read").abs_diff(300) <= 4, "{mode}");
        assert!(ios(&events, "a", 0, "write") > 0 && ios(&events, "a", 0, "flush") > 0);
        assert_eq!(
            ios(&events, "a", 0, "read") + ios(&events, "b", 0, "write"),
            0
        );
    }
}

#[test]
fn what_is_of_one_target_is_refused_on_several() {
    let files = files();
    for (fields, what) in [
        (json!({"read_percent": 0.0, "sync_every": 1}), "sync"),
        (json!({"read_percent": 0.0, "verify": true}), "verify"),
    ] {
        let streams = json!([one(&[0, 1], true, fields)]);
        let events = run(&job(&files, "auto", streams, json!({"passes": 1.0})));
        let failure = events.of("failure")[0]["message"].to_string();
        assert!(failure.contains(what), "{failure}");
    }
    for numbers in [&[0, 3][..], &[1, 1]] {
        let streams = json!([one(numbers, true, json!({}))]);
        let events = run(&job(&files, "auto", streams, json!({"passes": 1.0})));
        let failure = events.of("failure")[0]["message"].to_string();
        assert!(failure.contains("target_numbers"), "{failure}");
    }
}

#[test]
fn a_missing_target_is_named() {
    let files = files();
    let streams = json!([one(&[0, 1], true, json!({}))]);
    let mut gone = job(&files, "auto", streams, json!({"passes": 1.0}));
    gone["targets"][1]["path"] = json!("/nonexistent/b");
    let message = run(&gone).of("failure")[0]["message"].to_string();
    assert!(message.contains("/nonexistent/b"), "{message}");
}
