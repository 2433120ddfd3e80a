"""fio's discards of more than a plan's largest I/O."""

from __future__ import annotations

from ioplan.language import Source
from ioplan_importer import import_plan


def test_large_discards_are_several_and_reported() -> None:
    text = "[t]\nioengine=libaio\ndirect=1\nrw=trim\nbs=2g\nfilename=/dev/sdb\n"
    made = import_plan(Source("t.fio", text), "fio", {})
    assert made.plan and "1GiB" in made.text and "trim 100%" in made.text
    (one,) = made.found
    assert "discards of more than 1GiB" in one.message and one.severity == "warning"


def test_large_reads_are_refused() -> None:
    text = "[a]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nruntime=1\n[b]\nbs=2g\n"
    made = import_plan(Source("t.fio", text), "fio", {})
    assert any("no I/O of a plan has more" in one.message for one in made.found)
