"""Whatever stands in a file: a plan with findings, or one clear message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fio_documents import direction, document, job
from hypothesis import given, settings
from hypothesis import strategies as st

from golden import Golden
from ioplan.language import Source
from ioplan_importer import Findings, ImportFault, import_plan, import_results, kind_of

VALUES = st.sampled_from(
    (
        *("", "0", "1", "4k", "64k-4k", "4k/60:64k/40"),
        *("4k/:8k/", ",8k", "50%", "101%", "-1", "randrw"),
        *("read:8", "zipf:1.2", "zoned:50/5:50/", "normal:", "1d", "30sec"),
        *("0x1", "9" * 30, "libaio", "psync", "net", "${X}"),
        *("a b;c", "$ncpus*2", "2*$pagesize"),
    )
)
NAMES = [
    name
    for case, one in Golden("options").items()
    for name in one.input[0]
    if case.startswith("fio 3.42 ")
]
OPTIONS = st.tuples(st.sampled_from(sorted(NAMES)), VALUES | st.text(max_size=8))
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
@settings(max_examples=50, deadline=None)
@pytest.mark.long
def test_job_files(sections: list[Any], bare: bool) -> None:
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
def test_parameter_files(lines: list[list[str]]) -> None:
    survives("\n".join(",".join(words) for words in lines), "vdbench")


@given(st.data())
@settings(max_examples=50, deadline=None)
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
def test_what_is_made_to_be_too_much(name: str) -> None:
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
def test_figures_that_cannot_be(latency: dict[str, Any]) -> None:
    report = document(job(read=direction(10, **latency)))
    try:
        import_results(
            Source("r.json", json.dumps(report)), None, None, None, Findings()
        )
    except ImportFault as fault:
        assert "no test has so many I/Os" in fault.diagnostic.render()


def test_half_a_character_is_no_name() -> None:
    text = json.dumps(document(job(jobname="\ud800")))
    with pytest.raises(ImportFault, match="half a character"):
        import_results(Source("r.json", text), None, None, None, Findings())
