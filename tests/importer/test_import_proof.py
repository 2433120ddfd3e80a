"""A plan that is emitted for fio again asks what the job file asked."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from command import ioplan
from fio_jobs import NEEDS_FIO

from golden import Golden
from ioplan.language import Source, check
from ioplan.planner import Run, unfold
from ioplan_importer import import_plan
from ioplan_importer.proof import prove as proof
from ioplan_importer.proof.prove import Proof, prove, trace_of

IMPORTS = Golden("imports")


def proofs(text: str, name: str = "j.fio") -> list[Proof]:
    source = Source(name, text)
    made = import_plan(source, "fio", {})
    assert made.plan
    return prove(source, made.plan, {})


@pytest.fixture
def _no_fio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof.shutil, "which", lambda name: None)


@pytest.mark.usefixtures("_no_fio")
@pytest.mark.parametrize("name", ["matrix", "streams", "staggered"])
def test_what_imports_whole_is_equal(name: str) -> None:
    found = proofs(IMPORTS[f"{name}.fio"].input)
    assert found and all(one.holds for one in found), [*map(str, found)]
    assert all(one.equal >= 10 and one.ios is None for one in found)


@pytest.mark.usefixtures("_no_fio")
@pytest.mark.parametrize(
    ("option", "differing"),
    [
        ("iodepth=8\nioengine=libaio\nthinktime=5\nthinktime_blocks=4", "thinktime_blocks_type"),
        ("runtime=30", "time_based"),
        ("startdelay=5", "startdelay"),
        ("bs=4k,8k\nrw=randrw\nblockalign=4k,16k", "blockalign"),
    ],
)  # fmt: skip
def test_a_loss_is_a_difference(option: str, differing: str) -> None:
    text = f"[j]\nrw=randread\ndirect=1\nfilename=/dev/sdb\nnorandommap\n{option}\n"
    (found,) = proofs(text)
    assert differing in found.differing
    assert f"{differing} differs" in str(found)


@pytest.mark.usefixtures("_no_fio")
@pytest.mark.parametrize(
    "option",
    [
        *("bs=96k\nsize=1g", "size=10%", "rate_iops=500,", "fsync=8\nfdatasync=16"),
        *("zero_buffers\ndedupe_percentage=20", "runtime=0"),
    ],
)
def test_what_comes_to_the_same_is_equal(option: str) -> None:
    text = f"[j]\nrw=write\ndirect=1\nfilename=/dev/sdb\n{option}\n"
    (found,) = proofs(text)
    assert found.holds, str(found)


@pytest.mark.usefixtures("_no_fio")
def test_what_the_plan_does_not_have_is_no_equality() -> None:
    text = "[j]\nrw=read\ndirect=1\nfilename=/dev/sdb\n{}runtime=9\ntime_based\n"
    (whole,) = proofs(text.format(""))
    (lossy,) = proofs(text.format("zonemode=strided\nzonesize=1m\n"))
    assert whole.holds and not lossy.holds
    assert "left out: zonemode, zonesize" in str(lossy)


@pytest.mark.long
@NEEDS_FIO
def test_fio_makes_the_same_ios_of_both(tmp_path: Path) -> None:
    done = ioplan("import", IMPORTS["clauses.fio"].put(tmp_path), "--prove")
    told = [line for line in done.err.splitlines() if "equal: " in line]
    names = {line.split(": ")[1]: line for line in told}
    for name in ("range", "data", "zeros", "zones", "discard", "parts"):
        assert names[name].startswith("equal: ")
        assert "fio makes the same I/Os of both (1000)" in names[name]
    assert "fio makes other I/Os of both" in names["sizes"]
    assert done.code == 1


@pytest.mark.slow
@NEEDS_FIO
def test_a_direction_of_fio_goes_on_from_its_own_last_io() -> None:
    """As `read random` and `write random` define it, on what a plan becomes for fio."""
    text = (
        'test "T" { run random 4KiB 50/50, read random 90%, write random 20%, '
        "region 0%..1% for 1s }"
    )
    (run,) = (one for one in unfold(check(Source("p", text))) if isinstance(one, Run))
    (job,) = proof._emitted(run)
    trace = trace_of("fio", job, proof.FACTS.capacity_bytes)
    assert trace
    for direction, drawn in (("read", 0.9), ("write", 0.2)):
        rows = [row.split() for row in trace]
        offsets = [int(row[1]) for row in rows if row[0] == direction]
        went_on = sum(b == a + 4096 for a, b in pairwise(offsets)) / len(offsets)
        assert went_on == pytest.approx(1 - drawn, abs=0.07)


FLUSHING = "[j]\nfilename=j.bin\nsize=16m\ndirect=1\nbs=4k\ntime_based\nruntime=1\n"


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("rw=randwrite\nioengine=psync\nfsync=1", ""),
        ("rw=randwrite\nioengine=psync\nfdatasync=8\niodepth=32", ""),  # depth of 1
        ("rw=randwrite\nioengine=libaio\nfsync=1", ""),
        ("rw=randwrite\nioengine=libaio\nfsync=1\niodepth=32", "blocks its job"),
        ("rw=randwrite\nioengine=libaio\nfdatasync=1\niodepth=32", "blocks its job"),
        ("rw=write\nioengine=libaio\nfdatasync=64\niodepth=2", "blocks its job"),
        ("rw=randwrite\nioengine=io_uring\nfsync=1\niodepth=4", "before 3.38"),
        (
            "rw=randrw\nnorandommap\nioengine=psync\nfdatasync=1\nrwmixread=10",
            "before 3.38",
        ),
        (
            "rw=randwrite\nioengine=libaio\nfsync=1\niodepth=8\nrate_iops=9",
            "leaves out",
        ),
        ("rw=write\nioengine=psync\nfsync=4\nfdatasync=6", "each 4 and each 6"),
        ("rw=write\nioengine=psync\nfsync=4\nfdatasync=8", ""),
        ("rw=randread\nioengine=libaio\nfsync=1\niodepth=32", ""),  # writes nothing
        ("rw=randwrite\nioengine=libaio\nfsync=0\niodepth=32", ""),
    ],
)
def test_flushes_that_fio_does_otherwise_are_told_and_refused_by_all(
    tmp_path: Path, lines: str, told: str
) -> None:
    """The import, the proof and `ioplan fio`."""
    job = tmp_path / "j.fio"
    job.write_text(f"{FLUSHING}{lines}\n")
    plain = ioplan("import", job, "-o", tmp_path / "j.ioplan")
    assert (plain.code, told in plain.err) == (bool(told), True), plain.err
    assert ("converted completely" in plain.out) is not bool(told)
    proven = ioplan("import", job, "--prove")
    assert proven.code == bool(told), proven.err
    assert ("not equal" in proven.err) is bool(told)
    run = ioplan("fio", job, "--parse-only", "--backend", "sim")
    assert (run.code, told in run.err) == (2 if told else 0, True), run.err


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "tail", "files"),
    [
        ("[files]\ndirectory=work", "numjobs=4", 4),
        ("[files]", "numjobs=4", 4),
        ("[files]", "", 0),
        ("[files]\nfilename=x", "numjobs=4", 0),
        ("[files]\ndirectory=work\nfilename=x", "numjobs=4", 0),
        ("[/dev/nvme77n1]", "numjobs=4", 0),
        ("[one]\nrw=read\nsize=1m\ndirect=1\n[two]\nstonewall", "", 2),
        ("[global]\nfilename=x\n[one]\nrw=read\nsize=1m\ndirect=1\n[two]", "", 0),
    ],
)
def test_files_of_several_jobs_are_told_and_refused_by_all(
    tmp_path: Path, head: str, tail: str, files: int
) -> None:
    job = tmp_path / "j.fio"
    more = "rw=randwrite\nnorandommap\nbs=8k\nsize=16m\ndirect=1\nioengine=psync"
    timed = "time_based\nruntime=1" if "[one]" not in head else ""
    job.write_text(f"{head}\n{more}\n{timed}\n{tail}\n")
    told = f"on {files} files of its own"
    plain = ioplan("import", job, "-o", tmp_path / "j.ioplan")
    assert (told in plain.err) is bool(files), plain.err
    proven = ioplan("import", job, "--prove").err
    assert (f"files differs: {files} in the job" in proven) is bool(files), proven
    if files:
        assert plain.code == 1
        assert ioplan("fio", job, "--parse-only", "--backend", "sim").code == 2
