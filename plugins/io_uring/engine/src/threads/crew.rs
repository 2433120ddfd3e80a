//! The threads of a run: creates them, pins them, and brings them to the gate.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::job::Job;
use crate::job::event::Facts;
use crate::job::failure::{Cause, Failure};
use crate::ring::worker::{self, Options};
use crate::sync::{IoThread, SharedLane};
use crate::target::Target;
use crate::target::stamps::Stamps;
use crate::threads::cpus::{self, Cpus};
use crate::threads::first::First;
use crate::threads::gate::Gate;
use crate::threads::lane::{Lane, LaneId};
use crate::threads::message::Message;
use crate::threads::shared::Shared;

const STACK_BYTES: usize = 256 << 10;
const MOST_SYNC_THREADS: usize = 4096;

/// What every thread needs.
#[derive(Clone)]
pub struct RunContext {
    pub job: Arc<Job>,
    pub shared: Arc<Shared>,
    /// By their places in the job.
    pub targets: Vec<Arc<Target>>,
    pub gate: Arc<Gate>,
    pub stamps: Option<Arc<Stamps>>,
    pub messages: Sender<Message>,
}

pub struct Crew {
    pub lanes: Vec<LaneId>,
    /// Empty in io_uring mode, where each lane belongs to its thread.
    pub shared_lanes: Vec<Arc<SharedLane>>,
    pub facts: Facts,
    /// The CPUs that the threads run on.
    pub cpus: Vec<usize>,
    threads: usize,
}

pub fn lanes_of(job: &Job) -> Vec<LaneId> {
    let streams = job.streams.iter().enumerate();
    let numbers = streams.flat_map(|(at, stream)| (0..stream.lanes()).map(move |n| (at, n)));
    numbers
        .enumerate()
        .map(|(lane, (stream, number))| LaneId {
            lane,
            stream,
            thread: number % job.streams[stream].threads,
            place: (!job.streams[stream].takes_turns())
                .then_some(number / job.streams[stream].threads),
        })
        .collect()
}

fn spawn(body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
    let spawned = builder.spawn(body).map(drop);
    spawned.map_err(|error| {
        Failure::new(
            Cause::Memory,
            format!("the system gives no more threads ({error}); use fewer threads or a lower queue depth"),
        )
    })
}

fn targets_of(context: &RunContext, id: LaneId) -> Vec<Arc<Target>> {
    let numbers = id.targets(&context.job.streams[id.stream]).iter();
    let target = |&number: &usize| context.targets[number].clone();
    numbers.map(target).collect()
}

fn new_lane(context: &RunContext, id: LaneId, own_thread: bool) -> Lane {
    Lane::new(
        &context.job,
        id,
        own_thread,
        context.shared.clone(),
        context.stamps.as_ref(),
        context.messages.clone(),
    )
}

/// io_uring mode: one thread with a ring of its own for each lane.
pub fn uring(context: &RunContext) -> Result<Crew, Failure> {
    let lanes = lanes_of(&context.job);
    let cpus = Cpus::new(&context.job.cpus, lanes.len());
    let options = Options {
        spin: cpus.pinned,
        discards: worker::kernel_discards(),
        polled: context.job.polled,
    };
    for &id in &lanes {
        let (context, cpus) = (context.clone(), cpus.of(id.lane));
        spawn(move || uring_thread(&context, id, &cpus, options))?;
    }
    let mut facts = placement_facts(&cpus, lanes.len());
    facts.insert("discard_command".into(), json!(options.discards));
    facts.insert("polled".into(), json!(context.job.polled));
    facts.insert("passthrough".into(), json!(context.job.passthrough));
    Ok(Crew {
        threads: lanes.len(),
        cpus: cpus.used(lanes.len()).to_vec(),
        lanes,
        shared_lanes: Vec::new(),
        facts,
    })
}

fn placement_facts(cpus: &Cpus, threads: usize) -> Facts {
    let arrival_wait = if cpus.pinned { "spin" } else { "sleep" };
    let mut facts = Facts::new();
    facts.insert("cpus".into(), json!(cpus.used(threads)));
    facts.insert("pinned".into(), json!(cpus.pinned));
    facts.insert("arrival_wait".into(), json!(arrival_wait));
    facts
}

fn uring_thread(context: &RunContext, id: LaneId, cpus: &[usize], options: Options) {
    cpus::pin(cpus);
    let lane = new_lane(context, id, true);
    let made = worker::make(
        &context.job,
        lane,
        context.shared.clock,
        targets_of(context, id),
        options,
    );
    let outcome = made.and_then(|mut worker| {
        let facts = worker.facts();
        let _ = context.messages.send(Message::Ready { facts });
        let first = First::new(context.job.await_start);
        worker.lane().begin(context.gate.wait());
        drop(first);
        worker.run()
    });
    if let Err(failure) = outcome {
        let _ = context.messages.send(Message::Failed(failure));
    }
}

/// Sync mode: one thread for each slot of each lane.
pub fn sync(context: &RunContext) -> Result<Crew, Failure> {
    let lanes = lanes_of(&context.job);
    let threads: usize = lanes
        .iter()
        .map(|id| context.job.streams[id.stream].qd)
        .sum();
    if threads > MOST_SYNC_THREADS {
        return Err(Failure::bad_job(format!(
            "synchronous I/O needs a thread for each I/O in flight: {threads} are more than {MOST_SYNC_THREADS}"
        )));
    }
    let cpus = Cpus::new(&context.job.cpus, threads);
    let (spin, mut spawned) = (cpus.pinned, 0);
    let mut shared_lanes = Vec::new();
    for &id in &lanes {
        let qd = context.job.streams[id.stream].qd;
        let lane = Arc::new(SharedLane::new(new_lane(context, id, qd == 1), qd));
        let begun = Arc::new(Mutex::new(false));
        for slot in 0..qd {
            let (context, lane, begun) = (context.clone(), lane.clone(), begun.clone());
            let thread_cpus = cpus.of(spawned);
            spawned += 1;
            spawn(move || {
                cpus::pin(&thread_cpus);
                sync_thread(&context, id, slot, &lane, &begun, spin);
            })?;
        }
        shared_lanes.push(lane);
    }
    let mut facts = placement_facts(&cpus, threads);
    facts.insert("threads".into(), json!(threads));
    Ok(Crew {
        lanes,
        shared_lanes,
        facts,
        cpus: cpus.used(threads).to_vec(),
        threads,
    })
}

fn sync_thread(
    context: &RunContext,
    id: LaneId,
    slot: usize,
    lane: &Arc<SharedLane>,
    begun: &Mutex<bool>,
    spin: bool,
) {
    let stream = &context.job.streams[id.stream];
    let (shared, targets) = (context.shared.clone(), targets_of(context, id));
    match IoThread::new(slot, lane.clone(), stream, shared, targets, spin) {
        Err(failure) => drop(context.messages.send(Message::Failed(failure))),
        Ok(io_thread) => {
            let _ = context.messages.send(Message::Ready {
                facts: Facts::new(),
            });
            let first = First::new(context.job.await_start);
            let schedule = context.gate.wait();
            let mut begun = crate::threads::shared::lock(begun);
            if !std::mem::replace(&mut *begun, true) {
                lane.begin(schedule);
            }
            drop((begun, first));
            io_thread.run();
        }
    }
}

impl Crew {
    /// Waits until every thread is ready, or one has failed.
    pub fn await_ready(
        &mut self,
        shared: &Shared,
        messages: &Receiver<Message>,
    ) -> Result<(), Failure> {
        let mut ready = 0;
        while ready < self.threads {
            match messages.recv() {
                Ok(Message::Ready { facts }) => {
                    ready += 1;
                    // All rings are alike: the facts of the last one are kept.
                    self.facts.extend(facts);
                }
                Ok(Message::Failed(failure)) => return Err(failure),
                // The run still begins, and is over at once.
                Ok(Message::Signal) => shared.stop(),
                Ok(Message::Counts { .. } | Message::Finished { .. } | Message::Start { .. }) => {}
                Err(_) => return Err(Failure::new(Cause::Internal, "a thread has gone")),
            }
        }
        Ok(())
    }

    /// Flushes the counts of shared lanes none of whose threads has done so.
    pub fn tick(&self, now_ns: u64) {
        let lanes = self.shared_lanes.iter();
        lanes.for_each(|lane| lane.tick(now_ns));
    }

    /// Finishes shared lanes whose threads are stuck in the kernel past their time-out.
    pub fn abandon_stuck(&self, now_ns: u64) {
        for lane in &self.shared_lanes {
            let active = lane.active.load(Ordering::Acquire) > 0;
            if active
                && lane.should_give_up(now_ns)
                && lane.active.swap(usize::MAX / 2, Ordering::AcqRel) < usize::MAX / 4
            {
                lane.abandon(now_ns);
            }
        }
    }
}
