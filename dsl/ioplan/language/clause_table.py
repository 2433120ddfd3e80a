"""The clauses of a workload: each is one entry, and nothing else knows it.

From here come the grammar's keywords, "did you mean", fio's words, what a workload
says twice, the axes of `vary`, the titles of charts, what a backend can say that it
speaks, the features of `ioplan backends`, and the table in the language's reference.
How to add one: docs/add-a-clause.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ioplan.language import fields as to
from ioplan.language.fields import Attributes
from ioplan.language.quantity import Kind, Quantity


class Clause(Struct, frozen=True):
    """A clause: how it is written, what it sets, and what is derived from it.

    `forms` maps what a backend may speak to an example of it; the clause's own word
    comes first. `sets` are the members of `workload.Stream` that it decides, with a
    member's value behind it where only that value is meant (`data zeros`).
    """

    word: str
    forms: dict[str, str]
    sets: dict[str, tuple[str, ...]]
    reference: tuple[str, str, str] | None = None
    """How the reference writes it, what it means, and its default."""
    convert: Callable[[Quantity], Attributes] | None = None
    """What one quantity sets; None where the clause takes something else."""
    kinds: tuple[Kind, ...] = ()
    """What a condition compares an axis of it with."""
    slot: str = ""
    """What it is about, where several clauses say the same thing."""
    in_head: bool = False
    """Whether it may stand before the first comma."""
    is_simple: bool = False
    """Whether it is its word and one value: the grammar needs no rule for it."""
    is_axis: bool = True
    is_count: bool = False
    """Whether it takes one whole number, so that `qd 1, 2` means an axis."""
    title: str = ""
    """What a chart's axis is called, where it is not the word."""
    writes_only: bool = False
    feature: str = ""
    """A run that shows it, where the example alone does not do."""
    is_feature: bool = True
    """Whether `ioplan backends` has a row for each of its forms."""
    fio: dict[str, str] = {}
    """fio's words for it, each with what is written here."""

    def features(self) -> Iterator[tuple[str, str]]:
        """Each form with a run that asks for it."""
        mix = "0/100" if self.writes_only else "100/0"
        for form, example in self.forms.items() if self.is_feature else ():
            plain = f"run random 4KiB {mix}, {{}} for 2s"
            yield form, (self.feature or plain).replace("{}", example)


def _count(what: str, most: int, member: str) -> Callable[[Quantity], Attributes]:
    return lambda quantity: {member: to.count(quantity, what, most)}


CLAUSES: tuple[Clause, ...] = (
    Clause(
        word="pattern",
        in_head=True,
        is_feature=False,
        forms={"random": "random", "sequential": "sequential"},
        sets={"random": ("pattern random",), "sequential": ("pattern sequential",)},
        reference=("`random` / `sequential`", "the access pattern", ""),
        fio={
            **dict.fromkeys(("rw", "readwrite", "randrw"), "random 4KiB 70/30"),
            "randread": "random 4KiB 100/0",
            "randwrite": "random 4KiB 0/100",
        },
    ),
    Clause(
        word="random share",
        in_head=True,
        forms={"random share": "random 65%"},
        sets={"random share": ("random_percent",)},
        reference=(
            "`random 65% 4KiB`",
            "this share of the I/O is random; each other I/O starts where the "
            "thread's previous I/O in the same direction ended",
            "100 %",
        ),
        convert=to.random_share,
        kinds=("share",),
        is_axis=False,
        feature="run random 65% 4KiB 100/0 for 2s",
        fio={"percentage_random": "random 65% 4KiB"},
    ),
    Clause(
        word="read random",
        forms={"random by direction": "read random 65%"},
        sets={"random by direction": ("write_random_percent",)},
        reference=(
            "`read random 65%`, `write random 30%`",
            "the same for one direction; discards count as writes",
            "100 %",
        ),
        convert=to.read_random,
        is_axis=False,
        feature="run random 4KiB 70/30, read random 65% for 2s",
    ),
    Clause(
        word="write random",
        forms={},
        sets={},
        convert=to.write_random,
        is_axis=False,
    ),
    Clause(
        word="size",
        in_head=True,
        is_feature=False,
        forms={"size": "size 4KiB"},
        sets={"size": ("read_sizes", "write_sizes")},
        reference=(
            "`4KiB`, `size 4KiB`",
            "the block size; `size` is required before a name that is not at the "
            "beginning: `size block`",
            "",
        ),
        convert=to.one_size,
        kinds=("size",),
        is_simple=True,
        title="block size",
        fio=dict.fromkeys(("bs", "blocksize"), "size 4KiB"),
    ),
    Clause(
        word="mix",
        in_head=True,
        is_feature=False,
        forms={"mix": "70/30"},
        sets={"mix": ("read_percent",)},
        convert=to.mix,
        is_axis=False,
    ),
    Clause(
        word="read",
        forms={},
        sets={},
        reference=(
            "`70/30`, `read 70%`",
            "reads as a share of reads and writes",
            "",
        ),
        convert=lambda quantity: {"read_percent": to.percent(quantity, "read")},
        kinds=("share",),
        slot="mix",
        is_simple=True,
        title="read share",
        fio={"rwmixread": "read 70%"},
    ),
    Clause(
        word="sizes",
        in_head=True,
        is_feature=False,
        forms={"sizes": "sizes { 4KiB 50%, 8KiB 50% }"},
        sets={"sizes": ("read_sizes several", "write_sizes several")},
        reference=(
            "`sizes { 512B 10%, 4KiB 60%, 64KiB 30% }`, `sizes 4KiB..64KiB step 4KiB`",
            "a block-size distribution instead of one size: shares that add up to "
            "100 %, or a range with equal shares. `read sizes` and `write sizes` set "
            "it per direction",
            "",
        ),
        slot="size",
        is_axis=False,
        fio={"bssplit": "sizes { 4KiB 60%, 64KiB 40% }"},
    ),
    Clause(
        word="qd",
        is_feature=False,
        forms={"qd": "qd 32", "over all": "qd 32 over all"},
        sets={"qd": ("qd",), "over all": ("over_all",)},
        reference=(
            "`qd N`, `qd N each`, `qd N total`, `… over all`",
            "outstanding I/Os. With more than one thread, `each` or `total` is "
            "required; an axis `qd` changes only the number. `over all`: of all "
            "targets of the run together, see [Several targets](#several-targets)",
            "1",
        ),
        convert=_count("a queue depth", to.MOST_QD, "qd"),
        kinds=("number",),
        is_count=True,
        title="queue depth",
        fio=dict.fromkeys(("iodepth", "depth"), "qd 32"),
    ),
    Clause(
        word="threads",
        forms={"threads": "threads 4"},
        sets={"threads": ("threads",)},
        reference=(
            "`threads N`",
            "sequential threads get disjoint parts of the region",
            "1",
        ),
        convert=_count("the number of threads", to.MOST_THREADS, "threads"),
        kinds=("number",),
        is_simple=True,
        is_count=True,
        feature="run random 4KiB 100/0, threads 2, qd 4 each for 2s",
        fio=dict.fromkeys(("numjobs", "jobs"), "threads 4"),
    ),
    Clause(
        word="rate",
        forms={
            "rate": "rate 1_000 iops",
            "rate poisson": "rate 1_000 iops poisson",
            "rate gamma": "rate 1_000 iops gamma 1.33",
        },
        sets={
            "rate": ("rate.iops", "rate.bytes_per_s"),
            "rate poisson": ("rate.arrivals poisson",),
            "rate gamma": ("rate.arrivals gamma", "rate.gap_variation"),
        },
        reference=(
            "`rate R`, `rate R each`, `rate R total`, `… over all`, `… poisson`, "
            "`… gamma 1.33`",
            "open loop: latency is measured from the intended start, so that "
            "queueing caused by a stalled device is included. With more than one "
            "thread, `each` or `total` is required. With `poisson` and `gamma` the "
            "arrivals are drawn ([how](#arrivals)). `over all` as for `qd`",
            "none",
        ),
        convert=to.rate,
        fio={"rate_iops": "rate 1_000 iops"},
    ),
    Clause(
        word="burst",
        forms={"burst": "burst 5s of 50_000 iops, then 5s of 5_000 iops"},
        sets={"burst": ("rate.phases",)},
        reference=(
            "`burst 5s of 50_000 iops, then 5s of 5_000 iops`",
            "a rate in phases that repeat, starting with the first phase when the "
            "stream's measured time starts. Latencies, `each`, `total`, `poisson` and "
            "`gamma` are as for `rate`. A phase may have `0 iops`, and a name: "
            "`5s of 50_000 iops as peak` ([phases](#phases))",
            "none",
        ),
        slot="rate",
        is_axis=False,
        feature="run random 4KiB 100/0, qd 8, "
        "burst 1s of 2_000 iops, then 1s of 500 iops for 4s",
    ),
    Clause(
        word="ramp",
        forms={"ramp": "ramp 1_000 iops..100_000 iops"},
        sets={"ramp": ("rate.first_per_s", "rate.last_per_s")},
        reference=(
            "`ramp 1_000 iops..100_000 iops`",
            "a rate that changes linearly over the stream's measured time",
            "none",
        ),
        slot="rate",
        is_axis=False,
        feature="run random 4KiB 100/0, qd 8, ramp 500 iops..2_000 iops for 4s",
    ),
    Clause(
        word="pause",
        forms={"pause": "pause 5ms", "pause every": "pause 5ms every 128"},
        sets={"pause": ("pause_ns",), "pause every": ("pause_every",)},
        reference=(
            "`pause 5ms`, `pause 5ms every 128`",
            "think time of a closed loop: after each I/O, or after the given number, "
            "a thread lets outstanding I/Os complete and waits for this time. "
            "Latencies do not include it; a pause after each I/O implies a queue "
            "depth of 1",
            "none",
        ),
        convert=to.pause,
        kinds=("time",),
        fio={
            "thinktime": "pause 5ms",
            "thinktime_blocks": "pause 5ms every 128",
        },
    ),
    Clause(
        word="starts",
        forms={"starts": "starts after 2s"},
        sets={"starts": ("starts_ns",)},
        reference=(
            "`starts after 2s`, `ends after 30s`",
            "when the stream runs within the run's measured time, preceded by a "
            "warm-up as long as the run's. `reader.iops` is over the stream's time, "
            "`iops` over the run's. At least one stream starts with the run, and at "
            "least one ends with it",
            "all of the run",
        ),
        convert=to.starts,
        is_axis=False,
        feature="run joined for 2s",
        fio={"startdelay": "starts after 2s", "start_delay": "starts after 2s"},
    ),
    Clause(
        word="ends",
        forms={"ends": "ends after 30s"},
        sets={"ends": ("ends_ns",)},
        convert=to.ends,
        is_axis=False,
        feature="run left for 2s",
    ),
    Clause(
        word="region",
        forms={"region": "region 0%..50%"},
        sets={
            "region": (
                *("region.start_percent", "region.end_percent"),
                *("region.start_bytes", "region.end_bytes"),
            )
        },
        reference=(
            "`region 0%..50%`, `region 1GiB..5GiB`, `region 1GiB..+25%`",
            "part of the target, given by start and end, or by start and length",
            "all",
        ),
    ),
    Clause(
        word="hotspots",
        forms={"hotspots": "hotspots { 50% in 5%, 50% in 95% }"},
        sets={"hotspots": ("distribution hotspots", "distribution.spots")},
        reference=(
            "`hotspots { 50% in 5%, 30% in 15%, 20% in 80% }`",
            "shares of the I/Os in consecutive shares of the space",
            "uniform",
        ),
        slot="distribution",
    ),
    Clause(
        word="zipf",
        forms={"zipf": "zipf 1.2"},
        sets={"zipf": ("distribution zipf", "distribution.theta")},
        reference=(
            "`zipf 1.1`, `pareto 0.2`, `normal 10%`",
            "the distribution of random offsets",
            "uniform",
        ),
        convert=to.zipf,
        slot="distribution",
        is_simple=True,
        kinds=("number",),
        fio={"random_distribution": "zipf 1.1"},
    ),
    Clause(
        word="pareto",
        forms={"pareto": "pareto 0.2"},
        sets={"pareto": ("distribution pareto", "distribution.h")},
        convert=to.pareto,
        slot="distribution",
        is_simple=True,
        kinds=("number",),
    ),
    Clause(
        word="normal",
        forms={"normal": "normal 10%"},
        sets={"normal": ("distribution normal", "distribution.deviation_percent")},
        convert=to.normal,
        slot="distribution",
        is_simple=True,
        kinds=("share",),
    ),
    Clause(
        word="permuted",
        forms={"permuted": "permuted"},
        sets={"permuted": ("permuted",)},
        reference=(
            "`permuted`",
            "random I/O of one size visits every block once before it repeats any, "
            "in a different order each time, so blocks do not overlap: an `align` "
            "below the size counts as the size; without it, each offset is drawn "
            "independently, however the run ends",
            "off",
        ),
        is_axis=False,
        fio={
            "norandommap": "nothing: offsets are independent unless permuted",
            "random_generator": "permuted, for what fio's random map does",
        },
    ),
    Clause(
        word="shaped",
        forms={"shaped": "shaped, spare 7%"},
        sets={"shaped": ("spare_percent",)},
        convert=to.spare,
        reference=(
            "`random 4KiB shaped, spare 7%`",
            "a precondition's write that leaves, in one pass over the flash, the valid "
            "pages that steady random writes leave in its blocks; `spare` is the flash "
            "beyond the capacity, as a share of it; `auto` has the next step find it. "
            "See [Shaped](#shaped)",
            "off",
        ),
        is_axis=False,
        kinds=("share",),
        writes_only=True,
        feature="after shaped_once run random 4KiB 100/0 for 2s",
    ),
    Clause(
        word="align",
        forms={"align": "align 512B"},
        sets={"align": ("align_bytes",)},
        reference=(
            "`align 512B`, `align size`",
            "offsets are multiples of this; fio supports only one value for all "
            "sizes of a distribution, such as `align 4KiB`",
            "`size`",
        ),
        convert=to.align,
        kinds=("size",),
        is_simple=True,
        title="alignment",
        fio={"blockalign": "align 4KiB"},
    ),
    Clause(
        word="data",
        forms={
            "data zeros": "data zeros",
            "data compressible": "data compressible 50%",
        },
        sets={
            "data zeros": ("data zeros",),
            "data compressible": ("data compressible", "data.percent"),
        },
        reference=(
            "`data random`, `data zeros`, `data compressible 50%`",
            "what is written",
            "`random`",
        ),
        writes_only=True,
        fio={
            "zero_buffers": "data zeros",
            "buffer_compress_percentage": "data compressible 50%",
        },
    ),
    Clause(
        word="dedup",
        forms={"dedup": "dedup 30%"},
        sets={"dedup": ("dedup_percent",)},
        reference=(
            "`dedup 30%`",
            "share of the writes that repeat the complete data of an earlier write",
            "0 %",
        ),
        convert=lambda quantity: {"dedup_percent": to.percent(quantity, "dedup")},
        kinds=("share",),
        is_simple=True,
        title="repeated data",
        writes_only=True,
        feature="run sequential 4KiB 0/100, dedup 30%, 1 pass",
        fio={"dedupe_percentage": "dedup 30%"},
    ),
    Clause(
        word="trim",
        forms={"trim": "trim 10%"},
        sets={"trim": ("trim_percent",)},
        reference=(
            "`trim 10%`",
            "share of the operations that are discards; the mix applies to the rest",
            "0 %",
        ),
        convert=lambda quantity: {"trim_percent": to.percent(quantity, "trim")},
        kinds=("share",),
        is_simple=True,
        feature="run random 4KiB 50/50, trim 10% for 2s",
    ),
    Clause(
        word="sync",
        forms={"sync": "sync every 32"},
        sets={"sync": ("sync_every",)},
        reference=("`sync every 32`", "a flush after this number of writes", "none"),
        convert=_count("'sync every'", to.MOST_SYNC, "sync_every"),
        kinds=("number",),
        is_count=True,
        writes_only=True,
        fio=dict.fromkeys(("fsync", "fdatasync"), "sync every 32"),
    ),
    Clause(
        word="flush",
        forms={},
        sets={},
        reference=("`flush every 64`", "another word for `sync every`", "none"),
        convert=_count("'flush every'", to.MOST_SYNC, "sync_every"),
        kinds=("number",),
        slot="sync",
        is_count=True,
        writes_only=True,
    ),
    Clause(
        word="fua",
        forms={"fua": "fua"},
        sets={"fua": ("fua",)},
        reference=(
            "`fua`",
            "a write is acknowledged only once it is durable (forced unit access: "
            "RWF_DSYNC, for NVMe commands the bit FUA)",
            "off",
        ),
        is_axis=False,
        writes_only=True,
    ),
    Clause(
        word="follows",
        forms={"follows": "follows log"},
        sets={"follows": ("follows",)},
        reference=(
            "`follows log`",
            "the stream's n-th write is issued only once n writes of the stream `log` "
            "are durable, by `fua` or a flush "
            "([durability.md](durability.md#a-log-and-what-follows-it))",
            "none",
        ),
        is_axis=False,
        writes_only=True,
        feature="run logged_first for 2s",
    ),
    Clause(
        word="verify",
        forms={"verify": "verify"},
        sets={"verify": ("verify",)},
        reference=(
            "`verify`",
            "checks that reads return the data last written ([verify.md](verify.md))",
            "off",
        ),
        is_axis=False,
        feature="run random 4KiB 50/50, verify for 2s",
    ),
    Clause(
        word="errors",
        forms={"errors allowed": "errors allowed"},
        sets={"errors allowed": ("errors_allowed", "errors_allowed_percent")},
        reference=(
            "`errors allowed`, `errors allowed up to 100`, `errors allowed up to 1%`",
            "failed I/Os do not end the run, up to this number, or this share of the "
            "stream's I/O. They are in no figure but `errors`, are counted by errno "
            "with their own latencies, and are not retried without `retry`",
            "none",
        ),
        convert=to.errors_allowed,
        is_axis=False,
    ),
    Clause(
        word="retry",
        forms={"retry": "retry 3"},
        sets={"retry": ("retries",)},
        reference=(
            "`retry 3`",
            "a read, write or trim that fails is issued again at once, up to so many "
            "times; it counts once, its latency ends with the last attempt, and it has "
            "failed if all have. What was retried is in the record by errno",
            "not retried",
        ),
        convert=to.retry,
        is_axis=False,
        feature="run random 4KiB 100/0, retry 3 for 2s",
    ),
    Clause(
        word="hang",
        forms={"hang": "hang 2min"},
        sets={"hang": ("hang_ns",)},
        reference=(
            "`hang 2min`",
            "how long an I/O may take before the run is given up; at least five "
            "intervals",
            "30 s",
        ),
        convert=to.hang,
        is_axis=False,
        feature="run random 4KiB 100/0, hang 2min for 2s",
    ),
    Clause(
        word="replay",
        in_head=True,
        feature="run {}",
        is_axis=False,
        forms={"replay": "replay web"},
        sets={"replay": ("replay",)},
        slot="pattern",
        reference=(
            "`replay web`",
            "the I/Os of a trace, each at its recorded time, and its latency from then "
            "on, so that what a slow device delays is included "
            "([traces.md](traces.md)). The trace says the mix, the sizes and the "
            "offsets; `qd` is how many may be "
            "outstanding (256). Without a length, the run is once through the trace",
            "",
        ),
    ),
    Clause(
        word="footprint of",
        in_head=True,
        is_axis=False,
        is_feature=False,
        forms={"footprint of": "footprint of web"},
        sets={"footprint of": ()},
        slot="pattern",
        reference=(
            "`footprint of web`",
            "of a precondition's `write`: all that a trace reads or writes is written "
            "once, in the order of places, so that what it reads is there",
            "",
        ),
    ),
    Clause(
        word="part",
        in_head=True,
        is_axis=False,
        forms={"replay part": "replay web 20ms..60ms"},
        sets={"replay part": ("replay part",)},
        feature="run {}",
        reference=(
            "`replay web 10min..20min`",
            "the part of a trace from one time of it to another",
            "all of it",
        ),
    ),
    Clause(
        word="as fast as possible",
        in_head=True,
        is_axis=False,
        forms={"replay as fast as possible": "replay web as fast as possible"},
        sets={"replay as fast as possible": ("pace fast",)},
        feature="run {}",
        reference=(
            "`replay web as fast as possible`",
            "a closed loop in the recorded order: an I/O starts as soon as fewer than "
            "`qd` are outstanding, and its latency counts from then on",
            "at the recorded times",
        ),
    ),
    Clause(
        word="after completion",
        in_head=True,
        is_axis=False,
        forms={"replay after completion": "replay answered after completion"},
        sets={"replay after completion": ("pace after",)},
        feature="run {}",
        reference=(
            "`replay web after completion`",
            "an I/O starts when those are complete that were so before it in the "
            "recording, and as long after the last of them; for traces that say how "
            "long I/Os took ([traces.md](traces.md#after-completion))",
            "at the recorded times",
        ),
    ),
    Clause(
        word="speed",
        feature="run replay web, {}",
        is_simple=True,
        forms={"speed": "speed 2"},
        sets={"speed": ("speed",)},
        reference=(
            "`speed 2`",
            "how many times as fast as it was recorded a trace is replayed",
            "1",
        ),
        convert=to.speed,
        kinds=("number",),
    ),
    Clause(
        word="offsets",
        forms={
            "offsets wrapped": "offsets wrapped",
            "offsets scaled": "offsets scaled",
        },
        sets={
            "offsets wrapped": ("offsets wrapped",),
            "offsets scaled": ("offsets scaled",),
        },
        reference=(
            "`offsets wrapped`, `offsets scaled`",
            "places of a trace that is larger than the target: from its start again "
            "behind its end, so that sequential I/O stays so; or moved together in "
            "proportion, so that near places stay near, and some become one",
            "as recorded",
        ),
        is_axis=False,
        feature="run replay web, {}",
    ),
    Clause(
        word="only",
        forms={"only reads": "only reads", "only writes": "only writes"},
        sets={"only reads": ("only reads",), "only writes": ("only writes",)},
        reference=(
            "`only reads`, `only writes`",
            "the reads of a trace alone, or its writes, each at its time",
            "all I/Os",
        ),
        is_axis=False,
        feature="run replay logged, {}",
    ),
    Clause(
        word="writes as reads",
        forms={"writes as reads": "writes as reads"},
        sets={"writes as reads": ("writes_as_reads",)},
        reference=(
            "`writes as reads`",
            "each write of a trace is a read of the same place, flushes and discards "
            "are left out: nothing is changed on the target",
            "",
        ),
        is_axis=False,
        feature="run replay logged, {}",
    ),
    Clause(
        word="on hosts",
        is_feature=False,
        forms={"on hosts": "on hosts h1, h2"},
        sets={"on hosts": ("hosts",)},
        reference=(
            "`on hosts h1, h2`",
            "each of these hosts of the lab runs the stream, at the same time "
            '([labs.md](labs.md)); a name with other characters is quoted: `"rack-2"`',
            "the host of the target",
        ),
        slot="hosts",
        is_axis=False,
    ),
    Clause(
        word="on targets",
        is_feature=False,
        forms={"on targets": "on targets a, b"},
        sets={"on targets": ("targets",)},
        reference=(
            "`on targets a, b`",
            "the targets of a run that have the stream, by their names in the lab; see "
            "[Several targets](#several-targets)",
            "all targets of the run",
        ),
        slot="targets",
        is_axis=False,
    ),
)

BY_WORD = {clause.word: clause for clause in CLAUSES}
CONVERTED = {
    clause.word: clause.convert for clause in CLAUSES if clause.convert is not None
}
"""Fields that one quantity decides. Each raises QuantityError."""
AXIS_FIELDS = (
    *(clause.word for clause in CLAUSES if clause.is_axis),
    *("distribution", "workload"),
)
SIMPLE_WORDS = tuple(clause.word for clause in CLAUSES if clause.is_simple)
FIO_WORDS = {
    **{theirs: ours for clause in CLAUSES for theirs, ours in clause.fio.items()},
    "runtime": "for 30s",
    "ramp_time": "warmup 5s",
    "loops": "2 passes, or repeat 3 { run … }",
}
"""fio's words, each with an example of what is written in its place."""


_SLOTS = {clause.word: clause.slot or clause.word for clause in CLAUSES}
_SLOTS |= dict.fromkeys(("random", "sequential"), "pattern")
SLOTS = tuple(dict.fromkeys(_SLOTS.values()))
"""What a stream says, in the order in which ioplan writes it."""
HEAD_SLOTS = {_SLOTS[clause.word] for clause in CLAUSES if clause.in_head}


def slot(field: str) -> str:
    """What a clause is about; a workload says each thing once."""
    return _SLOTS.get(field, field)


def reference_rows() -> list[str]:
    """The clauses as rows of the table in the language's reference."""
    rows = (clause.reference for clause in CLAUSES if clause.reference)
    return ["| " + " | ".join(row) + " |" for row in rows]
