//! What is reported is what happened.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{MIB, MODES, Scratch, calmly, finish, run, size, start, stream};
use serde_json::{Value, json};

const MAGIC: &[u8] = b"ioplanVB";

fn u64_of(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Whether a block carries the stamp of its own offset.
fn stamped(content: &[u8], block: usize) -> bool {
    let header = &content[block * 512..block * 512 + 16];
    header[..8] == *MAGIC && header[8..] == (block as u64 * 512).to_le_bytes()
}

#[test]
fn a_pass_writes_every_block_once() {
    let odd = 4 * MIB + 3 * 512;
    for mode in MODES {
        for (pattern, bytes, block, threads) in [
            ("random", 4 * MIB, 4096, 1),
            ("random", 4 * MIB, 4096, 3),
            ("sequential", odd, 131_072, 1),
            ("sequential", odd, 16_384, 2),
        ] {
            let scratch = Scratch::new(bytes);
            let events = run(&scratch.job(json!({
                "mode": mode, "pattern": pattern, "read_percent": 0.0, "permuted": true, "passes": 1.0, "qd": 8,
                "threads": threads, "write_sizes": size(block), "verify": true})))
            .successful();
            assert_eq!(u64_of(&events.counts("write")["bytes"]), bytes);
            let content = scratch.content();
            assert_eq!(content.len() as u64, bytes, "the target was extended");
            assert!((0..content.len() / 512).all(|block| stamped(&content, block)));
        }
    }
}

#[test]
fn half_a_pass_writes_half_of_the_blocks() {
    let scratch = Scratch::new(8 * MIB);
    let events = run(&scratch.job(json!({
        "read_percent": 0.0, "permuted": true, "passes": 0.5, "qd": 16, "threads": 2, "verify": true})));
    assert_eq!(events.successful().ios("write"), 1024);
    let content = scratch.content();
    let written = (0..content.len() / 512).filter(|&block| stamped(&content, block));
    assert_eq!(written.count(), 8192);
}

#[test]
fn progress_adds_up_to_the_result() {
    let scratch = Scratch::new(16 * MIB);
    for mode in MODES {
        let mut job = scratch.job(json!({
            "mode": mode, "qd": 4, "read_percent": 70.0, "warmup_ns": 120_000_000,
            "run_ns": 430_000_000, "interval_ns": 50_000_000, "threads": 2}));
        let more = json!({"name": "second", "pattern": "sequential", "qd": 2});
        job["streams"]
            .as_array_mut()
            .expect("streams")
            .push(stream(16 * MIB, &more));
        let events = run(&job).successful();
        let lines = events.of("progress");
        let (warmup, measured): (Vec<&Value>, Vec<&Value>) =
            lines.into_iter().partition(|line| line["warmup"] == true);
        assert_eq!((warmup.len(), measured.len()), (3, 9), "{mode}");
        assert_eq!(warmup[2]["interval_ns"], 20_000_000);
        for (at, result) in events.result()["streams"]
            .as_array()
            .expect("two")
            .iter()
            .enumerate()
        {
            for (direction, total) in result["directions"].as_object().expect("directions") {
                let parts = measured
                    .iter()
                    .map(|line| &line["streams"][at]["directions"][direction]);
                check_sum(parts.collect(), total);
            }
        }
        let length_ns: u64 = measured
            .iter()
            .map(|line| u64_of(&line["interval_ns"]))
            .sum();
        assert_eq!(length_ns, u64_of(&measured[8]["t_ns"]));
    }
}

fn check_sum(parts: Vec<&Value>, total: &Value) {
    for field in ["ios", "bytes", "errors", "sum_ns"] {
        let sum: u64 = parts.iter().map(|part| u64_of(&part[field])).sum();
        assert_eq!(sum, u64_of(&total[field]), "{field}");
    }
    let did = parts.iter().filter(|part| u64_of(&part["ios"]) > 0);
    assert_eq!(
        did.clone().map(|part| u64_of(&part["min_ns"])).min(),
        total["min_ns"].as_u64()
    );
    assert_eq!(
        did.map(|part| u64_of(&part["max_ns"])).max(),
        total["max_ns"].as_u64()
    );
    let mut bins = std::collections::BTreeMap::new();
    for part in parts {
        for pair in part["bins"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .chunks(2)
        {
            *bins.entry(u64_of(&pair[0])).or_insert(0) += u64_of(&pair[1]);
        }
    }
    let flat: Vec<u64> = bins
        .into_iter()
        .flat_map(|(index, count)| [index, count])
        .collect();
    assert_eq!(json!(flat), total["bins"]);
    assert_eq!(
        flat.iter().skip(1).step_by(2).sum::<u64>(),
        u64_of(&total["ios"])
    );
}

#[test]
fn the_queue_depth_is_held() {
    calmly(|| {
        let scratch = Scratch::new(64 * MIB);
        for mode in MODES {
            for qd in [1, 4, 32] {
                let events = run(&scratch.job(json!({
                "mode": mode, "qd": qd, "run_ns": 400_000_000, "read_only": true})));
                let events = events.successful();
                let depth = events.mean_depth() / f64::from(qd);
                // A thread for each slot waits for a CPU and for the lane between two I/Os,
                // and so does a single I/O at a time for its loop: that is no latency.
                let least = if mode == "sync" || qd == 1 { 0.5 } else { 0.98 };
                assert!(depth > least && depth < 1.005, "{mode} qd {qd}: {depth}");
            }
        }
    });
}

/// Holes are answered at once, inside the call; blocks on the disk are not to wait for them.
#[test]
fn what_is_answered_at_once_does_not_delay_the_rest() {
    calmly(|| {
        let (written, bytes) = (64 << 10, 4 << 30);
        let scratch = Scratch::new(written);
        let fields = json!({"qd": 8, "run_ns": 700_000_000});
        let alone = run(&scratch.job(fields.clone())).successful();
        let file = std::fs::File::options().write(true).open(scratch.path());
        file.and_then(|file| file.set_len(bytes)).expect("holes");
        let mixed = run(&common::job(&scratch.path(), bytes, fields)).successful();
        let max_ns = |events: &common::Events| u64_of(&events.counts("read")["max_ns"]);
        let (alone_ns, mixed_ns) = (max_ns(&alone), max_ns(&mixed));
        assert!(
            mixed_ns < 20_000_000.max(3 * alone_ns),
            "{mixed_ns} ns, {alone_ns} ns alone"
        );
        assert!(mixed.ios("read") > alone.ios("read"));
    });
}

#[test]
fn sizes_and_directions_have_their_shares() {
    let scratch = Scratch::new(16 * MIB);
    let sizes =
        json!([{"size_bytes": 512, "percent": 25.0}, {"size_bytes": 8192, "percent": 75.0}]);
    for mode in MODES {
        let events = run(&scratch.job(json!({
            "mode": mode, "qd": 8, "read_percent": 60.0, "limit_bytes": 40 * MIB,
            "read_sizes": sizes, "write_sizes": size(4096)})));
        let events = events.successful();
        let (reads, writes) = (events.ios("read") as f64, events.ios("write") as f64);
        assert!((reads / (reads + writes) - 0.6).abs() < 0.03);
        let mean_bytes = u64_of(&events.counts("read")["bytes"]) as f64 / reads;
        assert!((mean_bytes / (0.25 * 512.0 + 0.75 * 8192.0) - 1.0).abs() < 0.03);
        assert_eq!(
            u64_of(&events.counts("write")["bytes"]),
            4096 * writes as u64
        );
    }
}

#[test]
fn a_limit_is_reached_and_not_passed_by_more_than_one_io() {
    let scratch = Scratch::new(16 * MIB);
    for mode in MODES {
        let events = run(&scratch.job(json!({
            "mode": mode, "qd": 8, "threads": 2, "limit_bytes": 5_000_000, "warmup_ns": 20_000_000})));
        let bytes = u64_of(&events.successful().counts("read")["bytes"]);
        assert!((5_000_000..5_000_000 + 4096).contains(&bytes), "{bytes}");
    }
}

#[test]
fn every_arrival_is_counted_or_in_the_backlog() {
    let scratch = Scratch::new(16 * MIB);
    for mode in MODES {
        for arrivals in ["fixed", "poisson"] {
            let events = run(&scratch.job(json!({
                "mode": mode, "qd": 8, "run_ns": 500_000_000, "threads": 2,
                "rate": {"iops": 2000.0, "bytes_per_s": null, "arrivals": arrivals}})));
            let events = events.successful();
            let backlog = u64_of(&events.result()["streams"][0]["backlog_ios"]);
            let all = (events.ios("read") + backlog) as f64;
            let spread = if arrivals == "fixed" {
                0.0
            } else {
                5.0 * 1000f64.sqrt()
            };
            assert!((all - 1000.0).abs() <= spread, "{mode} {arrivals}: {all}");
            assert_eq!(events.result()["run_ns"], 500_000_000);
        }
    }
}

#[test]
fn what_cannot_be_done_in_time_is_backlog_and_late() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            let events = run(&scratch.job(json!({
            "mode": mode, "run_ns": 300_000_000, "read_percent": 0.0, "sync_every": 1,
            "rate": {"iops": 1e7, "bytes_per_s": null, "arrivals": "fixed"}})));
            let events = events.successful();
            let backlog = u64_of(&events.result()["streams"][0]["backlog_ios"]);
            assert!(events.ios("write") + backlog >= 2_999_990, "{backlog}");
            assert!(events.ios("write") + backlog <= 3_000_000, "{backlog}");
            // All that were done were due at the beginning, and the last one ends with the run.
            let max_ns = u64_of(&events.counts("write")["max_ns"]);
            assert!(max_ns > 290_000_000, "{max_ns}");
        }
    });
}

#[test]
fn a_stall_is_seen_by_every_arrival_that_it_delayed() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            let child = start(&scratch.job(json!({
            "mode": mode, "qd": 4, "run_ns": 1_000_000_000,
            "rate": {"iops": 2000.0, "bytes_per_s": null, "arrivals": "fixed"}})));
            let signal = |signal| {
                // SAFETY: the child has not been waited for, so that its id is its own.
                unsafe { libc::kill(child.id() as i32, signal) };
            };
            std::thread::sleep(Duration::from_millis(300));
            let stalls = Stalls::watched();
            signal(libc::SIGSTOP);
            let stopped = Instant::now();
            std::thread::sleep(Duration::from_millis(200));
            let stop_s = stopped.elapsed().as_secs_f64();
            signal(libc::SIGCONT);
            let events = finish(child).successful();
            let result = events.result();
            let backlog = u64_of(&result["streams"][0]["backlog_ios"]);
            assert_eq!(events.ios("read") + backlog, 2000);
            // Arrivals of 2000/s wait for 0 to `stop_s`, together 1000 stop_s² seconds; and
            // so they do for each stall of the machine, of which a thread of ours sees some.
            let waited_s = events.counts("read")["sum_ns"].as_f64().expect("a sum") / 1e9;
            let known_s = 1000.0 * stop_s * stop_s;
            let machine_s = 1000.0 * stalls.squared_s();
            let possible = 0.9 * known_s..1.5 * known_s + 20.0 * machine_s;
            assert!(
                possible.contains(&waited_s),
                "{mode}: {waited_s} s of {possible:?}"
            );
        }
    });
}

/// How late a thread of this process woke up: what the machine does to all of them.
struct Stalls {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Stalls {
    fn watched() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::spawn(move || {
            let (mut before, mut squared_s) = (Instant::now(), 0.0);
            while !end.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                let late = before.elapsed().saturating_sub(Duration::from_millis(2));
                squared_s += late.as_secs_f64().powi(2);
                before = Instant::now();
            }
            squared_s
        });
        Self { ended, thread }
    }

    /// The sum of the squares of all delays so far, in square seconds.
    fn squared_s(self) -> f64 {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watch ended")
    }
}

#[test]
fn flushes_are_counted_beside_the_writes() {
    let scratch = Scratch::new(MIB);
    for mode in MODES {
        let events = run(&scratch.job(json!({
            "mode": mode, "read_percent": 0.0, "sync_every": 8, "limit_bytes": 65 * 4096})));
        let events = events.successful();
        assert_eq!(events.ios("write"), 65);
        assert_eq!(events.result()["streams"][0]["sync_ios"], 8);
    }
}

#[test]
fn trims_punch_holes_and_keep_the_size() {
    for mode in MODES {
        let scratch = Scratch::new(MIB);
        run(&scratch.job(json!({"read_percent": 0.0, "permuted": true, "passes": 1.0, "qd": 4})))
            .successful();
        assert!(
            scratch
                .content()
                .chunks(4096)
                .all(|block| block.iter().any(|&byte| byte != 0))
        );
        let events = run(&scratch.job(json!({
            "mode": mode, "trim_percent": 100.0, "permuted": true, "passes": 1.0, "qd": 4})));
        let events = events.successful();
        assert_eq!((events.ios("trim"), events.ios("write")), (256, 0));
        let content = scratch.content();
        assert!(content.len() as u64 == MIB && content.iter().all(|&byte| byte == 0));
    }
}

#[test]
fn verify_finds_one_flipped_bit() {
    for mode in MODES {
        let scratch = Scratch::new(MIB);
        let fields = json!({"mode": mode, "qd": 4, "permuted": true, "passes": 1.0, "verify": true, "read_percent": 0.0});
        run(&scratch.job(fields)).successful();
        let fields = json!({
            "mode": mode, "qd": 4, "permuted": true, "passes": 1.0, "verify": true, "read_only": true});
        let clean = run(&scratch.job(fields.clone())).successful();
        assert_eq!(clean.result()["streams"][0]["verified_bytes"], MIB);
        assert_eq!(clean.result()["streams"][0]["verify_errors"], 0);
        let mut content = scratch.content();
        content[300_123] ^= 4;
        std::fs::write(scratch.path(), content).expect("the file is ours");
        let spoilt = run(&scratch.job(fields)).successful();
        assert_eq!(spoilt.result()["streams"][0]["verify_errors"], 1);
        let verify = &spoilt.result()["facts"]["verify"];
        assert_eq!(
            (&verify["read"], &verify["verified"]),
            (&json!(2048), &json!(2047))
        );
        assert_eq!(verify["checksum"], 1);
        assert_eq!(verify["first"][0]["offset"], 300_123 / 512 * 512);
    }
}

#[test]
fn mixed_verification_at_depth_finds_no_error_on_a_sound_target() {
    let scratch = Scratch::new(256 * 1024);
    for mode in MODES {
        let events = run(&scratch.job(json!({
            "mode": mode, "qd": 16, "threads": 2, "read_percent": 50.0, "trim_percent": 5.0,
            "verify": true, "run_ns": 300_000_000,
            "read_sizes": [{"size_bytes": 512, "percent": 50.0}, {"size_bytes": 8192, "percent": 50.0}]})));
        let events = events.successful();
        let stream = &events.result()["streams"][0];
        assert_eq!(stream["verify_errors"], 0, "{}", events.result()["facts"]);
        assert!(u64_of(&stream["verified_bytes"]) > 100_000);
    }
}

#[test]
fn a_seed_gives_the_same_io_again() {
    let content = |seed: u64, mode: &str| {
        let scratch = Scratch::new(MIB);
        run(&scratch.job(json!({
            "mode": mode, "seed": seed, "read_percent": 0.0, "limit_bytes": 20 * 4096})))
        .successful();
        scratch.content()
    };
    let written = |content: &[u8]| -> Vec<usize> {
        let blocks = content.chunks(4096).enumerate();
        blocks
            .filter(|(_, block)| block.iter().any(|&b| b != 0))
            .map(|(at, _)| at)
            .collect()
    };
    let first = written(&content(7, "io_uring"));
    assert_eq!(first, written(&content(7, "io_uring")));
    assert_eq!(first, written(&content(7, "sync")));
    assert_ne!(first, written(&content(8, "io_uring")));
}
