"""Each option of fio is translated, reported, or of no matter for a reason.

The golden options have fio's own tables: names, kind, default.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import NamedTuple

import pytest
from fio_jobs import NEEDS_FIO

from golden import Golden
from ioplan.language import Diagnostic, Source
from ioplan_importer import import_plan
from ioplan_importer.fio.lost import LOST, USUAL
from ioplan_importer.fio.vocabulary import (
    BLOCK_ENGINES,
    KNOWN,
    NO_MATTER,
    SAID,
    TOLD_ENGINES,
    canonical,
)

VERSIONS = ("3.33", "3.42")


class Option(NamedTuple):
    """A row of fio's table."""

    names: list[str]
    kind: str
    default: str


TABLES = {
    version: [
        Option(*one.input)
        for case, one in Golden("options").items()
        if case.startswith(f"fio {version} ")
    ]
    for version in VERSIONS
}
OPTIONS = {o.names[0]: o for options in TABLES.values() for o in options}
NAMES = {name: one for one in OPTIONS.values() for name in one.names}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_stands_in_one_table(version: str) -> None:
    for option in TABLES[version]:
        for name in option.names:
            own = canonical(name)
            found = [own in one for one in (SAID, LOST, NO_MATTER)]
            assert found.count(True) == 1, name
    assert all([*LOST.values(), *NO_MATTER.values()])


# options that other versions and the command line have
ELSEWHERE = {
    *("disable_bw", "libaio_vectored", "filetype", "nodelay", "thinkcycles", "comm"),
    *("mem_align", "volume", "brick", "single-instance", "verify_policy"),
    *("rbd_encryption_passphrase", "rocm_io"),
}


def test_no_table_has_what_fio_does_not_know() -> None:
    assert KNOWN - {*NAMES} <= ELSEWHERE
    assert {*USUAL} <= {*LOST}


def printed(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.long
def test_the_table_is_that_of_the_installed_fio() -> None:
    program = str(shutil.which("fio"))

    def said(*words: str) -> set[str]:
        return {*re.findall(r"^\s*([\w-]+)\s*:", printed(program, *words), re.M)}

    engines = printed(program, "--enghelp").split()[3:]
    found = said("--cmdhelp=all").union(*(said(f"--enghelp={e}") for e in engines))
    assert len(found) > 200
    assert {name for name in found if canonical(name) not in KNOWN} == set()


# what becomes of a value

TIMED = "rw=randrw\nruntime=2\ntime_based\nnorandommap\n"
SIZED = "rw=write\n"
PAUSED = f"{TIMED}thinktime=1000\niodepth=4\n"
PROBES = {
    "rw": (SIZED, "randread"),
    "rwmixread": (TIMED, "30"),
    "rwmixwrite": (TIMED, "30"),
    "bs": (TIMED, "64k"),
    "bsrange": (TIMED, "4k-64k"),
    "bssplit": (TIMED, "4k/50:64k/50"),
    "iodepth": (TIMED, "7"),
    "numjobs": (TIMED, "7"),
    "size": (TIMED, "1g"),
    "filesize": (TIMED, "1g"),
    "offset": (TIMED, "1g"),
    "offset_increment": (f"{TIMED}numjobs=2\n", "1g"),
    "io_size": (SIZED, "1g"),
    "number_ios": (SIZED, "7"),
    "loops": (SIZED, "7"),
    "runtime": (SIZED, "7"),
    "time_based": ("rw=write\nruntime=2\n", "1"),
    "ramp_time": (TIMED, "7"),
    "startdelay": (TIMED, "7"),
    "stonewall": (f"{TIMED}[b]\n{TIMED}", "1"),
    "wait_for": (f"{TIMED}[b]\n{TIMED}", "a"),
    "thinktime": (TIMED, "7"),
    "thinktime_blocks": (PAUSED, "7"),
    "thinktime_blocks_type": (f"{PAUSED}thinktime_blocks=2\n", "issue"),
    "rate": (TIMED, "7m"),
    "rate_iops": (TIMED, "7"),
    "rate_process": (f"{TIMED}rate_iops=10\n", "poisson"),
    "norandommap": ("rw=randread\n", "1"),
    "random_distribution": (TIMED, "zipf:1.2"),
    "random_generator": (TIMED, "lfsr"),
    "percentage_random": (TIMED, "30"),
    "blockalign": (TIMED, "64k"),
    "fsync": (TIMED, "7"),
    "fdatasync": (TIMED, "7"),
    "sync": (TIMED, "dsync"),
    "zero_buffers": (TIMED, "1"),
    "buffer_compress_percentage": (TIMED, "30"),
    "buffer_pattern": (TIMED, "0x1"),
    "dedupe_percentage": (TIMED, "30"),
    "direct": (TIMED, "0"),
    "buffered": (TIMED, "1"),
    "ioengine": (TIMED, "psync"),
    "kb_base": (f"{TIMED}size=1m\n", "1000"),
    "filename": (TIMED, "a:b"),
    "directory": (TIMED, "/x"),
    "nrfiles": (TIMED, "7"),
    "name": (TIMED, "b"),
    "description": (TIMED, "about"),
    "exitall": (f"{TIMED}[b]\n{TIMED}runtime=7\n", "1"),
}
"""A job with a value that asks for something else."""
REPLAY = ("read_iolog", "replay_no_stall", "replay_time_scale", "replay_skip")
"""Of a job with a log: tests/importer/test_replays.py."""
HEAD = "[a]\nioengine=libaio\ndirect=1\niodepth=4\n"


def asked(job: str, line: str = "") -> tuple[str, list[Diagnostic]]:
    """The plan's text without comments on losses, and what is told."""
    head = (
        HEAD.replace("direct=1\n", "") if line in ("direct=0", "buffered=1") else HEAD
    )
    text = f"{head}{job}{line}\n"
    made = import_plan(Source("p.fio", text), "fio", {})
    assert made.plan, [one.message for one in made.found]
    lines = [one for one in made.text.splitlines() if "Of no matter" not in one]
    return "\n".join(lines), made.found


@pytest.mark.parametrize("name", sorted(SAID - {"name", *REPLAY}))
@pytest.mark.promise("import.told")
def test_what_is_said_is_in_the_plan_or_told(name: str) -> None:
    job, value = PROBES[name]
    assert asked(job, f"{name}={value}") != asked(job), "dropped without a word"


def value_of(option: Option) -> str:
    """A value that is not fio's own."""
    if option.kind in ("STR_SET", "SOFT_DEPRECATED", "DEPRECATED"):
        return ""
    words = {"BOOL": "0" if option.default == "1" else "1"}
    return words.get(option.kind, "7" if option.default != "7" else "8")


@pytest.mark.parametrize("name", sorted({*NAMES} - SAID))
@pytest.mark.promise("import.told")
def test_what_is_not_said_is_told_or_listed(name: str) -> None:
    own, value = canonical(name), value_of(NAMES[name])
    if own in SAID:
        return
    line = f"{name}={value}" if value else name
    before, after = asked(TIMED), asked(TIMED, line)
    if own in NO_MATTER:
        assert after == before
        return
    (told,) = after[1]
    assert told.message == f"{line} is left out" and told.help == LOST[own]


@pytest.mark.parametrize("name", sorted(USUAL))
def test_what_fio_does_anyway_is_no_loss(name: str) -> None:
    """By fio's own table: a default, or a number or a switch without one."""
    for value in USUAL[name]:
        assert asked(TIMED, f"{name}={value}") == asked(TIMED)
        if name in NAMES and value != "none":
            one = NAMES[name]
            assert one.kind != "STR_SET" and one.default in ("", value, "none")


@pytest.mark.parametrize("engine", sorted(TOLD_ENGINES))
def test_another_way_to_the_target_is_told(engine: str) -> None:
    job = TIMED.replace("norandommap", f"norandommap\nioengine={engine}")
    told = [one.message for one in asked(job)[1] if one.severity != "note"]
    does, help = TOLD_ENGINES[engine]
    assert f"ioengine={engine} {does}" in told and help
    assert engine in BLOCK_ENGINES


# wordings that have to be true


def losses(job: str) -> list[str]:
    return [one.message for one in asked(job)[1] if one.severity != "note"]


def test_a_map_of_blocks_of_several_sizes_is_told() -> None:
    for sizes in ("bs=4k,64k", "bssplit=4k/50:8k/50,64k/100", "bsrange=4k-64k"):
        job = f"rw=randrw\nruntime=2\ntime_based\n{sizes}\n"
        assert any("draws no block twice" in one for one in losses(job)), sizes
        assert not any("no block twice" in one for one in losses(job + "norandommap\n"))


def test_lfsr_visits_each_block_once_without_a_map() -> None:
    assert "permuted" in asked("rw=randread\nnorandommap\nrandom_generator=lfsr\n")[0]
    assert "permuted" not in asked("rw=randread\nnorandommap\n")[0]


@pytest.mark.parametrize(
    ("line", "region"),
    [
        *(("size=1.5g", ""), ("size=1", ""), ("filesize=100", ""), ("size=2k", "")),
        *(("size=4k", "region 0B..4KiB"), ("size=10000", "region 0B..9728B")),
    ],
)
def test_a_part_has_room_for_an_io(line: str, region: str) -> None:
    text, found = asked(TIMED, line)
    assert region in text and ("region" in text) == bool(region)
    said = [one.message for one in found if "less than an I/O of 4KiB" in one.message]
    assert bool(said) != bool(region)


def test_a_part_has_room_for_all_jobs() -> None:
    named = f"{TIMED}size=16k\nfilename=x\n"
    said = losses(f"{named}numjobs=5\n")
    assert any("an I/O of 4KiB for each of 5 jobs" in one for one in said)
    assert not losses(f"{named}numjobs=4\n")


def test_strided_is_not_called_zoned() -> None:
    (told,) = asked(TIMED, "zonemode=strided")[1]
    assert "strided" in told.help and "region" in told.help


@pytest.mark.parametrize("name", ["number_ios", "io_size", "loops", "size"])
def test_what_else_ends_a_job_is_named(name: str) -> None:
    given = f"{name}=1m\n" if name != "size" else ""
    (told,) = losses(f"rw=read\nruntime=2\n{given}")
    assert f"`{name}` is done" in told
