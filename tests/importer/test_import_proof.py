"""A plan that is emitted for fio again asks what the job file asked."""

from __future__ import annotations

from itertools import pairwise

import paths
import pytest
from command import ioplan
from fio_jobs import NEEDS_FIO

from ioplan.language.check.check import check
from ioplan.language.syntax.source import Source
from ioplan.planner.steps import Run
from ioplan.planner.unfold import unfold
from ioplan_importer.plan_import import import_plan
from ioplan_importer.proof import prove as proof
from ioplan_importer.proof.prove import Proof, prove, trace_of

GOLDEN = paths.GOLDEN / "import"


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
    found = proofs((GOLDEN / f"{name}.fio").read_text())
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
def test_fio_makes_the_same_ios_of_both() -> None:
    done = ioplan("import", GOLDEN / "clauses.fio", "--prove")
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
