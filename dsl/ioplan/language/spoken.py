"""What a job asks for, in the words that a backend declares to speak.

A backend that has never heard of something must not be believed to do it: whatever a
job sets away from its default is a gap, unless the backend names it in `speaks`. The
words are the forms of the clause table (`rate`, `rate poisson`, `zipf`, …), and for
the run's length `for`, `bytes`, `passes`, `warmup`. A member of a stream that no
clause sets is its own word, which nobody speaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ioplan.backends.backend import Gap
from ioplan.core.model import Model, defaults_of
from ioplan.core.text import did_you_mean
from ioplan.job import Job
from ioplan.language.clause_table import BY_WORD, CLAUSES, slot
from ioplan.workload import Replay, Stream

WORDS = {
    member: form
    for clause in CLAUSES
    for form, members in clause.sets.items()
    for member in members
}
LENGTHS = {
    "run_ns": "for",
    "limit_bytes": "bytes",
    "passes": "passes",
    "warmup_ns": "warmup",
    "phases": "during",
    "exact_intervals": "interval",
}
OF_PARTS = {
    "during": "the backend does not count I/Os by phases of a run",
    "interval": "the backend does not count the I/Os of each interval of a run",
}
"""What is asked of parts of a run, and what a backend lacks that does not know it."""
VOCABULARY = frozenset((*WORDS.values(), *LENGTHS.values(), "streams"))
"""All that a backend may declare; `streams` is several at the same time."""
COMMON = (
    *("random", "sequential", "size", "sizes", "mix", "qd", "threads", "streams"),
    *("rate", "rate poisson", "pause", "pause every", "region", "permuted", "align"),
    *("hotspots", "zipf", "pareto", "normal"),
    *("data zeros", "data compressible", "trim", "sync", "verify"),
    *(word for word in LENGTHS.values() if word not in OF_PARTS),
)
"""What every backend of ioplan speaks; a new clause is named by each that has it."""
REPLAYS = tuple(
    form
    for word in (
        *("replay", "part", "as fast as possible", "after completion", "speed"),
        *("offsets", "only", "writes as reads"),
    )
    for form in BY_WORD[word].forms
)
"""All that can be said of a replay."""
FIELDS = {form: slot(clause.word) for clause in CLAUSES for form in clause.sets}
FIELDS["bytes"] = "for"

OWN_WAY = (
    *("target", "capacity_bytes", "block_bytes", "streams", "interval_ns", "seed"),
    *("read_only", "await_start", "cpus", "mode", "targets"),
)
"""Members of a job that say how and where, not what."""
NOT_SAID = frozenset(
    ("name", "kind", "region_start_bytes", "region_end_bytes", "target_numbers")
)
OTHERS = frozenset(("follows",))
"""Members whose value is a name of the plan's."""
JOB_DEFAULTS = defaults_of(Job)
REQUIRED = object()
"""Equal to no value: a member without a default is always said."""


def speaking(*some: str) -> frozenset[str]:
    """A backend's `speaks`. Raises ValueError for a word that no clause has."""
    strange = sorted({*some} - VOCABULARY)
    if strange:
        near = did_you_mean(strange[0], VOCABULARY)
        raise ValueError(f"no clause has the word {strange[0]!r}{near}")
    return frozenset(some)


def unspoken(job: Job, speaks: Collection[str]) -> list[Gap]:
    """What the job asks for and a backend that `speaks` these words never heard of."""
    gaps = []
    for number, stream in enumerate(job.streams):
        asked = [*words(stream), *(_lengths(job) if number == 0 else ())]
        asked += ["streams"] * (number > 0)
        gaps += [_gap(stream, word) for word in asked if word not in speaks]
    return gaps


def _gap(stream: Stream, word: str) -> Gap:
    reason = f"the backend does not support {word!r}"
    if stream.hosts and word == "on hosts":
        reason = f"this host alone cannot run streams on {', '.join(stream.hosts)}"
    reason = OF_PARTS.get(word, reason)
    if word in ("over all", "on targets"):
        reason = "a run of this backend has one target, which shares nothing"
    return Gap(stream=stream.name, field=FIELDS.get(word, word), reason=reason)


def words(stream: Stream) -> list[str]:
    """What a stream says beyond its defaults, each word once."""
    return list(dict.fromkeys(WORDS.get(path, path) for path in _members(stream)))


def _lengths(job: Job) -> Iterator[str]:
    for name, value in job:
        if name not in OWN_WAY and JOB_DEFAULTS.get(name, REQUIRED) != value:
            yield LENGTHS.get(name, name)


def _members(model: Model, prefix: str = "") -> Iterator[str]:
    """The paths of all members that are not at their default."""
    defaults = defaults_of(type(model))
    for name, value in model:
        if name in NOT_SAID or defaults.get(name, REQUIRED) == value:
            continue
        path = prefix + name
        if isinstance(value, Replay):
            yield path
            yield from ["replay part"] if value.to_ns else []
        elif isinstance(value, Model):
            kind = getattr(value, "kind", None)
            yield from [f"{path} {kind}"] if kind else []
            yield from _members(value, f"{path}.")
        elif isinstance(value, str) and name not in OTHERS:
            yield f"{path} {value}"
        else:
            yield path
            several = name.endswith("_sizes") and len(value) > 1
            yield from [f"{path} several"] if several else []
