"""The job files, clause by clause, and what of each fio cannot say exactly."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from fio_jobs import MIB, NEEDS_FIO, job, one_size, split, stream
from hypothesis import given
from hypothesis import strategies as st

from golden import Check, Golden
from ioplan.backends import Backend, BackendError
from ioplan.job import SECOND_NS, Job
from ioplan_fio import FioBackend, Settings, job_file, settings_of
from ioplan_fio.gaps import GapContext, find_gaps
from ioplan_fio.jobfile import ENGINES, duration
from ioplan_fio.program import version_of
from ioplan_fio.section import bell, whole
from ioplan_fio.streams import extent

FILES = Golden("fio_jobs")
KIB = 1024
WRITES = {"read_percent": 0}
PERMUTED = {**WRITES, "permuted": True}
SPOTS = [(50, 5), (30, 15), (20, 80)]


def spots(*pairs: tuple[float, float]) -> dict[str, Any]:
    one = [{"io_percent": io, "space_percent": space} for io, space in pairs]
    return {"kind": "hotspots", "spots": one}


JOBS: dict[str, Job] = {
    "random-read": job(),
    "random-mix": job(stream(read_percent=70, qd=32)),
    "odd-mix": job(stream(read_percent=66.6)),
    "sequential-write": job(
        stream(pattern="sequential", **WRITES, write_sizes=one_size(128 * KIB), qd=8)
    ),
    "large-buffers": job(stream(read_sizes=one_size(128 * KIB), qd=32)),
    "sequential-mix": job(stream(pattern="sequential", read_percent=50)),
    "sizes": job(stream(read_sizes=split((512, 10), (4096, 60), (65536, 30)))),
    "sizes-in-range": job(
        stream(read_sizes=split(*((k * 4096, 100 / 3) for k in (1, 2, 3))), align_bytes=4096)
    ),
    "sizes-by-direction": job(
        stream(read_percent=50, read_sizes=split((4096, 100 / 3), (8192, 200 / 3)),
               write_sizes=one_size(65536), align_bytes=4096)
    ),
    "size-by-direction": job(stream(read_percent=50, write_sizes=one_size(65536))),
    "threads-sequential": job(stream(pattern="sequential", threads=3, region_end_bytes=50 * MIB)),
    "threads-random": job(stream(threads=4)),
    "region": job(stream(region_start_bytes=5120, region_end_bytes=32 * MIB)),
    "align": job(stream(align_bytes=512)),
    "align-sequential": job(
        stream(pattern="sequential", read_sizes=one_size(3 * KIB), align_bytes=4 * KIB)
    ),
    "rate": job(stream(rate={"iops": 1000}, threads=2)),
    "rate-mix": job(stream(rate={"iops": 1000}, read_percent=70)),
    "rate-odd": job(stream(rate={"iops": 1000}, threads=3)),
    "rate-sizes": job(stream(rate={"iops": 1000}, read_sizes=split((4096, 50), (8192, 50)))),
    "rate-bandwidth": job(stream(rate={"bytes_per_s": 100 * MIB})),
    "rate-gamma": job(stream(rate={"iops": 500, "arrivals": "gamma"})),
    "rate-poisson": job(stream(rate={"iops": 500, "arrivals": "poisson"})),
    "random-share": job(stream(random_percent=65)),
    "random-by-direction": job(
        stream(read_percent=70, random_percent=65, write_random_percent=0),
        stream(name="b", read_percent=70, write_random_percent=12.5),
    ),
    "random-share-odd": job(stream(random_percent=62.5)),
    "pause": job(stream(pause_ns=5_000_000)),
    "pause-every": job(stream(pause_ns=250_000, pause_every=128, qd=32, threads=2)),
    "pause-short": job(stream(pause_ns=700)),
    "pause-long": job(stream(pause_ns=2 * SECOND_NS)),
    "pause-warmup": job(stream(pause_ns=5_000_000), warmup_ns=SECOND_NS),
    "parts": job(
        stream(name="a", ends_ns=3 * SECOND_NS),
        stream(name="b", starts_ns=SECOND_NS, ends_ns=3 * SECOND_NS),
        stream(name="c", starts_ns=SECOND_NS // 4),
        run_ns=4 * SECOND_NS, warmup_ns=SECOND_NS,
    ),
    "zipf": job(stream(distribution={"kind": "zipf", "theta": 1.2})),
    "zipf-one": job(stream(distribution={"kind": "zipf", "theta": 1})),
    "pareto": job(stream(distribution={"kind": "pareto", "h": 0.2})),
    "normal": job(stream(distribution={"kind": "normal", "deviation_percent": 10})),
    "hotspots": job(stream(distribution=spots(*SPOTS))),
    "hotspots-odd": job(stream(distribution=spots((33.4, 10), (33.3, 40), (33.3, 50)))),
    "data-zeros": job(stream(**WRITES, data={"kind": "zeros"})),
    "data-compressible": job(stream(**WRITES, data={"kind": "compressible", "percent": 50})),
    "data-odd": job(stream(**WRITES, data={"kind": "compressible", "percent": 33.5})),
    "trim": job(stream(trim_percent=100, qd=4), target="/dev/nvme0n1"),
    "trim-file": job(stream(trim_percent=100)),
    "trim-mixed": job(stream(trim_percent=10, **WRITES), target="/dev/nvme0n1"),
    "sync": job(stream(**WRITES, sync_every=32)),
    "sync-deep": job(stream(**WRITES, sync_every=32, qd=8)),
    "verify": job(stream(**WRITES, verify=True)),
    "pass": job(stream(**PERMUTED), passes=1),
    "pass-drawn-anew": job(stream(**WRITES), passes=1),
    "permuted-time": job(stream(**PERMUTED, threads=2), run_ns=10 * SECOND_NS),
    "passes-sequential": job(stream(pattern="sequential", **WRITES, threads=2), passes=2),
    "passes-part": job(stream(**PERMUTED, threads=2), passes=1.5),
    "passes-align": job(stream(**PERMUTED, align_bytes=512), passes=1),
    "passes-sizes": job(stream(**WRITES, write_sizes=split((4096, 50), (8192, 50))), passes=1),
    "bytes": job(stream(threads=2), limit_bytes=100 * MIB),
    "bytes-streams": job(stream(name="a"), stream(name="b"), limit_bytes=100 * MIB),
    "bytes-or-time": job(stream(), limit_bytes=100 * MIB, run_ns=SECOND_NS),
    "streams": job(
        stream(name="reader", qd=16), stream(name="writer", **WRITES, rate={"iops": 100})
    ),
    "names": job(stream(name="global"), stream(name="a]b"), stream(name="fine")),
    "warmup": job(warmup_ns=SECOND_NS // 2, run_ns=1_500_500_000, read_only=True),
    "warmup-passes": job(stream(**PERMUTED), warmup_ns=SECOND_NS, passes=1),
    "path": job(target="/data/a:b c d.bin"),
}  # fmt: skip


def shown(wanted: Job, settings: Settings) -> str:
    """The job file, and under it what is not exact."""
    gaps = find_gaps(GapContext(wanted, settings.engine, (3, 33)))
    lines = [
        f"# {g.stream}.{g.field}: {g.reason} -> {g.instead or 'REFUSED'}" for g in gaps
    ]
    return job_file(wanted, settings) + "\n" + "\n".join([*lines, ""])


@pytest.mark.parametrize("name", JOBS)
def test_a_job_file(name: str, golden: Check) -> None:
    golden(FILES, name, shown(JOBS[name], Settings()))


def test_every_golden_has_a_job() -> None:
    assert {*FILES} == {*JOBS}


@pytest.mark.slow
@NEEDS_FIO
def test_fio_takes_every_job_file(tmp_path: Path) -> None:
    for name, one in FILES.items():
        (tmp_path / f"{name}.fio").write_text(one.expected)
    done = subprocess.run(
        ["fio", "--parse-only", *sorted(tmp_path.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine(engine: str) -> None:
    wanted = job(stream(qd=4), target="/dev/nvme0n1")
    text = FioBackend().native(wanted, {"engine": engine})
    assert f"ioengine={engine}\n" in text
    assert ("direct=1" in text) == (engine != "io_uring_cmd")
    assert ("filename=/dev/ng0n1" in text) == (engine == "io_uring_cmd")
    gaps = find_gaps(GapContext(wanted, engine, (3, 33)))  # type: ignore[arg-type]
    assert [gap.field for gap in gaps] == (["qd"] if engine == "psync" else [])


def test_a_newer_fio_has_a_gap_less() -> None:
    wanted = job(stream(**WRITES, sync_every=8, qd=4))
    assert find_gaps(GapContext(wanted, "io_uring", (3, 37)))
    assert not find_gaps(GapContext(wanted, "io_uring", (3, 38)))
    paused = job(stream(pause_ns=SECOND_NS), warmup_ns=SECOND_NS)
    fields = {
        version: [
            gap.field for gap in find_gaps(GapContext(paused, "io_uring", version))
        ]
        for version in ((3, 33), (3, 34), (3, 35))
    }
    assert fields == {(3, 33): ["pause", "warmup"], (3, 34): ["warmup"], (3, 35): []}


@pytest.mark.parametrize("waits", [{"pause_ns": SECOND_NS}, {"rate": {"iops": 500}}])
def test_libaio_leaves_out_flushes_where_it_waits(waits: dict[str, Any]) -> None:
    """Measured on 3.33: 282 flushes for 468, 2376 for 7920."""

    def fields(**more: Any) -> list[str]:
        wanted = job(stream(**WRITES, sync_every=8, **more))
        return [gap.field for gap in find_gaps(GapContext(wanted, "libaio", (3, 38)))]

    assert "sync" in fields(qd=8, **waits)
    assert "sync" not in fields(qd=1, **waits)


@pytest.mark.parametrize(
    ("engine", "version", "more", "differs"),
    [
        ("libaio", (3, 38), {"qd": 8}, True),
        ("libaio", (3, 38), {}, False),
        ("psync", (3, 33), {}, False),
        ("psync", (3, 33), {"read_percent": 50}, True),
        ("psync", (3, 38), {"read_percent": 50}, False),
        ("io_uring", (3, 33), {"qd": 8}, True),
        ("io_uring", (3, 38), {"qd": 8}, False),
    ],
)
def test_a_flush_that_blocks_or_comes_again_is_a_gap(
    engine: str, version: tuple[int, ...], more: dict[str, Any], differs: bool
) -> None:
    """Seen on 3.33: 97 flushes for 50 groups of writes with reads between them."""
    wanted = job(stream(**{**WRITES, "sync_every": 4, **more}))
    gaps = find_gaps(GapContext(wanted, engine, version))
    assert ("sync" in [one.field for one in gaps]) is differs


@pytest.mark.parametrize(
    ("engine", "version", "qd", "differs"),
    [
        ("io_uring", (3, 38), 3, True),
        ("io_uring_cmd", (3, 38), 24, True),
        ("io_uring", (3, 38), 1, False),
        ("io_uring", (3, 38), 64, False),
        ("io_uring", (3, 39), 3, False),
        ("libaio", (3, 33), 3, False),
    ],
)
def test_a_queue_depth_that_is_rounded_up_is_refused(
    engine: str, version: tuple[int, ...], qd: int, differs: bool
) -> None:
    """Seen on 3.33: 3.95 I/Os outstanding at iodepth=3."""
    gaps = find_gaps(GapContext(job(stream(qd=qd)), engine, version))
    assert [one.field for one in gaps] == ["qd"] * differs
    assert not any(one.instead for one in gaps)


def test_threads_that_leave_blocks_out_say_so() -> None:
    """Three equal parts of 16 blocks leave one."""

    def found(threads: int, **more: Any) -> list[tuple[str, str]]:
        one = stream(
            **WRITES,
            pattern="sequential",
            threads=threads,
            region_end_bytes=16 * 4096,
        )
        wanted = job(one, **more)
        gaps = find_gaps(GapContext(wanted, "io_uring", (3, 38)))
        return [(gap.field, gap.instead) for gap in gaps]

    assert found(3, passes=1) == [("passes", "the last 1 block left out")]
    assert found(4, passes=1) == found(1, passes=1) == []


def test_io_uring_cmd_says_what_it_cannot() -> None:
    target = "/dev/nvme0n1"
    one = stream(**WRITES, sync_every=8)
    trims = stream(trim_percent=100, name="trims")
    gaps = find_gaps(
        GapContext(job(one, trims, target=target), "io_uring_cmd", (3, 33))
    )
    assert [(g.stream, g.field, g.instead) for g in gaps] == [
        ("main", "sync", ""), ("trims", "trim", ""),
    ]  # fmt: skip
    with pytest.raises(BackendError, match="NVMe namespace"):
        job_file(job(target="/dev/sda"), Settings(engine="io_uring_cmd"))


@pytest.mark.parametrize(
    "target",
    [
        "/data/$HOME",
        "/data/a\nrw=write",
        "/data/x ",
        "/data/a\\b",
        "/data/a;b",
        "/data/a#b",
    ],
)
def test_a_target_that_a_job_file_cannot_name(target: str) -> None:
    with pytest.raises(BackendError, match="rename it"):
        job_file(job(target=target), Settings())


def test_options() -> None:
    assert settings_of({}) == Settings()
    with pytest.raises(BackendError, match="did you mean 'engine'"):
        settings_of({"engin": "libaio"})
    with pytest.raises(BackendError, match="did you mean 'io_uring'"):
        settings_of({"engine": "iouring"})


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("fio-3.33\n", (3, 33)),
        ("fio-3.36-12-gabc", (3, 36)),
        ("fio-3.42.1", (3, 42, 1)),
    ],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert version_of(text) == version


def test_it_is_a_backend() -> None:
    assert isinstance(FioBackend(), Backend)


def test_a_late_start_among_hosts_is_refused() -> None:
    """Its threads come to the gate too late for all to go through it together."""
    late = job(stream(), stream(name="b", starts_ns=SECOND_NS // 2))
    (told,) = FioBackend().gaps(late, {})
    assert told.field == "starts" and told.instead
    (told,) = FioBackend().gaps(late.model_copy(update={"await_start": True}), {})
    assert told.field == "starts" and not told.instead


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30))
def test_whole_percents_add_up(weights: list[float]) -> None:
    percents = [weight / sum(weights) * 100 for weight in weights]
    found = whole(percents)
    assert sum(found) == 100
    assert all(abs(a - b) < 1 + 1e-6 for a, b in zip(found, percents, strict=True))


@given(st.floats(0.01, 100))
def test_a_bell_is_whole_and_even(deviation: float) -> None:
    zones = bell(deviation)
    assert sum(io for io, _ in zones) == 100 == sum(space for _, space in zones)
    cells = [io / space for io, space in zones for _ in range(space)]
    assert all(abs(a - b) <= 1 for a, b in zip(cells, reversed(cells), strict=True))


@given(st.integers(1, 10**13))
def test_a_duration_is_never_less_than_asked(time_ns: int) -> None:
    text = duration(time_ns)
    number = int(text.rstrip("mus"))
    unit = {"s": 10**9, "ms": 10**6, "us": 10**3}[text.lstrip("0123456789")]
    assert 0 <= number * unit - time_ns < 1000


@given(
    start=st.integers(0, 100), blocks=st.integers(64, 5000), threads=st.integers(1, 8),
    size=st.sampled_from([512, 4096, 12288]), align=st.sampled_from([None, 512, 4096, 8192]),
    pattern=st.sampled_from(["random", "sequential"]), permuted=st.booleans(),
)  # fmt: skip
def test_threads_stay_inside_and_apart(
    start: int, blocks: int, threads: int, size: int, align: int | None, pattern: str,
    permuted: bool,
) -> None:  # fmt: skip
    end = (start + blocks) * 4096
    one = stream(
        pattern=pattern, threads=threads, align_bytes=align, read_sizes=one_size(size),
        region_start_bytes=start * 4096, region_end_bytes=end, permuted=permuted,
    )  # fmt: skip
    wanted = job(one, capacity_bytes=end, run_ns=SECOND_NS)
    part = extent(wanted, wanted.streams[0])
    last = part.start_bytes + part.step_bytes * (threads - 1) + part.size_bytes
    assert start * 4096 <= part.start_bytes and last <= end
    assert part.start_bytes % (align or size) == 0
    if pattern == "sequential" or permuted:
        # Random blocks that are visited once each stand on the alignment.
        grid = align or size if pattern == "random" else 1
        assert part.size_bytes % (-(-size // grid) * grid) == 0
        assert part.step_bytes == part.size_bytes


def test_no_fio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = FioBackend().availability({})
    assert not found.usable and "not installed" in found.reason
    found = FioBackend().availability({"path": "/nowhere/fio"})
    assert not found.usable and "/nowhere/fio" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "reason"),
    [("fio-3.16", "too old"), ("fio", "no version"), ("", "no version")],
)
def test_a_fio_that_does_not_do(version: str, reason: str, tmp_path: Path) -> None:
    from fio_jobs import stand_in

    program = stand_in(tmp_path, "exit 0", version)
    found = FioBackend().availability({"path": program})
    assert not found.usable and reason in found.reason


@pytest.mark.slow
def test_a_machine_without_io_uring(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fio_jobs import stand_in

    from ioplan.backends import TargetRequest

    program = stand_in(tmp_path, "exit 0")
    reason = "io_uring is disabled by kernel.io_uring_disabled=2"
    monkeypatch.setattr("ioplan_fio.backend.io_uring_fault", lambda: reason)
    found = FioBackend().availability({"path": program})
    assert found.usable and reason in found.reason and "libaio" in found.reason
    request = TargetRequest(path=str(tmp_path), options={"path": program})
    with pytest.raises(BackendError, match="io_uring_disabled=2"):
        FioBackend().open(request)
