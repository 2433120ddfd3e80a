"""Ids of runs: what enters them, and what does not."""

from __future__ import annotations

import pytest
from plans import checked

from ioplan.language import CheckedPlan
from ioplan.planner import Run, unfold, with_repetitions
from ioplan.planner.run_id import canonical
from ioplan.planner.steps import Length
from ioplan.workload import (
    Data,
    Hotspot,
    Hotspots,
    Normal,
    Pareto,
    Rate,
    RatePhase,
    Region,
    Replay,
    SizeShare,
    Stream,
    Workload,
    Zipf,
)

STATE = "precondition p { purge write sequential 128KiB, qd 8, 2 passes }\n"


def runs(plan: CheckedPlan) -> list[Run]:
    return [step for step, _ in with_repetitions(unfold(plan)) if isinstance(step, Run)]


def id_of(body: str, before: str = "", scale: float = 1.0) -> str:
    """The id of the first run of a test."""
    return runs(checked(f'{before}test "T" {{ {body} }}', scale))[0].run_id


# Ids are kept in stores and compared across versions: these never change.
PINNED = {
    "run random 4KiB 100/0 for 10s": "0dec207ed7d1",
    "run random 4KiB 70/30, qd 32, rate 50_000 iops poisson for 10s, warmup 1s": "7f98c81270b5",
    "run sequential 128KiB 0/100, qd 8 each, threads 4, region 0%..50% for 1GiB": "53f51e80fd52",
    "run random sizes { 512B 10%, 4KiB 90% } 50/50, zipf 1.1, align 512B, 1 pass": "ef1c8c637f10",
    "run random 4KiB 0/100, hotspots { 50% in 5%, 50% in 95% }, data zeros for 1s": "33138934228d",
    "run random 4KiB 60/40, trim 10%, sync every 32, verify, normal 10% for 1s": "7e2a824cb9d7",
    "run random 4KiB 0/100, pareto 0.2, data compressible 50% for 1s": "2d5a2e0c7dea",
    "after p\nrun random 4KiB 100/0 for 10s": "427676181ea0",
    "idle 1s\nrun random 4KiB 100/0 for 10s": "1181ce7181ce",
    "repeat 3 { run random 4KiB 100/0 for 10s\n idle 1s }": "6ad51f8a49ca",
}


@pytest.mark.parametrize("body", PINNED)
@pytest.mark.promise("plans.same_runs")
def test_pinned(body: str) -> None:
    assert id_of(body, STATE) == PINNED[body]


@pytest.mark.parametrize(
    "said",
    [
        "run random 4KiB 100/0, qd 1 for 10s",
        "run random 4KiB 100/0, threads 1 for 10s",
        "run random 4KiB, read 100% for 10s",
        "run random 4KiB 100/0, align size for 10s",
        "run random 4KiB 100/0, region 0%..100% for 10s",
        "run random sizes { 4KiB 100% } 100/0 for 10s",
        "run random 4096B 100/0 for 10000ms",
        "run random 4KiB 100/0 for 10s\n idle 1s\n run random 8KiB 100/0 for 1s",
        "run random 4KiB 100/0 for 10s\n expect iops > 1 iops\n chart bars iops by time",
        "run random 4KiB 100/0 for 10s\n rounds until steady iops, at most 5",
        "run random 4KiB 100/0 for 10s\n vary qd in 1, 2",
        "run random 4KiB for 10s\n vary read in 100%, 0%",
        "run random 100/0 for 10s\n vary (size, qd) in (4KiB, 1), (8KiB, 2)",
        "run random 4KiB 100/0 for d\n vary d in 10s, 20s",
        "repeat 3 { run random 4KiB 100/0 for 10s }",
    ],
)
def test_equal_work_has_one_id(said: str) -> None:
    assert id_of(said) == id_of("run random 4KiB 100/0 for 10s")


@pytest.mark.promise("plans.ids")
def test_names_and_places_do_not_enter() -> None:
    one = checked(
        f'{STATE}workload w = random 4KiB 100/0\ntest "A" {{ after p\n run w for 1s }}'
    )
    other = checked(
        'plan "B"\non failure continue\nparam t = 1s\nworkload v = random 4KiB 70/30, qd 4\n'
        "workload u = v, 100/0, qd 1\n"
        "precondition r { idle 1h purge write sequential 128KiB, qd 8, 2 passes }\n"
        'test "first" { run v for t }\ntest "second" { after r\n run u for t }'
    )
    assert runs(one)[0].run_id == runs(other)[1].run_id


def test_a_shortened_plan_is_the_plan_with_short_times() -> None:
    shortened = id_of("run random 4KiB 100/0 for 10s, warmup 1s", scale=0.01)
    assert shortened == id_of("run random 4KiB 100/0 for 100ms, warmup 10ms")


@pytest.mark.parametrize(
    "body",
    [
        "run random 4KiB 100/0 for 11s",
        "run random 4KiB 100/0 for 10s, warmup 1s",
        "run random 4KiB 100/0 for 10GiB",
        "run random 4KiB 100/0, 10 passes",
        "run random 4KiB 100/0, permuted, 10 passes",
        "run random 4KiB 100/0, permuted for 10s",
        "after p\nrun random 4KiB 100/0 for 10s",
        "after q\nrun random 4KiB 100/0 for 10s",
        "idle 1s\nrun random 4KiB 100/0 for 10s",
        "idle 2s\nrun random 4KiB 100/0 for 10s",
        "repeat 2 { run random 4KiB 100/0 for 10s\n idle 1s }",
        "repeat 2 { run random 4KiB 100/0 for 10s\n idle 2s }",
        "repeat 2 { idle 2s\n run random 4KiB 100/0 for 10s }",
        "repeat 2 { idle 1s }\n run random 4KiB 100/0 for 10s",
        "repeat 3 { idle 1s }\n run random 4KiB 100/0 for 10s",
    ],
)
@pytest.mark.promise("plans.ids")
def test_what_matters_enters(body: str) -> None:
    others = [b for b in PINNED if b.endswith("100/0 for 10s") and b != body]
    other_state = STATE + STATE.replace("p {", "q {").replace("2 passes", "1 pass")
    found = id_of(body, other_state)
    assert found not in {id_of(b, other_state) for b in others}
    assert found != id_of("run random 4KiB 100/0 for 10s")


def test_each_pause_of_an_axis_is_another_run() -> None:
    """Though only the rest between the runs differs, their results do."""
    text = (
        "vary pause in 5s, 50s\n repeat 9 { run random 4KiB 0/100 for 5s\n idle pause }"
    )
    assert len({run.run_id for run in runs(checked(f'test "T" {{ {text} }}'))}) == 2


def test_the_same_step_later_in_a_cell_is_another_run() -> None:
    text = "run random 4KiB 0/100 for 5s\n" * 3
    assert len({run.run_id for run in runs(checked(f'test "T" {{ {text} }}'))}) == 3


SIZES = (SizeShare(size_bytes=4096, percent=100),)
STREAM = Stream(pattern="random", read_percent=50, read_sizes=SIZES, write_sizes=SIZES)
OTHER_SIZES = (
    SizeShare(size_bytes=4096, percent=50),
    SizeShare(size_bytes=8192, percent=50),
)
REPLAY = Replay(digest="a", ios=1, span_ns=0, end_bytes=8, moved_bytes=8)
OTHERS = {
    "name": ["reader", "writer"],
    "pattern": ["sequential"],
    "read_percent": [50.5, 100.0],
    "trim_percent": [1.0, 10.0],
    "read_sizes": [
        OTHER_SIZES,
        (SizeShare(size_bytes=8, percent=100),),
    ],
    "write_sizes": [OTHER_SIZES],
    "permuted": [True],
    "spare_percent": [7.0, 28.0],
    "align_bytes": [512, 4096],
    "qd": [2, 11],
    "threads": [2, 11],
    "hosts": [("h1",), ("h1", "h2")],
    "targets": [("a",), ("a", "b")],
    "over_all": [True],
    "rate": [
        Rate(iops=100),
        Rate(bytes_per_s=100),
        Rate(iops=100, arrivals="poisson"),
        Rate(iops=100, arrivals="gamma"),
        Rate(iops=100, arrivals="gamma", gap_variation=2),
        Rate(iops=100, phases=(RatePhase(length_ns=5, per_s=100),)),
        Rate(iops=100, phases=(RatePhase(length_ns=5, per_s=0),)),
        Rate(iops=100, first_per_s=0, last_per_s=200),
        Rate(iops=100, first_per_s=200, last_per_s=0),
    ],
    "pause_ns": [1_000, 5_000_000],
    "pause_every": [2, 128],
    "starts_ns": [1_000, 2_000_000_000],
    "ends_ns": [1_000, 2_000_000_000],
    "random_percent": [65.0, 30.0],
    "write_random_percent": [65.0, 30.0],
    "region": [
        Region(start_percent=50),
        Region(end_percent=50),
        Region(start_bytes=1 << 30),
        Region(end_percent=0, end_bytes=1 << 30),
    ],
    "distribution": [
        Zipf(theta=0.5),
        Pareto(h=0.5),
        Normal(deviation_percent=0.5),
        Hotspots(spots=(Hotspot(io_percent=100, space_percent=100),)),
    ],
    "data": [
        Data(kind="zeros"),
        Data(kind="compressible", percent=50),
        Data(percent=50),
    ],
    "dedup_percent": [0.5, 30],
    "sync_every": [1, 32],
    "fua": [True],
    "follows": ["log", "other"],
    "verify": [True],
    "errors_allowed": [1, 100],
    "errors_allowed_percent": [1.0, 100.0],
    "retries": [1, 3],
    "hang_ns": [1_000, 120_000_000_000],
    "replay": [REPLAY, REPLAY.model_copy(update={"digest": "b"})],
    "speed": [0.5, 2.0],
    "offsets": ["scaled", "wrapped"],
    "only": ["reads", "writes"],
    "writes_as_reads": [True],
    "pace": ["fast", "after"],
}


def test_every_field_is_tried() -> None:
    assert set(OTHERS) == set(Stream.model_fields)


def test_every_field_enters() -> None:
    changed = [
        STREAM.model_copy(update={field: value})
        for field, values in OTHERS.items()
        for value in values
    ]
    texts = [canonical(Workload(streams=(stream,))) for stream in (STREAM, *changed)]
    assert len(set(texts)) == len(texts)


def test_streams_enter_in_their_order() -> None:
    other = STREAM.model_copy(update={"name": "other"})
    texts = {
        canonical(Workload(streams=streams))
        for streams in ((STREAM,), (STREAM, STREAM), (STREAM, other), (other, STREAM))
    }
    assert len(texts) == 4


def test_a_written_default_is_no_difference() -> None:
    written = Stream.model_validate(STREAM.model_dump())
    whole = STREAM.model_copy(
        update={"region": Region(start_percent=0, end_percent=100)}
    )
    for stream in (written, whole):
        assert canonical(Workload(streams=(stream,))) == canonical(
            Workload(streams=(STREAM,))
        )


def test_the_name_of_a_phase_and_what_is_judged_are_no_difference() -> None:
    """Nor is how finely it is reported; but when a phase comes is."""
    burst = "random 8KiB 70/30, burst 1s of 900 iops{}, then 1s of 90 iops"
    run = f"run {burst} for 10s"
    plain = id_of(run.format(""))
    assert id_of(run.format(" as peak")) == plain
    assert id_of(run.format(" as peak") + " expect p50 < 1s during peak") == plain
    assert id_of(run.format("") + " expect p50 < 1s during 2s..3s") == plain
    assert id_of(run.format("") + " expect worst_second.p50 < 1s") == plain
    assert id_of(run.format("") + ", interval 100ms") == plain
    assert id_of(run.format("").replace("1s of 90 ", "2s of 90 ")) != plain


def test_sizes_have_no_order() -> None:
    one, other = "512B 10%, 4KiB 90%", "4KiB 90%, 512B 10%"
    run = "run random sizes {{ {} }} 70/30 for 1s"
    assert id_of(run.format(one)) == id_of(run.format(other))


def test_numbers_enter_by_their_value() -> None:
    """A bound workload is not validated again; `70` and `70.0` are the same."""
    for body in PINNED:
        (run, *_) = runs(checked(f'{STATE}test "T" {{ {body} }}'))
        clean = Workload.model_validate(run.workload.model_dump())
        assert canonical(clean) == canonical(run.workload)
        assert Length(*run.length) == run.length
