//! One run: job in, events out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::job::check;
use crate::job::event::{self, Cpu, Event, Facts, StreamReport};
use crate::job::failure::{Cause, Failure, describe_errno};
use crate::job::protocol::{self, PROTOCOL};
use crate::job::record;
use crate::job::{Job, Mode, Stream};
use crate::measure::clock::{self, Calibration};
use crate::measure::schedule::Schedule;
use crate::measure::tally::StreamCounts;
use crate::measure::timeline::Timeline;
use crate::pattern::trace::Replayed;
use crate::target::Target;
use crate::target::buffers;
use crate::target::stamps::Stamps;
use crate::threads::conditions::{self, Conditions, Machine, StreamSetup};
use crate::threads::crew::{self, Crew, RunContext};
use crate::threads::first::First;
use crate::threads::gate::{self, Gate};
use crate::threads::lane_end::LaneEnd;
use crate::threads::log::Logs;
use crate::threads::message::Message;
use crate::threads::mode;
use crate::threads::shared::Shared;
use crate::threads::signals;

/// How often the main thread checks for stuck threads.
const POLL_NS: u64 = 100_000_000;
/// A thread that is later than this after it should have given up is stuck.
const STUCK_NS: u64 = 500_000_000;

/// The outcome of a run whose events have been printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    Failed,
    /// Nobody reads the events any more.
    NoReader,
}

/// `starts` gives the start time of a job that awaits it.
pub fn run(text: &str, starts: Option<Receiver<u64>>) -> Result<Outcome, Failure> {
    let calibration = Calibration::start();
    let job: Job = protocol::parse(text)?;
    check::check(&job)?;
    signals::block();
    signals::exact_timers();
    let targets = Target::open_all(&job)?;
    let (mode, reason) = mode::choose(&job, &targets)?;
    require_memory(&job)?;
    let stamps = job.verifies().then(|| Stamps::open(&job)).transpose()?;
    let (sender, receiver) = mpsc::channel();
    signals::forward(sender.clone());
    gate::forward_start(&job, starts, sender.clone())?;
    let context = RunContext {
        shared: Arc::new(
            Shared::new(calibration.finish(), job.limit_bytes)
                .of_streams(&job.streams, job.targets.len())
                .replaying(Replayed::all(&job)?)
                .logging(Logs::of(&job)),
        ),
        job: Arc::new(job),
        targets,
        gate: Arc::default(),
        stamps: stamps.map(Arc::new),
        messages: sender,
    };
    let mut crew = match mode {
        Mode::Sync => crew::sync(&context)?,
        _ => crew::uring(&context)?,
    };
    crew.await_ready(&context.shared, &receiver)?;
    let started = Event::Started {
        protocol: PROTOCOL,
        mode: if mode == Mode::Sync {
            "sync"
        } else {
            "io_uring"
        },
        reason,
        facts: record::started_facts(&context, &crew),
    };
    if event::emit(&started).is_err() {
        return Ok(Outcome::NoReader);
    }
    let first = First::new(context.job.await_start);
    if context.job.await_start {
        gate::await_start(&context.shared, &receiver)?;
    }
    let mut run = Run::begin(&context, crew);
    drop(first);
    run.supervise(&receiver);
    if let Some(Err(error)) = context.stamps.as_ref().map(|stamps| stamps.close()) {
        run.failure = Some(Failure::internal("msync", &error));
    }
    Ok(run.report_result())
}

fn require_memory(job: &Job) -> Result<(), Failure> {
    let bytes = job.streams.iter().map(|stream| {
        let both = if stream.reads() && stream.writes() {
            2
        } else {
            1
        };
        let slots = (stream.qd * stream.lanes() * both) as u64;
        slots.saturating_mul(stream.largest_bytes())
    });
    buffers::require(bytes.fold(0, u64::saturating_add))
}

struct Run {
    job: Arc<Job>,
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    crew: Crew,
    schedule: Schedule,
    /// The start of the schedule by CLOCK_REALTIME.
    began_ns: u64,
    timeline: Timeline,
    ends: Vec<Option<LaneEnd>>,
    before: Option<(Cpu, Machine)>,
    stopped: bool,
    failure: Option<Failure>,
    has_reader: bool,
}

impl Run {
    fn begin(context: &RunContext, crew: Crew) -> Self {
        let job = context.job.clone();
        let (now_ns, began_ns) = (context.shared.clock.now_ns(), clock::realtime_ns());
        let schedule = Schedule::new(now_ns, job.warmup_ns, job.run_ns, job.interval_ns);
        context
            .shared
            .give_up_by(schedule.end_ns.saturating_add(context.shared.drain_ns()));
        let names = job
            .streams
            .iter()
            .map(|stream| stream.name.clone())
            .collect();
        let stream_of_lane = crew.lanes.iter().map(|id| id.stream).collect();
        let before = (job.warmup_ns == 0).then(|| state_now(&crew));
        context.gate.open(schedule);
        Self {
            job,
            shared: context.shared.clone(),
            gate: context.gate.clone(),
            ends: vec![None; crew.lanes.len()],
            crew,
            schedule,
            began_ns,
            timeline: Timeline::new(schedule, names, stream_of_lane),
            before,
            stopped: context.shared.stopped(),
            failure: None,
            has_reader: true,
        }
    }

    /// Prints progress until all lanes have ended.
    fn supervise(&mut self, messages: &Receiver<Message>) {
        while self.ends.iter().any(Option::is_none) {
            let now_ns = self.shared.clock.now_ns();
            if now_ns >= self.schedule.start_ns && self.before.is_none() {
                self.before = Some(state_now(&self.crew));
            }
            while let Some(line) = self.timeline.due(now_ns) {
                self.emit(&line);
            }
            let mut wake_ns = self.timeline.wake_ns().min(now_ns + POLL_NS);
            if self.before.is_none() {
                wake_ns = wake_ns.min(self.schedule.start_ns);
            }
            let wait = Duration::from_nanos(wake_ns.saturating_sub(now_ns).max(1));
            match messages.recv_timeout(wait) {
                Ok(message) => self.handle(message),
                Err(_) => self.poll_stuck(),
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Counts {
                lane,
                interval,
                reported,
                backlog_ios,
                counts,
            } => self
                .timeline
                .add(lane, interval, reported, backlog_ios, &counts),
            Message::Finished { lane, end } => self.ends[lane] = Some(*end),
            Message::Signal => {
                self.stopped = true;
                self.shared.stop();
            }
            Message::Failed(failure) => {
                self.failure.get_or_insert(failure);
                self.shared.stop();
            }
            Message::Ready { .. } | Message::Start { .. } => {}
        }
    }

    /// No message has come for a while: a thread may be stuck.
    fn poll_stuck(&mut self) {
        self.crew.tick(self.shared.clock.now_ns());
        self.give_up_stuck();
    }

    /// The lane of a thread that is stuck in a system call is finished for it in sync mode;
    /// in io_uring mode the thread owns its lane, whose counts are lost.
    fn give_up_stuck(&mut self) {
        let now_ns = self.shared.clock.now_ns();
        self.crew.abandon_stuck(now_ns);
        if now_ns < self.shared.give_up_ns().saturating_add(STUCK_NS) {
            return;
        }
        let stuck = LaneEnd {
            end_ns: now_ns,
            over_ns: now_ns,
            lost_ios: 1,
            ..LaneEnd::default()
        };
        for end in self.ends.iter_mut().filter(|end| end.is_none()) {
            *end = Some(stuck.clone());
        }
    }

    fn emit(&mut self, event: &Event) {
        if self.has_reader && event::emit(event).is_err() {
            self.has_reader = false;
            self.shared.stop();
        }
    }

    /// Prints the remaining progress, the result, and the failure if there is one.
    fn report_result(mut self) -> Outcome {
        let after = state_now(&self.crew);
        let ends: Vec<LaneEnd> = self.ends.iter().flatten().cloned().collect();
        let end_ns = ends.iter().map(|end| end.end_ns).max().unwrap_or(0);
        for line in self.timeline.rest(end_ns) {
            self.emit(&line);
        }
        let runs_ns = self.runs_ns(&ends);
        let conditions = self.conditions(&ends, after.1);
        let result = Event::Result {
            run_ns: self.run_ns(&runs_ns),
            stopped: self.stopped,
            streams: self
                .timeline
                .total_reports(&runs_ns, &self.gaps_ns(&runs_ns)),
            phases: self.phase_reports(&ends),
            cpu: record::cpu_between(self.before.map(|before| before.0), after.0),
            warnings: [self.warnings(&ends), conditions.warnings()].concat(),
            facts: self.result_facts(&conditions, &ends),
        };
        self.emit(&result);
        let failure = self.failure.take().or_else(|| self.io_failure());
        if let Some(failure) = &failure {
            self.emit(&Event::from(failure));
        }
        // The gate is kept until here: a thread may still be about to wait at it.
        drop(self.gate);
        match (self.has_reader, failure) {
            (false, _) => Outcome::NoReader,
            (true, Some(_)) => Outcome::Failed,
            (true, None) => Outcome::Complete,
        }
    }

    fn io_failure(&self) -> Option<Failure> {
        let (error, errors) = self.shared.fatal_error()?;
        let what = describe_errno(error.errno);
        Some(Failure::new(
            Cause::DeviceError,
            format!(
                "{}: {errors} I/Os failed, the first a {} of {} bytes at offset {}: {what}; \
                 see the kernel's log (dmesg) for the device's own words",
                error.target.as_ref().unwrap_or(&self.job.target),
                error.direction,
                error.size_bytes,
                error.offset_bytes
            ),
        ))
    }

    /// The time of each stream: see docs/engine.md, "run_ns".
    fn runs_ns(&self, ends: &[LaneEnd]) -> Vec<u64> {
        let streams = self.job.streams.iter().enumerate();
        let lanes = self.crew.lanes.iter().zip(ends);
        let of = |stream: usize| {
            let lanes = lanes.clone().filter(move |(id, _)| id.stream == stream);
            lanes.map(|(_, end)| end.clone()).collect::<Vec<_>>()
        };
        streams
            .map(|(at, stream)| {
                let by_passes = self.job.passes.is_some();
                let start_ns = self.schedule.start_ns + stream.starts_ns;
                record::stream_run_ns(stream, &of(at), start_ns, by_passes)
            })
            .collect()
    }

    /// The longest time that each stream went without a completed I/O.
    fn gaps_ns(&self, runs_ns: &[u64]) -> Vec<u64> {
        let streams = self.job.streams.iter().zip(runs_ns).enumerate();
        streams
            .map(|(at, (stream, run_ns))| {
                let begin_ns = self.schedule.start_ns + stream.starts_ns;
                let gap = self.shared.gap(at);
                gap.longest_until(begin_ns, begin_ns + run_ns)
            })
            .collect()
    }

    /// The longest time that a stream went without a completed I/O on a target.
    fn gap_on_ns(&self, stream: usize, target: &str, runs_ns: &[u64]) -> Option<u64> {
        let mut targets = self.job.targets.iter();
        let number = targets.position(|one| one.name == target)?;
        let begin_ns = self.schedule.start_ns + self.job.streams[stream].starts_ns;
        let gap = self.shared.gap_on(stream, number);
        Some(gap.longest_until(begin_ns, begin_ns + runs_ns[stream]))
    }

    /// Until the last stream ended, where some begin late, or were stopped before.
    fn run_ns(&self, runs_ns: &[u64]) -> u64 {
        let streams = self.job.streams.iter().zip(runs_ns);
        let streams = streams.filter(|(_, run_ns)| **run_ns > 0);
        let ends_ns = streams.map(|(stream, run_ns)| stream.starts_ns + run_ns);
        ends_ns.max().unwrap_or(0)
    }

    fn warnings(&self, ends: &[LaneEnd]) -> Vec<String> {
        let totals = self.timeline.totals();
        let directions = totals.iter().flat_map(|counts| &counts.directions);
        let errors: u64 = directions.map(|counts| counts.errors).sum();
        let lost: u64 = ends.iter().map(|end| end.lost_ios).sum();
        let backlog: u64 = ends.iter().map(|end| end.backlog_ios).sum();
        let drift_ppm = self.shared.clock.drift_ppm();
        let off = drift_ppm.abs() > 500.0;
        [
            (
                errors > 0,
                format!("{errors} I/Os failed; their latencies are not counted"),
            ),
            (
                lost > 0,
                format!("{lost} I/Os had not completed when the run was given up"),
            ),
            (
                backlog > 0,
                format!("the target fell behind the rate by {backlog} I/Os"),
            ),
            (
                off,
                format!("the clock went off the system's by {drift_ppm:.0} ppm"),
            ),
        ]
        .into_iter()
        .filter_map(|(holds, text)| holds.then_some(text))
        .collect()
    }

    fn conditions(&self, ends: &[LaneEnd], after: Machine) -> Conditions {
        let setup = |(at, stream): (usize, &Stream)| {
            let lanes = self.crew.lanes.iter().zip(ends);
            let backlog = lanes.filter(|(id, end)| id.stream == at && end.backlog_ios > 0);
            StreamSetup {
                name: stream.name.clone(),
                qd: stream.qd,
                busy_waits: self.job.polled
                    || stream.pauses()
                    || stream.is_open_loop() && backlog.count() == 0,
                timed: stream.is_open_loop() || stream.pauses(),
            }
        };
        Conditions {
            streams: self.job.streams.iter().enumerate().map(setup).collect(),
            loads: ends.iter().filter_map(|end| end.load).collect(),
            before: self.before.map_or(after, |before| before.1),
            after,
            timer_ns: conditions::timer_ns(),
        }
    }

    /// By CLOCK_REALTIME, when the last thread came through the gate.
    fn started_ns(&self, ends: &[LaneEnd]) -> u64 {
        let last_ns = ends.iter().map(|end| end.begun_ns).max().unwrap_or(0);
        self.began_ns + last_ns.saturating_sub(self.schedule.warmup_start_ns)
    }

    /// In blocks, of the warm-up as well.
    fn verify_facts(&self, ends: &[LaneEnd]) -> Value {
        let block_bytes = self.job.block_bytes;
        let verified: u64 = ends.iter().map(|end| end.verified_bytes).sum();
        let read: u64 = ends.iter().map(|end| end.verify_read_bytes).sum();
        let mut facts = self.shared.mismatch_facts(block_bytes);
        facts.insert("read".into(), json!(read / block_bytes));
        facts.insert("verified".into(), json!(verified / block_bytes));
        facts.into()
    }

    /// By stream, of those that replay a trace.
    fn lateness_facts(&self, ends: &[LaneEnd]) -> Option<Value> {
        let lanes = self.crew.lanes.iter().zip(ends);
        let found: Facts = lanes
            .filter_map(|(id, end)| {
                let name = self.job.streams[id.stream].name.clone();
                Some((name, end.lateness.as_ref()?.facts()))
            })
            .collect();
        (!found.is_empty()).then(|| found.into())
    }

    /// The counts of each stream on each target, as `streams` has those of all.
    fn target_facts(&self, ends: &[LaneEnd]) -> Value {
        let runs_ns = self.runs_ns(ends);
        let mut sums = BTreeMap::<(&str, usize), StreamCounts>::new();
        for (id, end) in self.crew.lanes.iter().zip(ends) {
            for (name, counts) in &end.by_target {
                let sum = sums.entry((name, id.stream)).or_default();
                sum.add(counts);
            }
        }
        let mut reports = BTreeMap::<&str, Vec<StreamReport>>::new();
        for ((name, stream), counts) in sums {
            let mut report = counts.report(&self.job.streams[stream].name, 0);
            report.gap_ns = self.gap_on_ns(stream, name, &runs_ns);
            reports.entry(name).or_default().push(report);
        }
        json!(reports)
    }

    /// The counts of each stream in each phase; a stream that did nothing there has none.
    fn phase_reports(&self, ends: &[LaneEnd]) -> BTreeMap<String, Vec<StreamReport>> {
        let streams = self.job.streams.iter().enumerate();
        let report = |phase: usize| {
            let of = |(at, stream): (usize, &Stream)| {
                let mut sum = StreamCounts::default();
                let lanes = self.crew.lanes.iter().zip(ends);
                lanes
                    .filter(|(id, _)| id.stream == at)
                    .filter_map(|(_, end)| end.by_phase.get(phase))
                    .for_each(|counts| sum.add(counts));
                sum.report(&stream.name, 0)
            };
            streams.clone().map(of).collect()
        };
        let phases = self.job.phases.iter().enumerate();
        phases
            .map(|(at, phase)| (phase.name.clone(), report(at)))
            .collect()
    }

    fn result_facts(&self, conditions: &Conditions, ends: &[LaneEnd]) -> Facts {
        let mut facts = self.shared.error_facts();
        if self.job.verifies() {
            facts.insert("verify".into(), self.verify_facts(ends));
        }
        if !self.job.targets.is_empty() {
            facts.insert("targets".into(), self.target_facts(ends));
        }
        if let Some(lateness) = self.lateness_facts(ends) {
            facts.insert("lateness".into(), lateness);
        }
        if self.job.await_start {
            facts.insert("started_ns".into(), json!(self.started_ns(ends)));
        }
        let drift_ppm = (self.shared.clock.drift_ppm() * 100.0).round() / 100.0;
        facts.insert("clock_drift_ppm".into(), json!(drift_ppm));
        facts.insert("conditions".into(), conditions.facts().into());
        facts
    }
}

fn state_now(crew: &Crew) -> (Cpu, Machine) {
    (record::cpu_now(), Machine::now(&crew.cpus))
}
