"""Whatever stands in a file: a plan with findings, or one clear message."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_fio_results import document

from ioplan.importer.findings import Findings, ImportFault
from ioplan.importer.fio.vocabulary import KNOWN
from ioplan.importer.fio_results.sessions import import_results
from ioplan.importer.plan_import import import_plan
from ioplan.language.syntax.source import Source

VALUES = st.sampled_from(
    (
        "",
        "0",
        "1",
        "4k",
        "64k-4k",
        "4k/60:64k/40",
        "4k/:8k/",
        ",8k",
        "50%",
        "101%",
        "-1",
        "randrw",
        "read:8",
        "zipf:1.2",
        "zoned:50/5:50/",
        "normal:",
        "1d",
        "30sec",
        "0x1",
        "9" * 30,
        "libaio",
        "psync",
        "net",
        "${X}",
        "a b;c",
        "$ncpus*2",
        "2*$pagesize",
    )
)
OPTIONS = st.tuples(st.sampled_from(sorted(KNOWN)), VALUES | st.text(max_size=8))
SECTIONS = st.tuples(
    st.sampled_from(("global", "a", "a", "1 b", "é", "]", "read")),
    st.lists(OPTIONS, max_size=8),
)


def survives(text: str, kind: str) -> None:
    try:
        made = import_plan(Source(f"f.{kind}", text), kind, {})
    except ImportFault as fault:
        assert fault.diagnostic.render()
        return
    assert all(one.render() for one in made.found)
    assert made.plan or any(one.severity == "error" for one in made.found)


@given(st.lists(SECTIONS, max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_job_files(sections: list[Any], bare: bool) -> None:
    lines = []
    for name, options in sections:
        lines.append(f"[{name}]")
        lines += [n if bare and not v else f"{n}={v}" for n, v in options]
    survives("\n".join(lines), "fio")


WORDS = st.sampled_from(
    (
        "sd=s",
        "wd=w",
        "rd=r",
        "wd=default",
        "sd=s*",
        "wd=(w,x)",
        "xfersize=4k",
        "elapsed=",
        "xfersize=(4k,50,8k)",
        "rdpct=200",
        "rdpct=x",
        "seekpct=65",
        "forthreads=(1-8,d)",
        "forrdpct=(0-100,0)",
        "iorate=max",
        "iorate=0",
        "range=(1)",
        "range=(50,40)",
        "(",
        "threads=0",
        "fsd=f",
        "skew=3",
        "lun=/dev/x",
        "warmup=9h",
        "nonsense",
        "",
    )
)


@given(st.lists(st.lists(WORDS, max_size=6), max_size=6))
@settings(max_examples=150, deadline=None)
def test_parameter_files(lines: list[list[str]]) -> None:
    survives("\n".join(",".join(words) for words in lines), "vdbench")


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_results(data: st.DataObject) -> None:
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
