"""The record of one run: what was asked, on what, by what, and what came out.

Every backend's run becomes this one schema. Fields carry their unit in the
name; what each one means stands in its `description`, and so in the JSON Schema.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema

from ioplan.core.model import Model, about
from ioplan.job import Bins, Cpu, Job, Wear
from ioplan.records.host_clock import HostClock
from ioplan.records.seek import Found, Probed
from ioplan.records.telemetry import Telemetry, TelemetryPoint
from ioplan.workload import Direction, Phase, Workload

SCHEMA_VERSION = 1
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999)
BEYOND = 10
"""Samples that must lie beyond a percentile before it can be believed."""

Status = Literal["ok", "failed", "interrupted"]


class Percentile(Model):
    """One percentile of completion latency, derived from the stored histogram."""

    percent: float
    latency_ns: float
    supported: bool = Field(description=f"at least {BEYOND} samples lie beyond it")
    is_bound: bool = about(
        "only known to be at least so much: what counted it ends there", False
    )


class Latency(Model):
    """Completion latency. Mean, extremes and deviation are exact."""

    mean_ns: float
    min_ns: int
    max_ns: int
    stddev_ns: float = Field(description="of the population")
    percentiles: tuple[Percentile, ...]

    def percentile(self, percent: float) -> Percentile | None:
        """The percentile, if it is kept."""
        return next((p for p in self.percentiles if p.percent == percent), None)


class DirectionResult(Model):
    """What one direction of a stream, or of all streams, did."""

    ios: int = Field(description="completed I/Os, without failed ones")
    bytes: int
    errors: int = Field(
        description="failed or short I/Os; their latency is not counted"
    )
    iops: float = Field(description="ios / measured time")
    bandwidth_bytes_per_s: float
    latency: Latency | None = Field(description="absent when nothing completed")


class StreamResult(Model):
    """What one stream did, by direction and in total."""

    name: str
    run_s: float | None = about(
        "the stream's own measured time, which its rates are over; none if it is only "
        "known of the run",
        None,
    )
    directions: dict[Direction, DirectionResult]
    total: DirectionResult = Field(description="reads and writes, without trims")
    gap_ns: int | None = about(
        "the longest time without a completed I/O, from the begin of its measured "
        "time to the end; none if the backend does not measure it",
        None,
    )
    sync_ios: int = about("flushes", 0)
    backlog_ios: int = about(
        "arrivals of a rated stream that were due and not issued at the end", 0
    )
    verified_bytes: int = about(
        "read with `verify` and found to be what was written last", 0
    )
    verify_errors: int = about("blocks that were not", 0)


class TargetResult(Model):
    """What a run with several targets did on one of them."""

    streams: tuple[StreamResult, ...]
    directions: dict[Direction, DirectionResult] = Field(description="over all streams")
    total: DirectionResult = Field(description="reads and writes of all streams")


class PhaseResult(Model):
    """What a run did in one of its phases: the I/Os whose intended start is in it."""

    run_s: float = Field(description="how much of the measured time is in the phase")
    streams: tuple[StreamResult, ...]
    directions: dict[Direction, DirectionResult] = Field(description="over all streams")
    total: DirectionResult = Field(description="reads and writes of all streams")
    when: Phase | None = about(
        "its place in the measured time; older records have none", None
    )


class Interval(Model):
    """One point of the series."""

    t_s: float = Field(description="end of the interval, since the measured part began")
    length_s: float
    ios: dict[Direction, int] = Field(description="completed I/Os of all streams")
    bytes: dict[Direction, int]
    errors: int = Field(description="of all directions")
    mean_ns: float | None = Field(description="of reads and writes; absent without any")
    p50_ns: float | None = Field(description="of reads and writes, from the histogram")
    p99_ns: float | None
    p99_9_ns: float | None
    max_ns: int = Field(description="of reads and writes; 0 without any")


class Steady(Model):
    """A steady-state assessment: the window, and what is missing."""

    metric: str
    unit: str = about("of the values", "")
    values: tuple[float, ...] = Field(description="the window, oldest first")
    mean: float
    slope: float = about(
        "of the least-squares line, per value; in the middle of the window the line "
        "is at the mean",
        0.0,
    )
    range_percent: float = Field(description="(largest - smallest) / mean")
    slope_percent: float = Field(description="|least-squares slope| x (n - 1) / mean")
    range_limit_percent: float
    slope_limit_percent: float
    window: int
    reached: bool
    why: str = Field(description="empty when reached, else what is not yet so")
    begin_s: float | None = about(
        "when in the run the window begins; null of rounds", None
    )
    settled: bool = about(
        "the values are within the limits, whatever the drive's state is", False
    )
    evidence: str = about(
        "the account of the drive's state at the end of the window", ""
    )
    limits: str = about(
        "why a value that is reached is of the drive as it is, and not of one that is "
        "all written; empty where it is of any",
        "",
    )

    @property
    def meets_rule(self) -> bool:
        """Whether the values are within the limits, on whatever drive."""
        return self.settled or self.reached

    @property
    def is_borne(self) -> bool:
        """Whether it is steady, on a drive that is all written."""
        return self.reached and not self.limits

    @property
    def word(self) -> str:
        """Of a window that is reached: `settled`, of a drive only as it is."""
        return "settled" if self.limits else "steady"

    @property
    def claim(self) -> str:
        """`steady` only where the drive's state can bear it, else with the reason."""
        if not self.reached:
            return f"not steady: {self.why}"
        return f"settled, with {self.limits}" if self.limits else "steady"


class DriveState(Model):
    """The account of the drive's state as a run ended, and what its figures lack."""

    since: str = Field(
        description="where the account begins: a purge, or the creation of the target; "
        "empty where what was before is not known"
    )
    written_capacities: float = Field(description="writes since then, over capacity")
    random_capacities: float = Field(
        description="writes in random order since the last in order, over capacity"
    )
    unwritten_percent: float = Field(
        description="of the blocks, never written since then, or trimmed"
    )
    idle_s: float = about("the plan's time without I/O right before the run", 0.0)
    evidence: str = Field(description="the same in a few words")
    lacks: str = about("what the figures need of the state, and it has not yet", "")
    limits: str = about(
        "what the figures owe to blocks that hold nothing, or to data that compresses",
        "",
    )

    @property
    def doubt(self) -> str:
        """What is against the figures, in a few words."""
        return self.lacks or self.limits


class Decided(Model):
    """How well the mean of a cell over its last rounds is known."""

    metric: str
    unit: str
    values: tuple[float, ...] = Field(description="the rounds counted, oldest first")
    mean: float
    half_width_percent: float = Field(
        description="of the confidence interval, relative to the mean"
    )
    drift_percent: float = Field(
        description="|least-squares slope| x (n - 1) / mean over these rounds"
    )
    within_percent: float = Field(description="the limit of both together")
    reached: bool = Field(description="whether the cell is left out of later rounds")
    why: str = Field(description="empty when reached, else what is not yet so")


class Verdict(Model):
    """Whether an expectation held."""

    expectation: str = Field(description="the line of the plan")
    outcome: Literal["held", "failed", "undecided", "no baseline"]
    actual: float | None = Field(description="in the unit of `unit`")
    limit: float | None
    unit: str
    why: str = ""
    baseline: str = about("the session that the limit is a share of", "")
    baseline_value: float | None = about("the figure of that session", None)


def outcome_text(outcome: str) -> str:
    """The word that people read: an expectation that held has passed."""
    return "passed" if outcome == "held" else outcome


class Preparation(Model):
    """The state that a run was asked to start from."""

    name: str
    digest: str = Field(description="identifies what the precondition does")


class Asked(Model):
    """What was asked: the place in the plan and the whole workload."""

    plan: str
    plan_file: str
    profile: str = about("the plan's set of values", "full")
    shortened: bool = about(
        "the profile writes less than one pass before the test, so its figures are "
        "not of a prepared drive",
        False,
    )
    test: str
    cell: dict[str, str] = Field(description="axis to value, as the plan writes it")
    kind: Literal["run", "prepare", "probe"]
    step: int = Field(description="which step of the test, from 0")
    name: str = about("the step's name", "")
    round: int = about("from 1; 0 outside rounds", 0)
    iteration: int = about("of a repeat, from 1; 0 outside one", 0)
    after: Preparation | None = None
    seek: Probed | None = about("of a probe: what it was for", None)
    removed: bool = about(
        "the session went on with an edited plan that no longer has it", False
    )
    workload: Workload
    job: Job


class BackendFacts(Model):
    """What did the I/O."""

    name: str
    version: str
    mode: str = ""
    reason: str = ""
    facts: dict[str, Any] = {}


class PowerCutMade(Model):
    """When a run's target lost its power, and how long until it answered again."""

    at_s: float = Field(description="since the first I/O, drawn from the plan's range")
    off_s: float | None = Field(
        description="from the cut to the first answer after it; none if none came; of "
        "a host that lost its power as well, until its session went on"
    )


class EventMade(Model):
    """A command of the lab that was run in the midst of a run."""

    name: str
    start_s: float = Field(
        description="since the measured part began, as `t_s` of an interval; before 0 "
        "in the warm-up"
    )
    end_s: float
    host: str = Field(description="of the lab; empty: where the session ran")
    exit_code: int | None = Field(
        description="none if it could not be started, or was killed after its time"
    )
    output: str = Field(description="the first 4 KiB of what it printed")
    error: str = about("what went wrong; empty if nothing did", "")


class RunRecord(Model):
    """One run."""

    schema_version: Literal[1] = 1
    session: str
    seq: int = Field(description="order within the session, from 1")
    run_id: str = Field(description="digest of what the run does")
    status: Status
    cause: str = about("why the run is not ok, one word", "")
    message: str = about("the same for a person", "")
    ioplan: str
    asked: Asked
    backend: BackendFacts
    target: dict[str, Any]
    host: dict[str, Any]
    started_at: str = Field(description="UTC, ISO 8601")
    ended_at: str
    run_s: float = Field(description="measured time, without warm-up")
    lasted_s: float | None = about(
        "from the begin of the measured time to the result, by the host's monotonic "
        "clock; none in virtual time, and if ioplan did not see the run",
        None,
    )
    streams: tuple[StreamResult, ...]
    directions: dict[Direction, DirectionResult] = Field(description="over all streams")
    total: DirectionResult = Field(description="reads and writes of all streams")
    targets: dict[str, TargetResult] = about(
        "by the names of the targets, where the run has several", {}
    )
    phases: dict[str, PhaseResult] = about(
        "by the names of the phases, where the plan names any", {}
    )
    cpu: Cpu | None = Field(
        description="of the load generator; none if it was not measured"
    )
    cpu_percent: float | None = Field(description="of one core, load generator only")
    steady: Steady | None = None
    decided: Decided | None = about("of rounds that end cell by cell", None)
    found: Found | None = about(
        "what a seek found: the record stands for all of its probes, and its figures "
        "are those of the probe that confirmed it",
        None,
    )
    power_cut: PowerCutMade | None = about("of a run that ended with a power cut", None)
    events: tuple[EventMade, ...] = about(
        "what the lab did during the run, as the plan says", ()
    )
    verdicts: tuple[Verdict, ...] = ()
    telemetry: Telemetry | None = about(
        "of machine and drive; absent in virtual time", None
    )
    clock: HostClock | None = about(
        "the host's, against the lab's; of a drive job only", None
    )
    wear: Wear | None = about(
        "what the drive says it wrote; absent where it has no log", None
    )
    state: DriveState | None = about(
        "the account of what was written to the target", None
    )
    warnings: tuple[str, ...] = ()
    substitutions: tuple[str, ...] = about(
        "what the backend did instead of what was requested", ()
    )


class StoredHistogram(Model):
    """A latency histogram as it is stored."""

    stream: str
    direction: Direction
    bits: int
    bins: Bins = Field(description="index, count, index, count, …")
    phase: str = about("empty: of the whole run", "")


class RunDetail(Model):
    """What is kept beside a record because it is large."""

    histograms: tuple[StoredHistogram, ...] = ()
    series: tuple[Interval, ...] = ()
    telemetry: tuple[TelemetryPoint, ...] = ()
    intervals: bytes = Field(
        description="what each stream and direction counted in each interval, packed "
        "by `results.measure.interval_counts`; left out where it is not asked for",
        default=b"",
        exclude=True,
    )


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def record_schema() -> dict[str, Any]:
    """The JSON Schema of a RunRecord as it is exported: every field is there."""

    class Complete(GenerateJsonSchema):
        """Requires every field: what is exported leaves no default out."""

        def field_is_required(self, field: Any, total: bool) -> bool:
            return True

    schema = RunRecord.model_json_schema(
        mode="serialization", schema_generator=Complete
    )
    return {"$schema": DIALECT, **schema, "title": "ioplan run record"}
