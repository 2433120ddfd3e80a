"""Parameter files of vdbench as plans."""

from __future__ import annotations

import pytest

from golden import Golden
from ioplan.language import Source
from ioplan_importer import ImportFault, import_plan
from ioplan_importer.vdbench.vocabulary import (
    NO_MATTER,
    ORDER,
    SAID,
    full_name,
)


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
    head = "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s,xfersize=4k\n"
    made = import_plan(Source("p.vdb", head + text), "vdbench", {})
    assert made.is_whole and said in made.text


@pytest.mark.parametrize(
    "text",
    [
        "fsd=f,anchor=/x\nfwd=w,fsd=f\n",
        "sd=s,lun=/dev/sdb,openflags=o_direct\nrd=r,wd=none\n",
    ],
)
def test_what_a_plan_cannot_say(text: str) -> None:
    with pytest.raises(ImportFault, match="can be said as a plan"):
        import_plan(Source("p.vdb", text), "vdbench", {})


def test_a_rate_is_divided_by_skew() -> None:
    text = "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=a,sd=s,skew=70\nwd=b,sd=s,rdpct=0\nrd=r,wd=*,iorate=1000\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert "rate 700 iops poisson" in made.text
    assert "rate 300 iops poisson" in made.text


@pytest.mark.parametrize(
    ("more", "rate"),
    [("", "rate 500 iops poisson"), (",distribution=d", "rate 500 iops\n")],
)
def test_a_rate_of_a_workload_arrives_as_its_run_does(more: str, rate: str) -> None:
    head = "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s,iorate=500\n"
    text = f"{head}rd=r,wd=w,iorate=max{more}\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.is_whole and rate in made.text + "\n"


def test_what_does_not_divide_evenly_is_rounded() -> None:
    text = "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=a,sd=s\nwd=b,sd=s\nwd=c,sd=s\nrd=r,wd=*,iorate=100\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and "rate 33.333 iops poisson" in made.text


def test_runs_of_one_name_are_two_tests() -> None:
    text = "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s\nrd=r,wd=w,iorate=5\nrd=r,wd=w,iorate=curve\n"
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
    whole = f"sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s,{text}\nrd=r,wd=w\n"
    made = import_plan(Source("p.vdb", whole), "vdbench", {})
    assert made.plan and written in made.text
    assert [told in one.message for one in made.found] == [True] * bool(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sd=s,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w\n", "without openflags=o_direct"),
        (
            "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s\nrd=r,wd=w,iorate=10k\n",
            "iorate=10k",
        ),
        (
            "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s\nrd=r,wd=w,pause=30\n",
            "pause=30 is",
        ),
    ],
)
def test_nothing_is_dropped_without_a_word(text: str, told: str) -> None:
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and [told in one.message for one in made.found] == [True]


def test_a_curve_of_several_workloads_is_reported() -> None:
    text = "sd=s,lun=/dev/sdb,openflags=o_direct\nwd=a,sd=s\nwd=b,sd=s,rdpct=0\nrd=r,wd=*,iorate=curve\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and "maximum" not in made.text
    assert any("iorate=curve of several" in one.message for one in made.found)


@pytest.mark.parametrize("share", ["200", "x", "-1"])
def test_a_share_of_reads_that_is_none(share: str) -> None:
    text = f"sd=s,lun=/dev/sdb,openflags=o_direct\nwd=w,sd=s,rdpct={share}\nrd=r,wd=w\n"
    made = import_plan(Source("p.vdb", text), "vdbench", {})
    assert made.plan and "100/0" in made.text
    assert f"rdpct={share} is no share" in made.found[0].message


# each parameter that vdbench knows

LISTED = [
    (case.removeprefix("vdbench "), name)
    for case, one in Golden("options").items()
    for name in one.input
    if case.startswith("vdbench ")
]
"""From vdbench's own sources (5.04)."""
WHOLE = {
    "general": "",
    "hd": "hd=localhost",
    "sd": "sd=s,lun=/dev/sdb,openflags=o_direct",
    "wd": "wd=w,sd=s,rdpct=50,xfersize=8k",
    "rd": "rd=r,wd=w,iorate=100",
}
PROBES = {
    **{"host": "host2", "hd": "host2", "system": "host2", "lun": "/dev/sdc"},
    **{"size": "10g", "offset": "1m", "align": "16k", "range": "(10,20)"},
    **{"openflags": "(o_direct,o_sync)", "compratio": "2", "validate": "yes"},
    **{"sd": "none", "wd": "v", "xfersize": "64k", "forxfersize": "(4k,8k)"},
    **{"iorate": "(10,20)", "curve": "(10,20)", "distribution": "uniform"},
    **{"forthreads": "(1,2)", "seekpct": "0"},
}
"""A value that asks for something else; of most parameters it is 7."""


def asked(kind: str, name: str, value: str) -> tuple[str, str]:
    """The plan's text and what is told, of a file with a value in one definition."""
    lines = {**WHOLE, "more": "wd=v,sd=s,rdpct=0"}
    text = f"{name}={value}" if name else ""
    if (kind, name) == ("wd", "iorate"):
        text = f"{name}=10"
    if name == "skew":  # of one workload it is all
        lines["rd"] = "rd=r,wd=(w,v),iorate=100"
    lines[kind] = ",".join(filter(None, (lines[kind], text)))
    order = ("general", "hd", "sd", "wd", "more", "rd")
    source = Source("p.vdb", "\n".join(lines[one] for one in order))
    made = import_plan(source, "vdbench", {})
    plan = "\n".join(one for one in made.text.splitlines() if one[:1] != "#")
    return plan, " ".join(one.message for one in made.found)


BASE, NOTHING = asked("general", "", "")


@pytest.mark.parametrize(("kind", "name"), LISTED)
def test_each_is_translated_or_reported_or_of_no_matter(kind: str, name: str) -> None:
    own = full_name(kind, name)
    tables = [name for name in (SAID, NO_MATTER) if own in name[kind]]
    assert len(tables) <= 1
    plan, told = asked(kind, name, PROBES.get(name, "7"))
    usual = asked(kind, name, "50") if name == "skew" else (BASE, NOTHING)
    if own in NO_MATTER[kind]:
        assert (plan, told) == usual and NO_MATTER[kind][own]
    else:
        assert (plan, told) != usual, "dropped without a word"
        assert tables or name in told


def test_no_table_has_what_vdbench_does_not_know() -> None:
    for kind in SAID:
        known = {own for of, own in LISTED if of == kind}
        assert {*SAID[kind], *NO_MATTER[kind], *ORDER[kind]} <= known


@pytest.mark.parametrize(
    ("kind", "word", "name"),
    [
        ("rd", "el", "elapsed"),
        ("rd", "in", "interval"),
        ("rd", "th", "threads"),
        ("rd", "forx", "forxfersize"),
        ("wd", "xf", "xfersize"),
        ("wd", "rd", "rdpct"),
        ("wd", "re", "rdpct"),
        ("sd", "th", "threads"),
        ("general", "comp", "compression"),
    ],
)
def test_a_beginning_is_the_word_that_vdbench_finds_first(
    kind: str, word: str, name: str
) -> None:
    assert full_name(kind, word) == name


@pytest.mark.parametrize("text", ["rhpct=0", "pause=0"])
def test_what_vdbench_does_anyway_is_no_loss(text: str) -> None:
    kind = "wd" if "pct" in text else "rd"
    assert asked(kind, *text.split("=")) == (BASE, NOTHING)


SAYS = {
    "sd size=10g": "region 0B..10GiB",
    "sd size=10g,range=(10,50)": "region 1GiB..5GiB",
    "sd offset=1m,size=9m": "region 1MiB..10MiB",
    "sd offset=1m": "region 1MiB..100%",
    "sd align=16k": "align 16KiB",
    "sd openflags=(o_direct,o_dsync)": "sync every 1",
    "general compratio=4": "data compressible 75%",
    "general validate=yes": ", verify",
    "wd writepct=30": "70/30",
    "rd sd=other": "region 0B..1GiB",
}


@pytest.mark.parametrize("text", SAYS)
def test_what_a_plan_has_a_word_for_is_said(text: str) -> None:
    kind, words = text.split()
    lines = {**WHOLE, "sd": f"sd=other,lun=x,size=1g\n{WHOLE['sd']}"}
    if "openflags" in words:
        lines["sd"] = "sd=s,lun=/dev/sdb"
    lines[kind] = ",".join(filter(None, (lines[kind], words)))
    made = import_plan(Source("p.vdb", "\n".join(lines.values())), "vdbench", {})
    assert made.plan and SAYS[text] in made.text


@pytest.mark.parametrize("text", ["validate=no", "compratio=1"])
def test_what_is_off_is_not_said(text: str) -> None:
    assert asked("general", *text.split("=")) == (BASE, NOTHING)


def test_data_is_only_of_what_is_written() -> None:
    head = "compratio=2\nvalidate=yes\nsd=s,lun=x,openflags=(o_direct,o_sync)\n"
    made = import_plan(Source("p", f"{head}wd=w,sd=s\nrd=r,wd=w"), "vdbench", {})
    assert made.is_whole and "random 4KiB 100/0, qd 8\n" in made.text


@pytest.mark.parametrize(
    ("kind", "text"),
    [("rd", "elapsed=long"), ("wd", "skew=most"), ("rd", "threads=many")],
)
def test_what_is_no_number_is_told(kind: str, text: str) -> None:
    name, value = text.split("=")
    assert f"{text} is no number" in asked(kind, name, value)[1]


def test_a_definition_goes_on_in_lines_that_begin_none() -> None:
    text = "sd=s\nlun=x\nopenflags=o_direct\nwd=w,sd=s\nxfersize=8k\nrd=r,wd=w,\nel=5\neof\nrd=x,wd=w"
    made = import_plan(Source("p", text), "vdbench", {})
    assert made.is_whole and "8KiB" in made.text and "run_time = 5s" in made.text
    assert 'test "x"' not in made.text
