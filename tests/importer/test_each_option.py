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


VALUES = {name: one.input for name, one in Golden("option_values").items()}
"""`asks`: a value that asks for something else, of a job; `is anyway`: what fio does."""
TIMED = "rw=randrw\nruntime=2\ntime_based\nnorandommap\n"
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
        *(
            (VALUES[o]["job"], VALUES[o]["asks"])
            for o in option.names
            if "asks" in VALUES.get(o, ())
        ),
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


@pytest.mark.parametrize("name", [n for n, one in VALUES.items() if "is anyway" in one])
def test_what_fio_does_anyway_is_no_loss(name: str) -> None:
    """By fio's own table: a default, or a number or a switch without one."""
    value = VALUES[name]["is anyway"]
    assert asked(TIMED, f"{name}={value}").told == asked(TIMED).told
    if value != "none" and (one := NAMES.get(name)):
        assert one.kind != "STR_SET" and one.default in ("", value, "none")
