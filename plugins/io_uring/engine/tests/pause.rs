//! Pauses of a closed loop (think time).

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Events, MIB, MODES, Scratch, calmly, finish, job, run, start};
use serde_json::json;

/// Long enough for what a busy machine adds to it not to matter.
const PAUSE_NS: u64 = 10_000_000;

fn mean_latency_ns(events: &Events) -> f64 {
    let read = events.counts("read");
    read["sum_ns"].as_f64().expect("a sum") / events.ios("read") as f64
}

fn iops(events: &Events) -> f64 {
    let run_ns = events.result()["run_ns"].as_f64().expect("a time");
    events.ios("read") as f64 * 1e9 / run_ns
}

/// The least of several tries, which other programs may disturb.
fn best(mut deviation: impl FnMut() -> f64, enough: f64) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..8 {
        best = best.min(deviation());
        if best < enough {
            break;
        }
    }
    best
}

/// The share of the time in which the thread waited for a CPU.
fn waited_share(events: &Events) -> f64 {
    let threads = &events.result()["facts"]["conditions"]["threads"];
    threads["main"]["waited_percent"].as_f64().unwrap_or(0.0) / 100.0
}

#[test]
fn at_depth_1_an_io_takes_its_latency_and_the_pause() {
    let scratch = Scratch::new(MIB);
    for mode in MODES {
        for path in [scratch.path().as_path(), Path::new("/dev/zero")] {
            let fields = json!({
                "mode": mode, "run_ns": 1_000_000_000, "pause_ns": PAUSE_NS, "read_only": true});
            let off = best(
                || {
                    let events = run(&job(path, MIB, fields.clone())).successful();
                    let expected = 1e9 / (PAUSE_NS as f64 + mean_latency_ns(&events));
                    (iops(&events) / expected - 1.0).abs() - waited_share(&events)
                },
                0.04,
            );
            assert!(off < 0.04, "{mode} {path:?}: {off}");
        }
    }
}

#[test]
fn a_pause_every_64_comes_after_64() {
    let scratch = Scratch::new(MIB);
    for mode in MODES {
        let fields = json!({
            "mode": mode, "run_ns": 1_000_000_000, "qd": 8, "pause_ns": PAUSE_NS, "pause_every": 64});
        let off = best(
            || {
                let events = run(&scratch.job(fields.clone())).successful();
                // A group takes 64 / 8 latencies at least, and some more to get going.
                let group_ns = PAUSE_NS as f64 + 8.0 * mean_latency_ns(&events);
                (iops(&events) / (64e9 / group_ns) - 1.0).abs() - waited_share(&events)
            },
            0.05,
        );
        assert!(off < 0.08, "{mode}: {off}");
    }
}

/// The end of the work comes before the last pause, and so the I/Os are exact.
#[test]
fn pauses_are_counted_by_thread_and_by_io() {
    let scratch = Scratch::new(8 * MIB);
    for mode in MODES {
        for (every, qd, threads) in [(1, 4, 1), (3, 4, 1), (10, 4, 2), (8, 1, 1)] {
            let ios: u64 = 60;
            let pauses = (ios / threads).div_ceil(every) - 1;
            let (least_ns, pause_ns) = (600e6, 600_000_000 / pauses);
            let job = scratch.job(json!({
                "mode": mode, "qd": qd, "threads": threads, "pause_ns": pause_ns,
                "pause_every": every, "passes": ios as f64 / 2048.0}));
            let more = best(
                || {
                    let events = run(&job).successful();
                    assert_eq!(events.ios("read"), ios);
                    let run_ns = events.result()["run_ns"].as_f64().expect("a time");
                    assert!(run_ns >= least_ns - 1e3, "{mode} {every}: {run_ns}");
                    run_ns / least_ns - 1.0
                },
                0.3,
            );
            assert!(more < 0.4, "{mode} {every}: {more}");
        }
    }
}

#[test]
fn no_more_than_a_group_is_in_flight() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            for every in [1, 2] {
                let events = run(&scratch.job(json!({
                "mode": mode, "qd": 8, "run_ns": 200_000_000, "pause_ns": 1_000_000,
                "pause_every": every})))
                .successful();
                // A pause of 1 ms after each group: at most 200 groups.
                assert!(events.ios("read") <= 201 * every, "{mode} {every}");
                assert!(events.mean_depth() < every as f64);
            }
        }
    });
}

#[test]
fn latencies_are_those_of_the_ios() {
    calmly(|| {
        for mode in MODES {
            let fields = |pause_ns: u64| json!({"mode": mode, "run_ns": 300_000_000, "pause_ns": pause_ns, "read_only": true});
            let read =
                |pause_ns| run(&job(Path::new("/dev/zero"), MIB, fields(pause_ns))).successful();
            let paused = read(2_000_000);
            // A cold cache costs some microseconds; the pause is two thousand.
            let bins = paused.counts("read")["bins"].as_array().expect("bins");
            let half = bins.chunks(2).scan(0, |seen, bin| {
                *seen += bin[1].as_u64().unwrap_or(0);
                Some((*seen, bin[0].as_u64().unwrap_or(0)))
            });
            let ios = paused.ios("read");
            let median = half.into_iter().find(|(seen, _)| 2 * seen >= ios);
            // Bin 1280 is the one of 2^17 ns.
            assert!(median.is_some_and(|(_, bin)| bin < 1280), "{median:?}");
            assert!(mean_latency_ns(&paused) < 500_000.0);
        }
    });
}

#[test]
fn a_long_pause_delays_neither_the_end_nor_a_stop_nor_progress() {
    calmly(|| {
        let scratch = Scratch::new(MIB);
        for mode in MODES {
            let fields = json!({
            "mode": mode, "qd": 4, "run_ns": 600_000_000, "interval_ns": 100_000_000,
            "pause_ns": 600_000_000_000u64});
            let began = Instant::now();
            let events = run(&scratch.job(fields)).successful();
            assert!(began.elapsed() < Duration::from_secs(5), "{mode}");
            assert_eq!(events.ios("read"), 1);
            assert_eq!(events.of("progress").len(), 6);
            let run_ns = events.result()["run_ns"].as_u64().unwrap_or(0);
            assert!((300_000_000..=600_000_000).contains(&run_ns), "{run_ns}");
            let cpu = &events.result()["cpu"];
            let spent_ns = [&cpu["user_ns"], &cpu["system_ns"]].map(|ns| ns.as_u64().unwrap_or(0));
            assert!(spent_ns.iter().sum::<u64>() < 100_000_000, "{cpu}");
            let child = start(&scratch.job(json!({
            "mode": mode, "qd": 4, "run_ns": 600_000_000_000u64, "pause_ns": u64::MAX})));
            std::thread::sleep(Duration::from_millis(200));
            let asked = Instant::now();
            // SAFETY: the child has not been waited for, so that its id is its own.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
            let events = finish(child).successful();
            assert!(asked.elapsed() < Duration::from_secs(2), "{mode}");
            assert_eq!(events.result()["stopped"], true);
        }
    });
}

#[test]
fn a_limit_is_reached_before_the_last_pause() {
    let scratch = Scratch::new(MIB);
    for mode in MODES {
        let began = Instant::now();
        let events = run(&scratch.job(json!({
            "mode": mode, "qd": 4, "limit_bytes": 8 * 4096, "pause_every": 8,
            "pause_ns": 600_000_000_000u64, "warmup_ns": 0})));
        assert_eq!(events.successful().ios("read"), 8);
        assert!(began.elapsed() < Duration::from_secs(5), "{mode}");
    }
}

#[test]
fn flushes_trims_and_verification_go_on_as_before() {
    for mode in MODES {
        let scratch = Scratch::new(MIB);
        let events = run(&scratch.job(json!({
            "mode": mode, "qd": 4, "read_percent": 0.0, "sync_every": 8, "verify": true,
            "pause_ns": 2_000_000, "pause_every": 4, "limit_bytes": 65 * 4096})));
        let events = events.successful();
        assert_eq!(events.ios("write"), 65);
        assert_eq!(events.result()["streams"][0]["sync_ios"], 8);
        let events = run(&scratch.job(json!({
            "mode": mode, "qd": 4, "trim_percent": 100.0, "passes": 0.25,
            "pause_ns": 1_000_000, "pause_every": 4})));
        assert_eq!(events.successful().ios("trim"), 64);
    }
}

#[test]
fn a_rate_has_no_pauses() {
    let scratch = Scratch::new(MIB);
    let rate = json!({"iops": 1000.0, "bytes_per_s": null, "arrivals": "fixed"});
    for (fields, word) in [
        (json!({"pause_ns": 1, "rate": rate}), "a rate and a pause"),
        (json!({"pause_ns": 1, "pause_every": 0}), "pause_every is 0"),
    ] {
        let mut all = json!({"run_ns": 1_000_000});
        for (key, value) in fields.as_object().expect("an object") {
            all[key] = value.clone();
        }
        let events = run(&scratch.job(all));
        assert_eq!((events.cause(), events.code), (Some("bad-job"), Some(1)));
        let message = events.lines[0]["message"].as_str();
        assert!(
            message.is_some_and(|text| text.contains(word)),
            "{message:?}"
        );
    }
    let fields = json!({"run_ns": 20_000_000, "rate": rate, "pause_every": 9});
    run(&scratch.job(fields)).successful();
}
