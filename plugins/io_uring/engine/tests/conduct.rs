//! How the engine behaves when something is wrong, forbidden, or over.

mod common;

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::{
    MIB, MODES, Scratch, calmly, engine, finish, job, run, run_without_io_uring, size, start,
};
use serde_json::{Value, json};

#[test]
fn a_read_only_job_cannot_write() {
    let scratch = Scratch::new(MIB);
    for fields in [
        json!({"read_percent": 99.0, "read_only": true, "run_ns": 1_000_000}),
        json!({"trim_percent": 1.0, "read_only": true, "run_ns": 1_000_000}),
    ] {
        let events = run(&scratch.job(fields));
        assert_eq!((events.cause(), events.code), (Some("bad-job"), Some(1)));
    }
    assert!(scratch.content().iter().all(|&byte| byte == 0));
}

#[test]
fn a_bad_job_says_what_is_wrong() {
    let scratch = Scratch::new(MIB);
    let cases = [
        (json!({"run_ns": null}), "bad-job", "no end"),
        (json!({"read_sizes": size(1000)}), "unaligned", "1000"),
        (json!({"read_sizes": size(2 * MIB)}), "too-small", "no room"),
        (json!({"capacity_bytes": 2 * MIB}), "too-small", "1048576"),
        (
            json!({"target": "/nonexistent"}),
            "missing-target",
            "/nonexistent",
        ),
        (
            json!({"target": "/proc/version"}),
            "no-direct-io",
            "O_DIRECT",
        ),
        (json!({"streams": []}), "bad-job", "no streams"),
        (json!({"region_end_bytes": 2 * MIB}), "bad-job", "region"),
        (
            json!({"qd": 16_384, "threads": 64, "read_sizes": size(MIB)}),
            "memory",
            "MiB",
        ),
        (
            json!({"distribution": {"kind": "cauchy"}}),
            "bad-job",
            "cauchy",
        ),
    ];
    for (change, cause, word) in cases {
        let mut fields = json!({"run_ns": 1_000_000});
        for (key, value) in change.as_object().expect("an object") {
            fields[key] = value.clone();
        }
        let events = run(&scratch.job(fields));
        assert_eq!(
            (events.cause(), events.code),
            (Some(cause), Some(1)),
            "{change}"
        );
        assert_eq!(events.lines.len(), 1);
        assert!(
            events.lines[0]["message"]
                .as_str()
                .is_some_and(|text| text.contains(word))
        );
        assert_eq!(events.stderr, "");
    }
}

#[test]
fn memory_is_no_target() {
    let path = Path::new("/dev/shm/ioplan-engine-test");
    if std::fs::write(path, vec![0; MIB as usize]).is_err() {
        return; // no tmpfs there
    }
    let events = run(&job(path, MIB, json!({"run_ns": 1_000_000})));
    let _ = std::fs::remove_file(path);
    assert_eq!(events.cause(), Some("no-direct-io"));
}

#[test]
fn without_io_uring_the_io_is_synchronous_and_says_why() {
    let scratch = Scratch::new(MIB);
    let fields = json!({"run_ns": 50_000_000, "qd": 4});
    let events = run_without_io_uring(&scratch.job(fields.clone()), libc::EPERM).successful();
    assert_eq!(events.started()["mode"], "sync");
    let reason = events.started()["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(reason.contains("not permitted"), "{reason}");
    assert!(events.ios("read") > 0);
    let events = run_without_io_uring(&scratch.job(fields), libc::ENOSYS).successful();
    assert!(
        events.started()["reason"]
            .as_str()
            .is_some_and(|text| text.contains("ENOSYS"))
    );
    let forced = scratch.job(json!({"run_ns": 50_000_000, "mode": "io_uring"}));
    let events = run_without_io_uring(&forced, libc::EPERM);
    assert_eq!(
        (events.cause(), events.code),
        (Some("io-uring-forbidden"), Some(1))
    );
}

#[test]
fn a_signal_ends_the_run_with_its_result() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            for signal in [libc::SIGTERM, libc::SIGINT] {
                let child = start(&scratch.job(json!({
                "mode": mode, "qd": 4, "run_ns": 60_000_000_000u64, "interval_ns": 50_000_000})));
                std::thread::sleep(Duration::from_millis(200));
                let asked = Instant::now();
                // SAFETY: the child has not been waited for, so that its id is its own.
                unsafe { libc::kill(child.id() as i32, signal) };
                let events = finish(child).successful();
                assert!(
                    asked.elapsed() < Duration::from_millis(200),
                    "{:?}",
                    asked.elapsed()
                );
                assert_eq!(events.result()["stopped"], true);
                assert!(events.ios("read") > 0 && events.of("progress").len() >= 2);
                let run_ns = events.result()["run_ns"].as_u64().unwrap_or(0);
                assert!((100_000_000..400_000_000).contains(&run_ns), "{run_ns}");
            }
        }
    });
}

#[test]
fn nobody_listening_ends_the_run() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        let mut child = start(&scratch.job(json!({
        "run_ns": 60_000_000_000u64, "interval_ns": 20_000_000})));
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("the first event");
        drop(lines);
        let closed = Instant::now();
        let status = child.wait().expect("the engine ends");
        assert!(closed.elapsed() < Duration::from_secs(1));
        assert_eq!(status.code(), Some(1));
    });
}

#[test]
fn the_end_of_stdin_ends_a_run_on_a_lifeline() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        let job = scratch.job(json!({"run_ns": 60_000_000_000u64, "interval_ns": 20_000_000}));
        let (mut child, stdin, mut lines) = on_a_lifeline(&job);
        lines
            .nth(3)
            .expect("it runs on while stdin is open")
            .expect("text");
        let cut = Instant::now();
        drop(stdin);
        let status = child.wait().expect("the engine ends");
        assert!(cut.elapsed() < Duration::from_millis(500));
        assert_eq!(status.code(), Some(1));
    });
}

/// The engine with its job, what it says, and the stdin that it lives by.
fn on_a_lifeline(job: &Value) -> (Child, ChildStdin, Lines<BufReader<ChildStdout>>) {
    let piped = engine()
        .args(["run", "--lifeline"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = piped.expect("the engine starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "{job}").expect("the engine reads its job");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, stdin, lines)
}

/// The engine at its gate: the lines are those after `started`.
fn at_the_gate(job: &Value) -> (Child, ChildStdin, Lines<BufReader<ChildStdout>>) {
    let (child, stdin, mut lines) = on_a_lifeline(job);
    let started = lines.next().expect("a line").expect("text");
    assert!(started.contains("started"), "{started}");
    (child, stdin, lines)
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("after 1970").as_nanos() as u64
}

#[test]
fn a_run_begins_when_it_is_told_to_and_not_before() {
    for mode in MODES {
        let scratch = Scratch::new(MIB);
        let job = scratch.job(json!({
            "mode": mode, "run_ns": 50_000_000, "threads": 2, "await_start": true}));
        let (mut child, mut stdin, lines) = at_the_gate(&job);
        std::thread::sleep(Duration::from_millis(200));
        let at_ns = now_ns() + 100_000_000;
        writeln!(stdin, r#"{{"start_at_ns": {at_ns}}}"#).expect("it listens");
        let last = lines.last().expect("a line").expect("text");
        let result: Value = serde_json::from_str(&last).expect("JSON");
        let started_ns = result["facts"]["started_ns"].as_u64().expect("a time");
        // A busy machine lets a thread through late, but the run ends no earlier for that.
        assert!(at_ns <= started_ns && at_ns + 50_000_000 <= now_ns());
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_run_that_was_stopped_at_the_gate_does_no_io() {
    let scratch = Scratch::new(MIB);
    let job = scratch.job(json!({"run_ns": 60_000_000_000u64, "await_start": true}));
    let (mut child, _stdin, lines) = at_the_gate(&job);
    // SAFETY: signals a process that this test has started and not yet waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let last = lines.last().expect("a line").expect("text");
    let result: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(result["stopped"], json!(true));
    assert_eq!(result["streams"][0]["directions"], json!({}));
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn awaiting_a_start_needs_somebody_who_says_it() {
    let scratch = Scratch::new(MIB);
    let events = run(&scratch.job(json!({"run_ns": 1_000_000, "await_start": true})));
    assert_eq!((events.cause(), events.code), (Some("bad-job"), Some(1)));
}

#[test]
fn a_job_that_was_cut_off_is_not_run() {
    let mut command = engine();
    let child = command
        .args(["run", "--lifeline"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let events = finish(child.spawn().expect("the engine starts"));
    assert_eq!((events.cause(), events.code), (Some("bad-job"), Some(1)));
}

#[test]
fn errors_are_counted_and_end_a_hopeless_run() {
    for mode in MODES {
        let scratch = Scratch::new(8 * MIB);
        let child = start(&scratch.job(json!({
            "mode": mode, "qd": 8, "run_ns": 60_000_000_000u64, "interval_ns": 50_000_000})));
        std::thread::sleep(Duration::from_millis(150));
        let file = std::fs::File::options().write(true).open(scratch.path());
        file.and_then(|file| file.set_len(4 * MIB))
            .expect("the file is ours");
        let events = finish(child);
        assert_eq!(
            (events.cause(), events.code),
            (Some("device-error"), Some(1))
        );
        let last_two: Vec<&Value> = events.lines.iter().rev().take(2).collect();
        assert_eq!(
            (&last_two[0]["event"], &last_two[1]["event"]),
            (&json!("failure"), &json!("result"))
        );
        let read = events.counts("read");
        assert!(read["errors"].as_u64().is_some_and(|errors| errors > 1000));
        let bins = read["bins"].as_array().expect("bins");
        let counted: u64 = bins
            .iter()
            .skip(1)
            .step_by(2)
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(
            counted,
            events.ios("read"),
            "an error's latency was counted"
        );
        let first = &events.result()["facts"]["first_error"];
        assert_eq!(
            (&first["direction"], &first["bytes"]),
            (&json!("read"), &json!(4096))
        );
        assert!(
            first["offset"]
                .as_u64()
                .is_some_and(|offset| offset >= 4 * MIB)
        );
    }
}

#[test]
fn character_devices_measure_the_engine_itself() {
    for mode in MODES {
        let fields = json!({"mode": mode, "qd": 4, "run_ns": 50_000_000, "read_only": true});
        let events = run(&job(Path::new("/dev/zero"), 1 << 40, fields)).successful();
        assert_eq!(events.started()["facts"]["direct"], false);
        assert!(events.ios("read") > 1000);
        let fields = json!({"mode": mode, "qd": 4, "run_ns": 50_000_000, "read_percent": 0.0});
        let events = run(&job(Path::new("/dev/null"), 1 << 40, fields)).successful();
        assert!(events.ios("write") > 1000);
    }
}

#[test]
fn a_run_takes_little_more_than_its_time() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        let least = (0..5).map(|_| {
            let start = Instant::now();
            run(&scratch.job(json!({"qd": 32, "run_ns": 100_000_000}))).successful();
            start.elapsed()
        });
        let least = least.min().expect("five runs");
        assert!(least < Duration::from_millis(130), "{least:?}");
    });
}

#[test]
fn a_probe_says_what_the_target_is() {
    let scratch = Scratch::new(MIB);
    let output = engine()
        .arg("probe")
        .arg(scratch.path())
        .output()
        .expect("a probe");
    let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&facts["kind"], &facts["size_bytes"]),
        (&json!("file"), &json!(MIB))
    );
    assert_eq!(facts["direct"], true);
    assert_eq!(facts["version"], env!("CARGO_PKG_VERSION"));
    let output = engine()
        .args(["probe", "/nonexistent"])
        .output()
        .expect("a probe");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_streams_of_a_workload_run_at_the_same_time() {
    let scratch = Scratch::new(8 * MIB);
    let mut job = scratch.job(json!({"run_ns": 200_000_000, "qd": 2}));
    let fields = json!({
        "name": "writer", "pattern": "sequential", "read_percent": 0.0, "qd": 4,
        "region_start_bytes": 4 * MIB,
        "rate": {"iops": null, "bytes_per_s": 4_096_000.0, "arrivals": "fixed"}});
    let writer = common::stream(8 * MIB, &fields);
    job["streams"].as_array_mut().expect("streams").push(writer);
    let events = run(&job).successful();
    let streams = &events.result()["streams"];
    // On a slow disk the last arrivals may still wait when the run ends.
    let ios = streams[1]["directions"]["write"]["ios"].as_u64();
    let backlog = streams[1]["backlog_ios"].as_u64();
    assert_eq!(ios.zip(backlog).map(|(done, due)| done + due), Some(200));
    assert_eq!(
        streams[1]["directions"]
            .as_object()
            .map(serde_json::Map::len),
        Some(1)
    );
    assert!(
        streams[0]["directions"]["read"]["ios"]
            .as_u64()
            .is_some_and(|ios| ios > 200)
    );
    assert!(
        scratch.content()[..4 * MIB as usize]
            .iter()
            .all(|&byte| byte == 0)
    );
}
