"""The job files, clause by clause, and what of each fio cannot say exactly."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from fio_jobs import NEEDS_FIO, job, one_size, split, stand_in, stream
from hypothesis import given
from hypothesis import strategies as st

from golden import Golden
from ioplan.backends import BackendError, TargetRequest
from ioplan.job import SECOND_NS, Job
from ioplan_fio import FioBackend, Settings, job_file

FILES = Golden("fio_jobs")


@cache
def program(version):
    """What says that it is a fio of this version."""
    return stand_in(Path(mkdtemp()), "exit 0", f"fio-{version}")


def gaps(wanted, engine="io_uring", version="3.33"):
    return FioBackend().gaps(wanted, {"engine": engine, "version": version})


def shown(wanted):
    """The job file, and under it what is not exact."""
    lines = [
        f"# {g.stream}.{g.field}: {g.reason} -> {g.instead or 'REFUSED'}"
        for g in gaps(wanted)
    ]
    return job_file(wanted, Settings()) + "\n" + "\n".join([*lines, ""])


@pytest.mark.parametrize("name", FILES)
def test_a_job_file(name, golden):
    golden(FILES, name, shown(Job.model_validate(FILES[name].input)))


@pytest.mark.slow
@NEEDS_FIO
def test_fio_takes_every_job_file(tmp_path):
    for name, one in FILES.items():
        (tmp_path / f"{name}.fio").write_text(one.expected)
    words = ["fio", "--parse-only", *sorted(tmp_path.iterdir())]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("engine", ["io_uring", "libaio", "psync", "io_uring_cmd"])
def test_an_engine(engine):
    wanted = job(stream(qd=4), target="/dev/nvme0n1")
    text = FioBackend().native(wanted, {"engine": engine})
    assert f"ioengine={engine}\n" in text
    assert ("direct=1" in text) == (engine != "io_uring_cmd")
    assert ("filename=/dev/ng0n1" in text) == (engine == "io_uring_cmd")
    assert [gap.field for gap in gaps(wanted, engine)] == ["qd"] * (engine == "psync")


GAPS = Golden("fio_gaps")


@pytest.mark.parametrize("name", GAPS)
def test_what_differs_by_engine_and_version(name, golden):
    """A flush that blocks, comes again or is left out, a depth that is rounded up, blocks
    that equal parts leave out: what of a newer fio, or of another engine, is no gap."""
    of = GAPS[name].input
    found = gaps(Job.model_validate(of["job"]), of["engine"], of["version"])
    rows = {one.field: f"{one.reason} -> {one.instead or 'REFUSED'}" for one in found}
    golden(GAPS, name, rows)


REFUSED = [
    ({"target": "/dev/sda"}, {"engine": "io_uring_cmd"}, "NVMe namespace"),
    ({}, {"engin": "libaio"}, "did you mean 'engine'"),
    ({}, {"engine": "iouring"}, "did you mean 'io_uring'"),
    *(
        ({"target": f"/data/{name}"}, {}, "rename it")
        for name in ("$HOME", "a\nrw=write", "x ", "a\\b", "a;b", "a#b")
    ),
]


@pytest.mark.parametrize(("fields", "options", "says"), REFUSED)
def test_what_a_job_file_cannot_say(fields, options, says):
    with pytest.raises(BackendError, match=says):
        FioBackend().native(job(**fields), options)


def figures(name, text):
    """Of an option `a/b:c/d`, as numbers."""
    found = re.search(rf"^{name}=(\S+)$", text, re.MULTILINE)
    assert found, text
    parts = found[1].removeprefix("zoned:").split(":")
    return [[int(n) for n in re.findall(r"\d+", one)] for one in parts]


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=30))
def test_whole_percents_add_up(weights):
    percents = [weight / sum(weights) * 100 for weight in weights]
    sizes = split(*((4096 * n, p) for n, p in enumerate(percents, 1)))
    wanted = job(stream(read_sizes=sizes, align_bytes=4096))
    text = job_file(wanted, Settings())
    if "bsrange" in text:  # equal shares, whole or not
        assert percents == pytest.approx([percents[0]] * len(percents))
        return
    found = {size: p for size, p in figures("bssplit", text)}
    assert sum(found.values()) == 100
    for number, percent in enumerate(percents, 1):
        assert abs(found.get(4 * number, 0) - percent) < 1 + 1e-6


@given(st.floats(0.01, 100))
def test_a_bell_is_whole_and_even(deviation):
    bell = {"kind": "normal", "deviation_percent": deviation}
    text = job_file(job(stream(distribution=bell)), Settings())
    zones = figures("random_distribution", text)
    assert sum(io for io, _ in zones) == 100 == sum(space for _, space in zones)
    cells = [io / space for io, space in zones for _ in range(space)]
    assert all(abs(a - b) <= 1 for a, b in zip(cells, reversed(cells), strict=True))


UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3}


@given(st.integers(1, 10**13))
def test_a_duration_is_never_less_than_asked(time_ns):
    text = job_file(job(run_ns=time_ns), Settings())
    found = re.search(r"^runtime=(\d+)(\w+)$", text, re.MULTILINE)
    assert found, text
    assert 0 <= int(found[1]) * UNITS[found[2]] - time_ns < 1000


def bytes_of(name, text):
    """An option in bytes, or with `k` and the like; 0 where it is not there."""
    found = re.search(rf"^{name}=(\d+)([kmg]?)$", text, re.MULTILINE)
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2]] if found else 0


@given(
    start=st.integers(0, 100), blocks=st.integers(64, 5000), threads=st.integers(1, 8),
    size=st.sampled_from([512, 4096, 12288]), align=st.sampled_from([None, 512, 4096, 8192]),
    pattern=st.sampled_from(["random", "sequential"]), permuted=st.booleans(),
)  # fmt: skip
def test_threads_stay_inside_and_apart(
    start, blocks, threads, size, align, pattern, permuted
):
    end = (start + blocks) * 4096
    one = stream(
        pattern=pattern, threads=threads, align_bytes=align, read_sizes=one_size(size),
        region_start_bytes=start * 4096, region_end_bytes=end, permuted=permuted,
    )  # fmt: skip
    text = job_file(job(one, capacity_bytes=end, run_ns=SECOND_NS), Settings())
    offset, step, part = (
        bytes_of(n, text) for n in ("offset", "offset_increment", "size")
    )
    assert part and start * 4096 <= offset
    assert offset + step * (threads - 1) + part <= end
    assert offset % (align or size) == 0
    if pattern == "sequential" or permuted:
        # Random blocks that are visited once each stand on the alignment.
        grid = align or size if pattern == "random" else 1
        assert part % (-(-size // grid) * grid) == 0
        assert step == part or threads == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "more", "version", "reason"),
    [
        ("fio-3.33", {}, "3.33", ""),
        ("fio-3.36-12-gabc", {}, "3.36", ""),
        ("fio-3.42.1", {}, "3.42.1", ""),
        ("fio-3.33", {"version": "2.1"}, "", "option version says 2.1"),
        ("fio-3.16", {}, "", "too old"),
        ("fio", {}, "", "no version"),
        ("", {}, "", "no version"),
        ("fio-3.33", {"path": "/nowhere/fio"}, "", "/nowhere/fio"),
    ],
)
def test_whether_fio_is_there(says, more, version, reason, tmp_path):
    options = {"path": stand_in(tmp_path, "exit 0", says)} | more
    found = FioBackend().availability(options)
    assert found.usable is bool(version)
    assert found.version == version if version else reason in found.reason


def test_no_fio(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not installed" in FioBackend().availability({}).reason


def test_a_machine_without_io_uring(monkeypatch, tmp_path):
    options, reason = {"path": program("3.33")}, "io_uring is disabled by kernel"
    monkeypatch.setattr("ioplan_fio.backend.io_uring_fault", lambda: reason)
    found = FioBackend().availability(options)
    assert found.usable and reason in found.reason and "libaio" in found.reason
    with pytest.raises(BackendError, match=reason):
        FioBackend().open(TargetRequest(path=str(tmp_path), options=options))
