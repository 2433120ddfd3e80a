"""What a job file of fio or a parameter file of vdbench says, and what is told of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import ioplan
from imported import imported, streams_of, told

from ioplan.language import Source
from ioplan_importer import ImportedPlan, ImportFault, import_plan


def losses(made: ImportedPlan, but: str = "") -> list[str]:
    """What is told, but for notes, of which that one counts nevertheless."""
    return [
        one.message
        for one in made.found
        if one.severity != "note" or (but and but in one.message)
    ]


def check(messages: list[str], loss: str) -> None:
    """Each of them has its words, which a bar divides, and there is no other."""
    words = loss.split("|") if loss else []
    assert len(messages) == len(words), messages
    assert all(map(str.__contains__, messages, words)), messages


OWN = "ioengine=libaio\ndirect=1\nfilename=/dev/sdb\n"
HEAD = f"[a]\n{OWN}norandommap\n"
MAPPED = f"[a]\n{OWN}"
GROUP = f"[global]\n{OWN}bs=4k\nrw=randread\nsize=16m\n"
TIMED = "time_based\nruntime="
TWO_SIZES = "rw=randread\nbssplit=4k/50:64k/50\nsize=64m\ntime_based\nruntime=5\n"
EXIT = f"[global]\n{OWN}rw=read\nexitall\n"
FIO = [
    ("rw=trim\nbs=4k,8k,1m", "sequential 1MiB 0/100, trim 100%", ""),
    ("rw=trim\nbs=4k,8k", "sequential 8KiB 0/100, trim 100%", ""),
    ("rw=trim\nbs=2g", "1GiB 0/100, trim 100%", "discards of more than 1GiB"),
    ("rw=read\nthinktime=2ms\nrate_iops=0", "100/0, pause 2ms", ""),
    ("rw=write\nthinktime=2ms\nrate_iops=500,", "0/100, pause 2ms", ""),
    ("rw=read\nthinktime=100", "pause 100us", ""),
    ("rw=read\nthinktime=", "", "'' is no number"),
    ("rw=randread\nrandom_distribution=zipf", "100/0, zipf 1.1", ""),
    ("rw=randread\nrandom_distribution=pareto", "100/0, pareto 0.2", ""),
    (
        "rw=randrw\nrandom_distribution=zoned:90/10:10/90,zoned:50/50:50/50",
        "hotspots { 90% in 10%, 10% in 90% }",
        "all are where the reads are",
    ),
    ("rw=randread\nrandom_distribution=normal:20", "normal 20%", "fio's normal is"),
    ("rw=randread\nrandom_generator=lfsr", "permuted", ""),
    ("rw=read\nfilesize=1m-4m", "region 0B..1MiB", "fio draws filesize"),
    ("rw=read\nstartdelay=3-9", "sequential 4KiB", "fio draws startdelay|no job does I/O before"),
    ("rw=read\npool=rbd", "sequential 4KiB", "pool=rbd is left out"),
    ("rw=read\nlatency_target=1ms", "sequential 4KiB", "latency_target=1ms is"),
    ("rw=read\ninvented=3", "sequential 4KiB", "'invented' is no option"),
    ("rw=read\nbs=64KiB", "sequential 64KB", "units of bs=64KiB are powers of 1000"),
    (f"rw=read\n{TIMED}30sec", "run_time = 30us", ""),
    (f"rw=read\n{TIMED}2m", "run_time = 2min", ""),
    (f"rw=read\n{TIMED}30", "run_time = 30s", ""),
    # of several sizes a rate in I/Os counts the smallest, but for Poisson's
    (f"{TWO_SIZES}rate_iops=200", "rate 800KiB/s,", ""),
    (f"{TWO_SIZES}rate=4m", "rate 4MiB/s,", ""),
    (f"{TWO_SIZES}rate_iops=200\nrate_process=poisson", "rate 200 iops poisson,", ""),
    (f"{TWO_SIZES}rate=4m\nrate_process=poisson", "rate 1_024 iops poisson,", ""),
    # a part has room for an I/O, and for one of each job
    *(
        (f"rw=read\n{size}", "run    a, 1 pass", "less than an I/O of 4KiB")
        for size in ("size=1.5g", "size=1", "filesize=100", "size=2k")
    ),
    ("rw=read\nsize=4k", "region 0B..4KiB", ""),
    ("rw=read\nsize=10000", "region 0B..9728B", "is no multiple of 512 B: here 9728 B"),
    ("rw=read\nsize=16k\nnumjobs=5", "", "an I/O of 4KiB for each of 5 jobs|fio's 5 jobs go over"),
    ("rw=read\nsize=16k\nnumjobs=4", "threads 4", "fio's 4 jobs go over"),
    # blocks of which each comes once
    (f"{MAPPED}rw=randread\nbs=8k\nba=4k", "8KiB 100/0, align 4KiB\n", "may overlap"),
    (f"{MAPPED}rw=randread\nbs=4k\nba=16k", "permuted, align 16KiB", ""),
    (f"{MAPPED}rw=randrw\n{TIMED}2\nbs=4k,64k", "random", "draws no block twice"),
    (f"{MAPPED}rw=randrw\n{TIMED}2\nbsrange=4k-64k", "random", "draws no block twice"),
    (f"rw=randrw\n{TIMED}2\nbsrange=4k-64k", "random", ""),
    # what else ends a job than its runtime
    *(
        (f"rw=read\nruntime=2\n{given}", "sequential", f"`{name}` is done")
        for name, given in (
            *(("number_ios", "number_ios=1m"), ("io_size", "io_size=1m")),
            *(("loops", "loops=1m"), ("size", "")),
        )
    ),
    # of several jobs
    (
        f"{HEAD}rw=randread\nsize=1m\n{HEAD}rw=write\nrate=1m\nstonewall\nsize=1m",
        'test "a, 2"',
        "",
    ),
    (f"{HEAD}rw=read\n[b]\n{OWN}bs=2g\n", "", "no I/O of a plan has more"),
    (f"{GROUP}exitall\n[bg]\nrate_iops=100\n[fg]\n", "", "exitall is left out"),
    (f"{GROUP}exitall\n[bg]\n[fg]\n", "", ""),
    (f"{GROUP}exitall\n{TIMED}5\n[bg]\nrate_iops=100\n[fg]\n", "", ""),
    (f"{EXIT}[a]\nsize=1m\n[b]\nsize=1m\n", "", ""),
    (f"{EXIT}[a]\nsize=1m\n[b]\n{TIMED}60\n", "", "exitall is left out|'a' would end by itself"),
    (f"{EXIT}[a]\n{TIMED}9\n[b]\n{TIMED}60\n", "", "exitall is left out"),
    (f"{GROUP}exitall\nexit_what=all\n[one]\n[two]\nstonewall\n", "", "exit_what=all ends"),
    (f"{GROUP}exitall\n[one]\n[two]\nstonewall\n", "", ""),
    (
        f"{GROUP}[fast]\n{TIMED}1\n[slow]\n{TIMED}4\n[after]\nwait_for=fast\n{TIMED}1\n",
        "",
        "fio starts 'after' when 'fast' has ended",
    ),
    (f"{GROUP}[fast]\n{TIMED}1\n[after]\nwait_for=fast\n{TIMED}1\n", "", ""),
    (
        f"{GROUP}[first]\n{TIMED}3\n[a]\nstonewall\n{TIMED}4\n[b]\nstartdelay=4\n{TIMED}3\n",
        "",
        "fio counts startdelay from its own start",
    ),
    (f"{GROUP}[a]\n{TIMED}4\n[b]\nstartdelay=4\n{TIMED}3\n", "", ""),
    (f"{GROUP}[a]\nramp_time=2\nrate_iops=1000\n", "", "fio counts what it moves in ramp_time"),
    (f"{GROUP}[a]\nramp_time=2\n{TIMED}5\n", "", ""),
    (f"{GROUP}[a]\nrate_iops=100\nrate=10m\n", "", "fio refuses rate_iops and rate"),
    # another way to the target than through the block layer
    *(
        (f"rw=read\nioengine={engine}", "sequential", f"ioengine={engine} {does}")
        for engine, does in {
            "null": "does no I/O",
            "mmap": "goes through the page cache",
            "splice": "goes through the page cache",
            "io_uring_cmd": "hands NVMe commands to the drive",
            "sg": "hands SCSI commands to the drive",
            "spdk": "has a driver of its own",
            "xnvme": "has a driver of its own",
            "libblkio": "has a driver of its own",
            "mtd": "writes to raw flash memory",
        }.items()
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "loss"), FIO)
def test_a_job_file(text: str, written: str, loss: str) -> None:
    if text[0] != "[":
        head = HEAD.replace("ioengine=libaio\n", "") if "ioengine" in text else HEAD
        text = f"{head}{text}"
    made = imported(f"{text}\n")
    assert made.plan and written in made.text
    check(losses(made, loss), loss)


SIZES = {
    "1mi": 1048576,
    "1MiB": 1000000,
    "64KIB": 64000,
    "3kb": 3072,
    "5120b": 5120,
    "0x1000k": 4096,
    "0x100000": 1048576,
    "1e6": 1,
    "10_000": 10,
    "+4k": 4096,
    "8ki": 8192,
    "1.5m": 1,
    "2*1048576": 2,
}
"""What fio 3.33 moved of `size=` with blocks of one byte: test_job_files.py."""


@pytest.mark.parametrize("base", [1024, 1000])
def test_sizes_are_those_of_fio(base: int) -> None:
    """By the rate, which may be of any number of bytes. A base of 1000 swaps units."""
    texts = SIZES if base == 1024 else {"1m": 10**6, "1mib": 1 << 20}
    for text, size_bytes in texts.items():
        made = imported(f"{HEAD}rw=read\nkb_base={base}\nrate={text}\n")
        (stream,) = streams_of(made.text)
        assert stream.rate and stream.rate.bytes_per_s == size_bytes, text


@pytest.mark.parametrize(
    "option",
    [
        *("number_ios", "rate_iops", "rate", "bs", "runtime", "size", "offset"),
        *("thinktime", "io_size", "startdelay", "fsync"),
    ],
)
def test_an_amount_below_zero_is_reported_and_left_out(option: str) -> None:
    """fio takes -1 as 2^64 - 1."""
    made, plain = (imported(f"{HEAD}rw=randwrite\n{more}") for more in (f"{option}=-1\n", ""))  # fmt: skip
    assert made.plan and plain.plan
    assert any(f"{option} is below zero" in one for one in told(made))
    assert made.text.partition("plan ")[2] == plain.text.partition("plan ")[2]


@pytest.mark.parametrize(
    "name",
    ["time_based", "norandommap", "direct", "buffered", "zero_buffers", "stonewall"],
)
def test_a_switch_that_is_no_number_is_left_out(name: str) -> None:
    made = imported(f"[a]\nrw=randread\nruntime=1\n{name}=libaio\n")
    errors = [one.message for one in made.found if one.severity == "error"]
    assert errors == [f"{name}: 'libaio' is no number; it is left out"]
    assert made.plan


def test_words_of_the_machine_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """fio hands them to `bc`."""
    monkeypatch.setattr(os, "cpu_count", lambda: 13)
    for text, threads in (("$ncpus/2", 6), ("$ncpus/2*3", 18), ("2*$ncpus", 26)):
        made = imported(f"{HEAD}rw=read\nnumjobs={text}\n")
        assert f", threads {threads}\n" in made.text


def test_a_variable_is_given() -> None:
    made = imported(f"{HEAD}rw=randread\nsize=${{SPACE}}g\n", SPACE="2")
    assert "region 0B..2GiB" in made.text and made.is_whole


def test_what_was_found_before_a_fault_is_told() -> None:
    with pytest.raises(ImportFault) as fault:
        imported(f"{HEAD}rw=read\nbs=4000\n")
    assert [one.message for one in fault.value.found] == [
        "a block size of 4000 B is no multiple of 512 B"
    ]


def test_a_loss_is_told_with_its_place(tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text("[a]\nrw=randread\ndirect=1\nbs=4k\nruntime=2\ninvented=3\n")
    done = ioplan("import", job)
    assert done.code == 1 and "invented" in done.err and "a.fio:6:1" in done.err


@pytest.mark.parametrize(
    ("more", "deep", "said"),
    [
        ("iodepth=32\ninclude deep.fio\n", "bs=64k\n", ""),
        ("[k]\nbs=4k\n", "", "an included file may hold no sections"),
        ("include more.fio\n", "", "files include each other without end"),
        ("include deep.fio\n" * 20, "include more.fio\n" * 20, "each other without end"),
    ],
)  # fmt: skip
def test_an_included_file_adds_options(
    more: str, deep: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "more.fio").write_text(more)
    (tmp_path / "deep.fio").write_text(deep)
    source = Source(str(tmp_path / "j.fio"), "[j]\nioengine=null\ninclude more.fio\n")
    if said:
        with pytest.raises(ImportFault, match=said):
            import_plan(source, "fio", {})
    else:
        text = import_plan(source, "fio", {}).text
        assert "sequential 64KiB 100/0, qd 32" in text


# vdbench: words that are added to a definition

SD = "sd=s,lun=/dev/sdb,openflags=o_direct"
SHARED = "vdbench's 8 threads are shared"
THREE = "\nwd=a,sd=s\nwd=b,sd=s\nwd=c,sd=s\n"
VDBENCH = [
    ("rd elapsed=5m", "for run_time", ""),
    ("rd threads=4", "qd 4", ""),
    ("rd forthreads=(64),el=10,in=1", "qd 64", ""),
    ("rd forthreads=(1-64,d)", "vary   qd in 1..64 doubling", ""),
    ("rd forrdpct=(0-100,25)", "vary   read in 0%..100% step 25%", ""),
    ("rd forxfersize=(16k)", "random 16KiB", ""),
    ("rd rdpct=30", "random 4KiB 30/70", ""),
    ("rd iorate=500,distribution=deterministic", "rate 500 iops\n", ""),
    ("rd iorate=500", "rate 500 iops poisson", ""),
    ("rd iorate=(1000,2000)", "vary   rate in 1_000 iops poisson", ""),
    (
        "rd iorate=(10-30,10),distribution=deterministic",
        "vary   rate in 10 iops, 20 iops, 30 iops",
        "",
    ),
    ("rd iorate=curve,curve=(25,50)", "vary   load in 25%, 50%", ""),
    ("rd iorate=curve", 'rate load of "r, maximum" poisson for run_time', ""),
    ("rd iorate=10k", "", "iorate=10k"),
    ("rd pause=30", "", "pause=30 is"),
    ("rd pause=0", "", ""),
    ("rd elapsed=long", "", "elapsed=long is no number"),
    ("rd threads=many", "", "threads=many is no number"),
    ("wd skew=most", "", "skew=most is no number"),
    ("wd iorate=500", "rate 500 iops poisson", ""),
    ("wd xfersize=(4k,32k,4k)", "random sizes 4KiB..32KiB step 4KiB 100/0", ""),
    ("wd xfersize=(1k,3m,2k)", "random 4KiB 100/0", "no range of multiples"),
    ("wd xfersize=(4k,60,8k)", "random 4KiB 100/0", "no range of multiples"),
    ("wd xfersize=(4k,x)", "random 4KiB 100/0", "no list of sizes"),
    ("wd seekpct=seqnz", "sequential 4KiB", "begins at a place that it draws"),
    ("wd seekpct=eof", "sequential 4KiB", "ends the run at the end of the lun"),
    ("wd range=(1g,5g)", "region 1GiB..5GiB", ""),
    ("wd writepct=30", "70/30", ""),
    ("wd rhpct=0", "random 4KiB 100/0", ""),
    *((f"wd rdpct={share}", "100/0", f"rdpct={share} is no share") for share in ("200", "x", "-1")),
    ("sd size=10g", "region 0B..10GiB", ""),
    ("sd size=10g,range=(10,50)", "region 1GiB..5GiB", ""),
    ("sd offset=1m,size=9m", "region 1MiB..10MiB", ""),
    ("sd offset=1m", "region 1MiB..100%", ""),
    ("sd align=16k", "align 16KiB", ""),
    ("general compratio=4\nwd=w,sd=s,rdpct=0", "data compressible 75%", ""),
    ("general compratio=4", "random 4KiB 100/0, qd 8\n", ""),
    ("general validate=yes\nwd=w,sd=s,rdpct=0", ", verify", ""),
    ("general validate=yes", "random 4KiB 100/0, qd 8\n", ""),
    ("general validate=no", "random 4KiB 100/0, qd 8\n", ""),
    ("general compratio=1\nwd=w,sd=s,rdpct=0", "random 4KiB 0/100, qd 8\n", ""),
    # whole files; vdbench takes the first word that begins so
    ("sd=s,lun=/dev/sdb\nwd=w,sd=s\nrd=r,wd=w", "", "without openflags=o_direct"),
    ("sd=s,lun=/dev/sdb,openflags=(o_direct,o_dsync)\nwd=w,sd=s,rd=0\nrd=r,wd=w", "sync every 1", "a flush follows each write"),
    (f"{SD}\nwd=w,sd=s,xf=8k,re=30\nrd=r,wd=w,th=3,el=5", "random 8KiB 30/70, qd 3", ""),
    (f"{SD}\nwd=w,sd=s\nrd=r,wd=w,forx=(16k),el=5", "random 16KiB", ""),
    (f"sd=other,lun=x,size=1g\n{SD}\nwd=w,sd=s\nrd=r,wd=w,sd=other", "region 0B..1GiB", "without openflags=o_direct|on 2 luns"),
    (f"{SD}\nwd=w,sd=s\nrd=r,wd=w,iorate=5\nrd=r,wd=w,iorate=curve", 'rate load of "r, 2, maximum"', ""),
    (f"{SD}\nwd=a,sd=s,skew=70\nwd=b,sd=s,rdpct=0\nrd=r,wd=*,iorate=1000", "rate 700 iops poisson", SHARED),
    (f"{SD}\nwd=a,sd=s,skew=70\nwd=b,sd=s,rdpct=0\nrd=r,wd=*,iorate=1000", "rate 300 iops poisson", SHARED),
    (f"{SD}{THREE}rd=r,wd=*,iorate=100", "rate 33.333 iops poisson", SHARED),
    (f"{SD}{THREE}rd=r,wd=*,iorate=curve", "random", f"{SHARED}|iorate=curve of several"),
    (f"{SD}\nwd=w,sd=s,iorate=500\nrd=r,wd=w,iorate=max", "rate 500 iops poisson", ""),
    (f"{SD}\nwd=w,sd=s,iorate=500\nrd=r,wd=w,iorate=max,distribution=d", "rate 500 iops\n", ""),
    (
        "sd=s\nlun=x\nopenflags=o_direct\nwd=w,sd=s\nxfersize=8k\nrd=r,wd=w,\nel=5\neof\nrd=x,wd=w",
        "8KiB",
        "",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "loss"), VDBENCH)
def test_a_parameter_file(text: str, written: str, loss: str) -> None:
    kind, _, words = text.partition(" ")
    if words and "=" not in kind:
        lines = {"general": "", "sd": SD, "wd": "wd=w,sd=s", "rd": "rd=r,wd=w"}
        if "wd=" in words:
            words, _, lines["wd"] = words.partition("\n")
        lines[kind] = ",".join(filter(None, (lines[kind], words)))
        text = "\n".join(lines.values())
    made = imported(f"{text}\n", "vdbench")
    assert made.plan and written in f"{made.text}\n"
    check(told(made), loss)
    assert 'test "x"' not in made.text, "it stands behind the end of the file"


@pytest.mark.parametrize(
    "text", ["fsd=f,anchor=/x\nfwd=w,fsd=f\n", f"{SD}\nrd=r,wd=none\n"]
)
def test_a_parameter_file_that_a_plan_cannot_say(text: str) -> None:
    with pytest.raises(ImportFault, match="can be said as a plan"):
        imported(text, "vdbench")
