"""Each option of fio is translated, reported, or of no matter; and any file is survived.

The golden options have fio's own tables: names, kind, default.
"""

import json
import re
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import pytest
from fio_documents import direction, document, job
from fio_jobs import NEEDS_FIO
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import imported, told

from golden import Golden
from ioplan.language import Diagnostic, Source
from ioplan_importer import Findings, ImportFault, import_plan, import_results, kind_of

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
"""Of a job with a log: tests/importer/test_fiosynth.py."""
HEAD = "[a]\nioengine=libaio\ndirect=1\niodepth=4\n"


class Asked(NamedTuple):
    """What became of a job file."""

    plan: str
    no_matter: set[str]
    found: list[Diagnostic]

    @property
    def told(self):
        return [one.message for one in self.found]


@cache
def asked(job, line=""):
    head = (
        HEAD.replace("direct=1\n", "") if line in ("direct=0", "buffered=1") else HEAD
    )
    made = imported(f"{head}{job}{line}\n")
    assert made.plan, told(made)
    plan = re.sub(r"# Of no matter.*\n(#   .*\n)*", "", made.text)
    return Asked(plan, no_matter(made.text), made.found)


def value_of(option):
    """A value that is not fio's own."""
    if option.kind in ("STR_SET", "SOFT_DEPRECATED", "DEPRECATED"):
        return ""
    words = {"BOOL": "0" if option.default == "1" else "1"}
    return words.get(option.kind, "7" if option.default != "7" else "8")


def no_matter(text):
    """The options that the plan's comment names as of no matter."""
    comment = re.sub(r"\n# ", " ", text).partition("Of no matter")[2]
    return {*re.findall(r"[\w-]+", comment.partition("\n")[0])}


@pytest.mark.parametrize("name", sorted({*NAMES} - {"name", *REPLAY}))
@pytest.mark.promise("import.told")
def test_none_is_dropped_without_a_word(name):
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
def test_the_table_is_that_of_the_installed_fio():
    program = str(shutil.which("fio"))

    def listed(*words):
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
def test_what_fio_does_anyway_is_no_loss(name):
    """By fio's own table: a default, or a number or a switch without one."""
    value = VALUES[name]["is anyway"]
    assert asked(TIMED, f"{name}={value}").told == asked(TIMED).told
    if value != "none" and (one := NAMES.get(name)):
        assert one.kind != "STR_SET" and one.default in ("", value, "none")


# whatever stands in a file: a plan with findings, or one clear message

ODD = st.sampled_from(
    (
        *("", "0", "1", "4k", "64k-4k", "4k/60:64k/40"),
        *("4k/:8k/", ",8k", "50%", "101%", "-1", "randrw"),
        *("read:8", "zipf:1.2", "zoned:50/5:50/", "normal:", "1d", "30sec"),
        *("0x1", "9" * 30, "libaio", "psync", "net", "${X}"),
        *("a b;c", "$ncpus*2", "2*$pagesize"),
    )
)
LATEST = [
    name
    for case, one in Golden("options").items()
    for name in one.input[0]
    if case.startswith("fio 3.42 ")
]
DRAWN = st.tuples(st.sampled_from(sorted(LATEST)), ODD | st.text(max_size=8))
SECTIONS = st.tuples(
    st.sampled_from(("global", "a", "a", "1 b", "é", "]", "read")),
    st.lists(DRAWN, max_size=8),
)


def survives(text, kind):
    try:
        made = import_plan(Source(f"f.{kind}", text), kind, {})
    except ImportFault as fault:
        assert fault.diagnostic.render()
        return
    assert all(one.render() for one in made.found)
    assert made.plan or any(one.severity == "error" for one in made.found)


@given(st.lists(SECTIONS, max_size=4), st.booleans())
@settings(max_examples=50, deadline=None)
@pytest.mark.long
def test_job_files(sections, bare):
    lines = []
    for name, options in sections:
        lines.append(f"[{name}]")
        lines += [n if bare and not v else f"{n}={v}" for n, v in options]
    survives("\n".join(lines), "fio")


WORDS = st.sampled_from(
    (
        *("sd=s", "wd=w", "rd=r", "wd=default", "sd=s*", "wd=(w,x)"),
        *(
            "xfersize=4k",
            "elapsed=",
            "xfersize=(4k,50,8k)",
            "rdpct=200",
            "rdpct=x",
            "seekpct=65",
        ),
        *(
            "forthreads=(1-8,d)",
            "forrdpct=(0-100,0)",
            "iorate=max",
            "iorate=0",
            "range=(1)",
            "range=(50,40)",
        ),
        *("(", "threads=0", "fsd=f", "skew=3", "lun=/dev/x", "warmup=9h"),
        *("nonsense", ""),
    )
)


@given(st.lists(st.lists(WORDS, max_size=6), max_size=6))
@settings(max_examples=50, deadline=None)
def test_parameter_files(lines):
    survives("\n".join(",".join(words) for words in lines), "vdbench")


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_results(data):
    found = json.loads(json.dumps(document()))
    at: Any = found
    while isinstance(at, dict | list) and at:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(at[key], dict | list):
            at[key] = data.draw(
                st.sampled_from((None, -1, "x", [], {}, 1e99, 0, True, "9" * 20))
            )
            break
        at = at[key]
    text = json.dumps(found)
    cut = data.draw(st.integers(0, len(text)))
    for one in (text, text[:cut]):
        try:
            import_results(Source("r.json", one), None, None, None, Findings())
        except ImportFault as fault:
            assert fault.diagnostic.render()


DEPTH = 100_000
JOB = "[a]\nrw=randread\nruntime=1\n"
HOSTILE = {
    "many.fio": "[a]\n" * 5000,
    "alike.fio": "[global]\nrw=randread\nruntime=1\n" + "[a]\nstonewall\n" * 400,
    "digits.fio": f"{JOB}bs={'9' * 5000}\n",
    "product.fio": f"{JOB}iodepth={'9' * 5000}*$ncpus\n",
    "hex.fio": f"{JOB}size=0x{'f' * 50_000}\n",
    "digits.vdb": f"sd=s\nwd=w,sd=s,xfersize={'9' * 5000},threads={'9' * 5000}\n",
    "deep.json": '{"def":' + "[" * DEPTH,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_to_be_too_much(name):
    text = HOSTILE[name]
    kind = kind_of(Source(name, text))
    if kind != "fio results":
        survives(text, kind)


@pytest.mark.parametrize(
    "latency",
    [
        {"bins": {"1": 1 << 62, "2": 1 << 62, "3": 1 << 62}},
        {"percentile": {"inf": 1, "nan": 1, "101.0": 1, "99.0": 2}},
    ],
)
def test_figures_that_cannot_be(latency):
    report = document(job(read=direction(10, **latency)))
    try:
        import_results(
            Source("r.json", json.dumps(report)), None, None, None, Findings()
        )
    except ImportFault as fault:
        assert "no test has so many I/Os" in fault.diagnostic.render()


def test_half_a_character_is_no_name():
    text = json.dumps(document(job(jobname="\ud800")))
    with pytest.raises(ImportFault, match="half a character"):
        import_results(Source("r.json", text), None, None, None, Findings())
