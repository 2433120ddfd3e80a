//! Whether a job can be run as it stands: all checks that need no target.

use crate::job::failure::{Cause, Failure};
use crate::job::{Distribution, Job, Pattern, SizeShare, Stream};
use crate::pattern::span::Span;
use crate::pattern::walk::{ThreadShare, part_of_region};

/// A submission queue entry's length is 32 bits, and the kernel moves at most this.
const LARGEST_BYTES: u64 = 0x7fff_f000;
const SHORTEST_INTERVAL_NS: u64 = 1_000_000;
const LARGEST_QD: usize = 16_384;
const LARGEST_THREADS: usize = 4096;
/// As many as `Op::target` tells apart.
const MOST_TARGETS: usize = 256;

type Checked = Result<(), Failure>;

pub fn check(job: &Job) -> Checked {
    require(!job.streams.is_empty(), || "the job has no streams".into())?;
    let limited = job.run_ns.is_some() || job.limit_bytes.is_some() || job.passes.is_some();
    require(limited, || {
        "the job has no end: give run_ns, limit_bytes or passes".into()
    })?;
    require(job.run_ns != Some(0), || "run_ns is 0".into())?;
    require(job.limit_bytes != Some(0), || "limit_bytes is 0".into())?;
    require(job.passes.is_none_or(|passes| passes > 0.0), || {
        "passes must be above 0".into()
    })?;
    require(job.interval_ns >= SHORTEST_INTERVAL_NS, || {
        format!("interval_ns is below {SHORTEST_INTERVAL_NS}, a millisecond")
    })?;
    let block = job.block_bytes;
    require(block >= 512 && block.is_power_of_two(), || {
        format!("block_bytes is {block}; it must be a power of two from 512 on")
    })?;
    let threads = job.lanes();
    require(threads <= LARGEST_THREADS, || {
        format!("{threads} threads are more than {LARGEST_THREADS}")
    })?;
    for stream in &job.streams {
        check_stream(job, stream)?;
    }
    check_targets(job)?;
    check_follows(job)?;
    check_verify(job)
}

/// What several targets cannot have: a flush is of one, and so are the file of stamps and
/// the character device of an NVMe namespace.
fn check_targets(job: &Job) -> Checked {
    let count = job.paths().len();
    for stream in &job.streams {
        let name = &stream.name;
        let mut seen = stream.targets().to_vec();
        seen.sort_unstable();
        seen.dedup();
        let known = seen.iter().all(|target| *target < count);
        require(seen.len() <= MOST_TARGETS, || {
            format!("stream {name} has more than {MOST_TARGETS} targets")
        })?;
        require(known && seen.len() == stream.targets().len(), || {
            format!("stream {name}: target_numbers has one that the job has not, or one twice")
        })?;
        let one_only = stream.sync_every.is_some() || stream.replay.is_some();
        require(!(stream.takes_turns() && one_only), || {
            format!("stream {name} takes turns on its targets: leave out sync and replay")
        })?;
    }
    let one_only = job.passthrough || job.verifies();
    require(count == 1 || !one_only, || {
        "passthrough and verify are for a run on one target".into()
    })
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds {
        return Ok(());
    }
    Err(Failure::bad_job(message()))
}

fn check_stream(job: &Job, stream: &Stream) -> Checked {
    let name = &stream.name;
    require(!(job.read_only && stream.modifies()), || {
        format!("stream {name} writes or trims, but the job is read-only; set read_only to false")
    })?;
    require((1..=LARGEST_QD).contains(&stream.qd), || {
        format!(
            "stream {name}: qd {} is not within 1..{LARGEST_QD}",
            stream.qd
        )
    })?;
    require(stream.threads >= 1, || {
        format!("stream {name} has no threads")
    })?;
    require(stream.sync_every != Some(0), || {
        format!("stream {name}: sync_every is 0")
    })?;
    let percents = [
        stream.read_percent,
        stream.trim_percent,
        stream.data.percent,
        stream.dedup_percent,
    ];
    for percent in percents {
        require((0.0..=100.0).contains(&percent), || {
            format!("stream {name}: {percent} % is not within 0..100")
        })?;
    }
    check_random(stream)?;
    check_shaped(job, stream)?;
    check_rate(job, stream)?;
    check_pause(stream)?;
    check_part(job, stream)?;
    check_distribution(stream)?;
    check_sizes(job, stream)?;
    check_region(job, stream)?;
    check_room(job, stream)
}

fn check_random(stream: &Stream) -> Checked {
    let name = &stream.name;
    let percents = stream.drawn_percents();
    let within = percents
        .iter()
        .all(|percent| (0.0..=100.0).contains(percent));
    let any = percents.iter().any(|percent| *percent > 0.0);
    require(within && any, || {
        format!("stream {name}: {percents:?} % random is not above 0 and up to 100")
    })?;
    let all_drawn = percents == [100.0; 2];
    let random = stream.pattern == Pattern::Random;
    require(
        all_drawn || (random && !stream.permuted && !stream.verify),
        || {
            format!(
                "stream {name}: a share of random I/O needs random I/O that is neither permuted nor verified"
            )
        },
    )
}

fn check_shaped(job: &Job, stream: &Stream) -> Checked {
    let Some(spare) = stream.spare_percent else {
        return Ok(());
    };
    let plain = !stream.permuted && !stream.verify && stream.drawn_percents() == [100.0; 2];
    let uniform = matches!(stream.distribution, crate::job::Distribution::Uniform {});
    let single = stream.single_size_bytes().is_some() && stream.pattern == Pattern::Random;
    let valid = (1.0..=100.0).contains(&spare) && job.passes.is_some();
    require(plain && uniform && single && valid, || {
        format!(
            "stream {}: spare_percent, from 1 to 100, needs passes and uniform random writes of one size",
            stream.name
        )
    })
}

fn check_rate(job: &Job, stream: &Stream) -> Checked {
    let Some(rate) = &stream.rate else {
        return Ok(());
    };
    let name = &stream.name;
    let one = rate.iops.is_some() != rate.bytes_per_s.is_some();
    let value = rate.iops.or(rate.bytes_per_s).unwrap_or(0.0);
    require(one && value > 0.0 && value.is_finite(), || {
        format!("stream {name}: a rate has either iops or bytes_per_s, above 0")
    })?;
    require((0.01..=100.0).contains(&rate.gap_variation), || {
        format!("stream {name}: gap_variation is from 0.01 to 100")
    })?;
    let ends = [rate.first_per_s, rate.last_per_s];
    let all = rate.phases.iter().map(|phase| phase.per_s);
    let valid = all
        .chain(ends.into_iter().flatten())
        .all(|per_s| per_s >= 0.0 && per_s.is_finite());
    let lasting = rate.phases.iter().all(|phase| phase.length_ns > 0);
    let working = rate.phases.is_empty() || rate.phases.iter().any(|phase| phase.per_s > 0.0);
    require(valid && lasting && working, || {
        format!("stream {name}: each phase lasts, and some have a rate above 0")
    })?;
    let ramps = ends.iter().flatten().count();
    let rises = ramps == 2 && rate.phases.is_empty() && job.run_ns.is_some();
    require(ramps == 0 || rises, || {
        format!("stream {name}: a ramp has its first and its last rate, no phases, and a run_ns")
    })
}

fn check_pause(stream: &Stream) -> Checked {
    let name = &stream.name;
    require(stream.pause_every >= 1, || {
        format!("stream {name}: pause_every is 0")
    })?;
    require(!(stream.pauses() && stream.rate.is_some()), || {
        format!(
            "stream {name} has a rate and a pause: a rate issues I/Os when they are due (open loop), \
             a pause after others have completed (closed loop); leave out one of them"
        )
    })
}

fn check_part(job: &Job, stream: &Stream) -> Checked {
    if stream.starts_ns == 0 && stream.ends_ns.is_none() {
        return Ok(());
    }
    let run_ns = job.run_ns.unwrap_or(0);
    let ends_ns = stream.ends_ns.unwrap_or(run_ns);
    require(stream.starts_ns < ends_ns && ends_ns <= run_ns, || {
        format!(
            "stream {} runs from {} to {ends_ns} ns, which is no part of a run of {run_ns} ns",
            stream.name, stream.starts_ns
        )
    })
}

fn check_distribution(stream: &Stream) -> Checked {
    let (holds, what) = match &stream.distribution {
        Distribution::Uniform {} => (true, ""),
        Distribution::Zipf { theta } => (*theta > 0.0 && *theta <= 5.0, "theta is not within 0..5"),
        Distribution::Pareto { h } => (*h > 0.0 && *h < 1.0, "h is not between 0 and 1"),
        Distribution::Normal {
            deviation_percent: percent,
        } => (
            *percent > 0.0 && *percent <= 100.0,
            "the deviation is not within 0..100 %",
        ),
        Distribution::Hotspots { spots } => {
            let space: f64 = spots.iter().map(|spot| spot.space_percent).sum();
            let io: f64 = spots.iter().map(|spot| spot.io_percent).sum();
            let positive = spots
                .iter()
                .all(|spot| spot.space_percent > 0.0 && spot.io_percent >= 0.0);
            (
                positive && adds_up(space) && adds_up(io),
                "the hotspots' columns do not add up to 100 %",
            )
        }
    };
    require(holds, || format!("stream {}: {what}", stream.name))
}

fn adds_up(percent: f64) -> bool {
    (percent - 100.0).abs() < 0.01
}

fn check_sizes(job: &Job, stream: &Stream) -> Checked {
    let name = &stream.name;
    let used: [(bool, &[SizeShare]); 2] = [
        (stream.reads(), &stream.read_sizes),
        (stream.modifies(), &stream.write_sizes),
    ];
    for (_, shares) in used.iter().filter(|(used, _)| *used) {
        let total: f64 = shares.iter().map(|share| share.percent).sum();
        let positive = shares.iter().all(|share| share.percent > 0.0);
        require(positive && adds_up(total), || {
            format!("stream {name}: the block sizes add up to {total} %, not 100 %")
        })?;
    }
    let aligned = |what: &str, bytes: u64| match bytes % job.block_bytes {
        0 if bytes > 0 => Ok(()),
        _ => Err(Failure::new(
            Cause::Unaligned,
            format!(
                "stream {name}: {what} of {bytes} bytes is no multiple of the logical block of {} bytes",
                job.block_bytes
            ),
        )),
    };
    for size_bytes in stream.used_sizes() {
        aligned("a block size", size_bytes)?;
        require(size_bytes <= LARGEST_BYTES, || {
            format!("stream {name}: {size_bytes} bytes are more than one I/O can move")
        })?;
    }
    stream
        .align_bytes
        .map_or(Ok(()), |bytes| aligned("an alignment", bytes))
}

fn check_region(job: &Job, stream: &Stream) -> Checked {
    let (start, end) = (stream.region_start_bytes, stream.region_end_bytes);
    let inside = start < end && end <= job.capacity_bytes;
    require(inside, || {
        let capacity = job.capacity_bytes;
        let name = &stream.name;
        format!("stream {name}: the region {start}..{end} is not within 0..{capacity} bytes")
    })?;
    let whole = start % job.block_bytes == 0 && end % job.block_bytes == 0;
    if whole {
        return Ok(());
    }
    let name = &stream.name;
    Err(Failure::new(
        Cause::Unaligned,
        format!("stream {name}: the region {start}..{end} is not in whole logical blocks"),
    ))
}

/// Each thread's part of the region must have room for each of its block sizes.
fn check_room(job: &Job, stream: &Stream) -> Checked {
    let own_part = stream.verify || stream.pattern == crate::job::Pattern::Sequential;
    let threads = if own_part { stream.threads } else { 1 };
    for thread in [0, threads - 1] {
        let share = ThreadShare {
            thread,
            threads,
            scatter_seed: 0,
            cover_seed: 0,
        };
        let (start, end) = part_of_region(stream, job.block_bytes, share);
        let fits = |size_bytes: u64| {
            let align_bytes = stream.align_bytes.unwrap_or(size_bytes);
            Span::new(start, end, size_bytes, align_bytes).count > 0
        };
        if let Some(size_bytes) = stream.used_sizes().find(|size_bytes| !fits(*size_bytes)) {
            return Err(Failure::new(
                Cause::TooSmall,
                format!(
                    "stream {}: an aligned I/O of {size_bytes} bytes has no room in {start}..{end}, \
                     a thread's part of the region; use a larger region or fewer threads",
                    stream.name
                ),
            ));
        }
    }
    Ok(())
}

/// No other stream may write where a stream verifies.
/// A log makes its writes durable, and waits for none of its followers.
fn check_follows(job: &Job) -> Checked {
    for (at, stream) in job.streams.iter().enumerate() {
        let Some(name) = &stream.follows else {
            continue;
        };
        let Some(log) = job.log_of(at) else {
            return Err(Failure::bad_job(format!(
                "stream {} follows {name}, which is no stream of the job",
                stream.name
            )));
        };
        let log = &job.streams[log];
        let durable = log.writes() && (log.fua || log.sync_every.is_some());
        require(durable && log.follows.is_none(), || {
            format!("stream {name} is followed: it needs fua or sync, and may follow none")
        })?;
        require(log.lanes() == log.threads && stream.writes(), || {
            format!(
                "stream {} follows {name}: one target, and writes",
                stream.name
            )
        })?;
    }
    Ok(())
}

fn check_verify(job: &Job) -> Checked {
    for (at, stream) in job.streams.iter().enumerate().filter(|(_, s)| s.verify) {
        if stream.retries > 0 {
            return Err(Failure::bad_job(format!(
                "stream {} verifies: what a write that failed has stored is unknown; \
                 leave out retry, or verify",
                stream.name
            )));
        }
        let others = job.streams.iter().enumerate();
        let mut others = others.filter(|(other, s)| *other != at && s.modifies());
        let overlap = others.find(|(_, other)| {
            other.region_start_bytes < stream.region_end_bytes
                && stream.region_start_bytes < other.region_end_bytes
        });
        if let Some((_, other)) = overlap {
            return Err(Failure::bad_job(format!(
                "stream {} writes where stream {} verifies; give them separate regions",
                other.name, stream.name
            )));
        }
    }
    Ok(())
}
