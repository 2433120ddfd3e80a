"""What a job file of fio or a parameter file of vdbench says, and what is told of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import ioplan
from imported import imported, streams_of, told

from golden import Check, Golden
from ioplan.language import Source
from ioplan_importer import ImportFault, import_plan

OPTIONS = Golden("options_said")
HEAD = "[a]\nioengine=libaio\ndirect=1\nfilename=/dev/sdb\nnorandommap\n"


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_said_is_in_the_plan_or_told(name: str, golden: Check) -> None:
    """An option, a word of a definition, or some of several jobs in each case."""
    made = imported(OPTIONS[name].input, name.partition(":")[0])
    assert made.plan
    lines = [line for line in made.text.splitlines() if line and line[0] != "#"]
    found = [f"{one.severity}: {one.message}" for one in made.found]
    golden(OPTIONS, name, {"plan": "\n".join(lines), "told": "\n".join(found)})


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


@pytest.mark.parametrize(
    "text", ["fsd=f,anchor=/x\nfwd=w,fsd=f\n", "sd=s,lun=/dev/sdb\nrd=r,wd=none\n"]
)
def test_a_parameter_file_that_a_plan_cannot_say(text: str) -> None:
    with pytest.raises(ImportFault, match="can be said as a plan"):
        imported(text, "vdbench")
