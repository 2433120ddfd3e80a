"""A plan that is emitted for fio again asks what the job file asked: `import --prove`."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO

from golden import Golden

IMPORTS, PROOFS = Golden("imports"), Golden("fio_proofs")


def proofs_of(kind: str) -> list[str]:
    return [name for name in PROOFS if name.startswith(kind)]


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
@pytest.mark.parametrize("name", proofs_of("loss"))
def test_a_loss_is_a_difference(name: str, tmp_path: Path) -> None:
    options, differing = PROOFS[name].input, PROOFS[name].expected
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


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", proofs_of("flush"))
def test_flushes_that_fio_does_otherwise_are_told_and_refused_by_all(
    name: str, tmp_path: Path
) -> None:
    """The import, the proof and `ioplan fio`."""
    job, told = tmp_path / "j.fio", PROOFS[name].expected
    job.write_text(PROOFS[name].input)
    plain = ioplan("import", job, "-o", tmp_path / "j.ioplan")
    assert (plain.code, told in plain.err) == (bool(told), True), plain.err
    assert ("converted completely" in plain.out) is not bool(told)
    proven = ioplan("import", job, "--prove")
    assert proven.code == bool(told), proven.err
    assert ("not equal" in proven.err) is bool(told)
    run = ioplan("fio", job, "--parse-only", "--backend", "sim")
    assert (run.code, told in run.err) == (2 if told else 0, True), run.err


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", proofs_of("files"))
def test_files_of_several_jobs_are_told_and_refused_by_all(
    name: str, tmp_path: Path
) -> None:
    job, files = tmp_path / "j.fio", PROOFS[name].expected
    job.write_text(PROOFS[name].input)
    told = f"on {files} files of its own"
    plain = ioplan("import", job, "-o", tmp_path / "j.ioplan")
    assert (told in plain.err) is bool(files), plain.err
    proven = ioplan("import", job, "--prove").err
    assert (f"files differs: {files} in the job" in proven) is bool(files), proven
    if files:
        assert plain.code == 1
        assert ioplan("fio", job, "--parse-only", "--backend", "sim").code == 2
