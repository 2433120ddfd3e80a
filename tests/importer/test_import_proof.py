"""A plan that is emitted for fio again asks what the job file asked: `import --prove`."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO

from golden import Golden

IMPORTS = Golden("imports")


@pytest.fixture
def without_fio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options of both are compared, and no I/Os."""
    monkeypatch.setenv("PATH", "")


def proofs(job: Path) -> list[str]:
    """The line of each job."""
    lines = ioplan("import", job, "--prove").err.splitlines()
    return [one for one in lines if one.startswith(("equal: ", "not equal: "))]


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", ["matrix", "streams", "staggered"])
def test_what_imports_whole_is_equal(name: str, tmp_path: Path) -> None:
    found = proofs(IMPORTS[f"{name}.fio"].put(tmp_path))
    assert found and all(one.startswith("equal: ") for one in found), found


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize(
    ("options", "differing"),
    [
        ("iodepth=8\nioengine=libaio\nthinktime=5\nthinktime_blocks=4", "thinktime_blocks_type differs"),
        ("runtime=30", "time_based differs"),
        ("startdelay=5", "startdelay differs"),
        ("bs=4k,8k\nrw=randrw\nblockalign=4k,16k", "blockalign differs"),
        ("runtime=9\ntime_based\nzonemode=strided\nzonesize=1m", "left out: zonemode, zonesize"),
        ("runtime=9\ntime_based", ""),
        ("rw=write\nbs=96k\nsize=1g", ""),
        ("rw=write\nsize=10%", ""),
        ("rw=write\nrate_iops=500,", ""),
        ("rw=write\nfsync=8\nfdatasync=16", ""),
        ("rw=write\nzero_buffers\ndedupe_percentage=20", ""),
        ("rw=write\nruntime=0", ""),
    ],
)  # fmt: skip
def test_a_loss_is_a_difference(options: str, differing: str, tmp_path: Path) -> None:
    job = tmp_path / "j.fio"
    rw = "" if "rw=" in options else "rw=randread\n"
    head = "norandommap\n" if "rw=write" not in options else ""
    job.write_text(f"[j]\n{rw}direct=1\nfilename=/dev/sdb\n{head}{options}\n")
    (found,) = proofs(job)
    assert found.startswith("equal: ") is not bool(differing) and differing in found


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
def test_a_direction_of_fio_goes_on_from_its_own_last_io(tmp_path: Path) -> None:
    """As `read random` and `write random` define it, on what a plan becomes for fio."""
    plan = plan_file(
        tmp_path,
        'test "T" { run random 4KiB 50/50, read random 90%, write random 20%, '
        "region 0%..1% for 1s }",
    )
    words = ("--backend", "fio", "--capacity", "64GiB", "--show-native")
    native = ioplan("plan", plan, *words).out
    forced = "ioengine=null\nfilesize=64g\nnumber_ios=1000\ntime_based=0\n"
    job = f"{native[native.index('[global]') :]}{forced}write_iolog=log\n"
    (tmp_path / "j.fio").write_text(job)
    subprocess.run(["fio", "j.fio"], cwd=tmp_path, check=True, capture_output=True)
    rows = [line.split()[-3:] for line in (tmp_path / "log").read_text().splitlines()]
    for direction, drawn in (("read", 0.9), ("write", 0.2)):
        offsets = [int(row[1]) for row in rows if row[0] == direction]
        went_on = sum(b == a + 4096 for a, b in pairwise(offsets)) / len(offsets)
        assert went_on == pytest.approx(1 - drawn, abs=0.07)


FLUSHING = "[j]\nfilename=j.bin\nsize=16m\ndirect=1\nbs=4k\ntime_based\nruntime=1\n"


@pytest.mark.usefixtures("without_fio")
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


@pytest.mark.usefixtures("without_fio")
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
