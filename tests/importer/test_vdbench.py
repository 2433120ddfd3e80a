"""Parameter files of vdbench: golden/import/NAME.vdb beside NAME.ioplan and NAME.told."""

from __future__ import annotations

import paths
import pytest

from ioplan.importer.findings import ImportFault
from ioplan.importer.kinds import kind_of
from ioplan.importer.plan_import import import_plan
from ioplan.language.syntax.source import Source

GOLDEN = paths.GOLDEN / "import"


def test_golden(renew: bool) -> None:
    source = Source("oltp.vdb", (GOLDEN / "oltp.vdb").read_text())
    assert kind_of(source) == "vdbench"
    made = import_plan(source, "vdbench", {})
    assert made.plan, made.found[-1].render()
    told = "\n\n".join(one.render() for one in made.found) + "\n"
    for ending, text in (("ioplan", made.text), ("told", told)):
        path = GOLDEN / f"oltp.{ending}"
        if renew:
            path.write_text(text)
        assert text == path.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rd=r,wd=w,elapsed=5m", "for run_time"),
        ("rd=r,wd=w,threads=4", "qd 4"),
        ("rd=r,wd=w,forthreads=(64),el=10,in=1", "qd 64"),
        ("rd=r,wd=w,forthreads=(1-64,d)", "vary   qd in 1..64 doubling"),
        ("rd=r,wd=w,forrdpct=(0-100,25)", "vary   read in 0%..100% step 25%"),
        ("rd=r,wd=w,forxfersize=(16k)", "random 16KiB"),
        ("rd=r,wd=w,rdpct=30", "random 4KiB 30/70"),
        ("rd=r,wd=w,iorate=500,distribution=deterministic", "rate 500 iops\n"),
        ("rd=r,wd=w,iorate=500", "rate 500 iops poisson"),
    ],
)
def test_a_run_definition(text: str, said: str) -> None:
    head = "sd=s,lun=/dev/sdb\nwd=w,sd=s,xfersize=4k\n"
    made = import_plan(Source("p.vdb", head + text), "vdbench", {})
    assert made.is_whole and said in made.text


@pytest.mark.parametrize(
    "text", ["fsd=f,anchor=/x\nfwd=w,fsd=f\n", "sd=s,lun=/dev/sdb\nrd=r,wd=none\n"]
)
def test_what_a_plan_cannot_say(text: str) -> None:
    with pytest.raises(ImportFault, match="can be said as a plan"):
        import_plan(Source("p.vdb", text), "vdbench", {})
