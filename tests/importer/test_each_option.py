"""Each option of fio is translated, reported, or of no matter for a reason.

The golden options have fio's own tables: names, kind, default.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import pytest
from fio_jobs import NEEDS_FIO
from imported import imported, told

from golden import Golden
from ioplan.language import Diagnostic
from ioplan_importer import ImportFault

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


class Asked(NamedTuple):
    """What became of a job file."""

    plan: str
    no_matter: set[str]
    found: list[Diagnostic]

    @property
    def told(self) -> list[str]:
        return [one.message for one in self.found]


@cache
def asked(job: str, line: str = "") -> Asked:
    head = (
        HEAD.replace("direct=1\n", "") if line in ("direct=0", "buffered=1") else HEAD
    )
    made = imported(f"{head}{job}{line}\n")
    assert made.plan, told(made)
    plan = re.sub(r"# Of no matter.*\n(#   .*\n)*", "", made.text)
    return Asked(plan, no_matter(made.text), made.found)


def value_of(option: Option) -> str:
    """A value that is not fio's own."""
    if option.kind in ("STR_SET", "SOFT_DEPRECATED", "DEPRECATED"):
        return ""
    words = {"BOOL": "0" if option.default == "1" else "1"}
    return words.get(option.kind, "7" if option.default != "7" else "8")


def no_matter(text: str) -> set[str]:
    """The options that the plan's comment names as of no matter."""
    comment = re.sub(r"\n# ", " ", text).partition("Of no matter")[2]
    return {*re.findall(r"[\w-]+", comment.partition("\n")[0])}


@pytest.mark.parametrize("name", sorted({*NAMES} - {"name", *REPLAY}))
@pytest.mark.promise("import.told")
def test_none_is_dropped_without_a_word(name: str) -> None:
    """It changes the plan, or is told, or is of no matter and named as that."""
    option = NAMES[name]
    (job, value), *_ = (
        *(PROBES[one] for one in option.names if one in PROBES),
        (TIMED, value_of(option)),
    )
    line = f"{name}={value}" if value else name
    before, after = asked(job), asked(job, line)
    if before.plan == after.plan and before.told == after.told:
        assert after.no_matter, "dropped without a word"
    new = [one for one in after.found if one.message not in before.told]
    assert not [one for one in new if "is no option that is known" in one.message]
    assert all(one.help for one in new if one.message == f"{line} is left out")


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.long
def test_the_table_is_that_of_the_installed_fio() -> None:
    program = str(shutil.which("fio"))

    def listed(*words: str) -> set[str]:
        call = [program, *words]
        out = subprocess.run(call, capture_output=True, text=True, check=False).stdout
        return {*re.findall(r"^\s*([\w-]+)\s*:", out, re.M)}

    shown = subprocess.run(
        [program, "--enghelp"], capture_output=True, text=True, check=True
    )
    engines = shown.stdout.split()[3:]
    found = listed("--cmdhelp=all").union(*(listed(f"--enghelp={e}") for e in engines))
    assert len(found) > 200
    messages = []
    for name in found - {*NAMES}:
        with suppress(ImportFault):
            messages += asked(TIMED, f"{name}=1").told
    assert not [one for one in messages if "is no option that is known" in one]


ZERO = (
    "atomic bs_is_seq_rand busy_poll cgroup_nodelete create_only deac "
    "dedupe_global end_fsync end_syncfs exit_on_io_done fdp file_append "
    "fill_device flow flow_id flow_sleep force_async fsync_on_close "
    "ignore_zone_limits iodepth_low job_max_open_zones latency_run "
    "latency_target latency_window max_latency max_open_zones md_per_io_size "
    "mem_align nice offset_align openfiles pre_read ramp_size "
    "rate_ignore_thinktime rate_iops_min rate_min read_beyond_wp readfua "
    "serialize_overlap skip_bad sprandom steadystate_duration "
    "steadystate_ramp_time stream_id thinkcycles thinktime_iotime "
    "thinktime_spin trim_backlog trim_percentage uncached verify_async "
    "verify_backlog verify_fatal verify_interval verify_offset write_barrier "
    "writefua zonecapacity zonerange zonesize zoneskip"
)
ANYWAY = dict.fromkeys(ZERO.split(), "0") | {
    "buffer_compress_chunk": "512",
    "continue_on_error": "none",
    "dataplacement": "none",
    "dedupe_mode": "repeat",
    "do_verify": "1",
    "file_service_type": "roundrobin",
    "io_submit_mode": "inline",
    "iodepth_batch": "1",
    "iodepth_batch_complete_min": "1",
    "lockfile": "none",
    "rate_cycle": "1000",
    "rw_sequencer": "sequential",
    "scramble_buffers": "1",
    "verify": "none",
    "zonemode": "none",
}


@pytest.mark.parametrize("name", ANYWAY)
def test_what_fio_does_anyway_is_no_loss(name: str) -> None:
    """By fio's own table: a default, or a number or a switch without one."""
    value = ANYWAY[name]
    assert asked(TIMED, f"{name}={value}").told == asked(TIMED).told
    if value != "none" and (one := NAMES.get(name)):
        assert one.kind != "STR_SET" and one.default in ("", value, "none")
