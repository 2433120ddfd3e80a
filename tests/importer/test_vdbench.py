"""Parameter files of vdbench: golden/import/NAME.vdb beside NAME.ioplan and NAME.told."""

from __future__ import annotations

import paths
import pytest

from ioplan.language.syntax.source import Source
from ioplan_importer.findings import ImportFault
from ioplan_importer.kinds import kind_of
from ioplan_importer.plan_import import import_plan

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
        ("rd=r,wd=w,iorate=(1000,2000)", "vary   rate in 1_000 iops poisson"),
        (
            "rd=r,wd=w,iorate=(10-30,10),distribution=deterministic",
            "vary   rate in 10 iops, 20 iops, 30 iops",
        ),
        ("rd=r,wd=w,iorate=curve,curve=(25,50)", "vary   load in 25%, 50%"),
        ("rd=r,wd=w,iorate=curve", 'rate load of "r, maximum" poisson for run_time'),
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


def test_a_rate_is_divided_by_skew() -> None:
    text = "sd=s,lun=/dev/sdb\nwd=a,sd=s,skew=70\nwd=b,sd=s,rdpct=0\nrd=r,wd=*,iorate=1000\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert "rate 700 iops poisson" in made.text
    assert "rate 300 iops poisson" in made.text


def test_what_does_not_divide_evenly_is_rounded() -> None:
    text = "sd=s,lun=/dev/sdb\nwd=a,sd=s\nwd=b,sd=s\nwd=c,sd=s\nrd=r,wd=*,iorate=100\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and "rate 33.333 iops poisson" in made.text


def test_runs_of_one_name_are_two_tests() -> None:
    text = "sd=s,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w,iorate=5\nrd=r,wd=w,iorate=curve\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.is_whole and 'rate load of "r, 2, maximum"' in made.text


WORKLOADS = {
    "xfersize=(4k,32k,4k)": ("random sizes 4KiB..32KiB step 4KiB 100/0", ""),
    "xfersize=(1k,3m,2k)": ("random 4KiB 100/0", "no range of multiples"),
    "xfersize=(4k,60,8k)": ("random 4KiB 100/0", "no range of multiples"),
    "xfersize=(4k,x)": ("random 4KiB 100/0", "no list of sizes"),
    "seekpct=seqnz": ("sequential 4KiB", "begins at a place that it draws"),
    "seekpct=eof": ("sequential 4KiB", "ends the run at the end of the lun"),
    "range=(1g,5g)": ("region 1GiB..5GiB", ""),
}


@pytest.mark.parametrize("text", WORKLOADS)
def test_a_workload_definition(text: str) -> None:
    written, told = WORKLOADS[text]
    whole = f"sd=s,lun=/dev/sdb\nwd=w,sd=s,{text}\nrd=r,wd=w\n"
    made = import_plan(Source("p.vdb", whole), "vdbench", {})
    assert made.plan and written in made.text
    assert [told in one.message for one in made.found] == [True] * bool(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sd=s,lun=/dev/sdb,size=10g\nwd=w,sd=s\nrd=r,wd=w\n", "size=10g"),
        ("sd=s,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w,iorate=10k\n", "iorate=10k"),
        ("sd=s,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w,pause=30\n", "pause is"),
    ],
)
def test_nothing_is_dropped_without_a_word(text: str, told: str) -> None:
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and [told in one.message for one in made.found] == [True]


def test_a_curve_of_several_workloads_is_reported() -> None:
    text = "sd=s,lun=/dev/sdb\nwd=a,sd=s\nwd=b,sd=s,rdpct=0\nrd=r,wd=*,iorate=curve\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and "maximum" not in made.text
    assert any("divided among workloads" in one.message for one in made.found)


@pytest.mark.parametrize("share", ["200", "x", "-1"])
def test_a_share_of_reads_that_is_none(share: str) -> None:
    text = f"sd=s,lun=/dev/sdb\nwd=w,sd=s,rdpct={share}\nrd=r,wd=w\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and "100/0" in made.text
    assert f"rdpct={share} is no share" in made.found[0].message
