"""What `plan` calls exact, the engine accepts; what it finds impossible is refused."""

import json

import pytest
from command import program
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st
from tests.support.command import ioplan, plan_file
from tests.support.plans import checked

from ioplan import PlanError
from ioplan.backends import TargetFacts, find
from ioplan.planner import all_jobs, summary_of
from ioplan.runner import misfits, shortfalls
from ioplan_io_uring import engine_path

NOWHERE = "/nonexistent/target"
"""The engine checks a job before it opens what the job names."""

TWO_VERIFYING = """
workload w { a = random 4KiB 50/50, qd 8, verify
  b = random 8KiB 40/60, qd 4, verify%s }
precondition f { write sequential 64KiB, qd 4, verify, 1 pass }
test "a" { after f
  run w for 3s
  expect verified >= 100%% }
"""

APART = TWO_VERIFYING.replace("qd 8", "qd 8, region 0%%..50%%").replace(
    "%s", ", region %s..100%%"
)
"""Only the size of the target tells whether they meet."""


def refused(job):
    """Why the engine does not take a job."""
    text = find("io_uring").native(job, {})
    done = program(engine_path(), "run", input=" ".join(text.split("\n")))
    told = json.loads(done.stdout.splitlines()[-1])
    return None if told["cause"] == "missing-target" else str(told["message"])


SIZES = st.sampled_from(["512B", "4KiB", "6KiB", "12KiB", "64KiB", "1MiB"])
REGIONS = (
    *("", "", "region 0%..50%", "region 50%..100%", "region 1MiB..2MiB"),
    *("region 4KiB..100%", "region 0.1%..0.3%", "region 6KiB..1MiB", "region 30%..60%"),
)
EXTRAS = (
    *("", "", "", "verify", "verify", "permuted", "align 4KiB", "align 512B"),
    *("random 30%", "trim 20%", "rate 500 iops total", "pause 1ms", "sync every 8"),
    *("starts after 1s", "ends after 2s", "zipf 1.1", "fua", "dedup 30%"),
    *("pareto 0.2", "normal 20%", "data zeros", "hotspots { 90%: 10% 10%: 90% }"),
)


@st.composite
def streams(draw):
    """What one stream says."""
    size, other = draw(SIZES), draw(SIZES)
    sizes = draw(st.sampled_from([size, f"sizes {{ {size} 30% {other} 70% }}"]))
    parts = [
        f"{draw(st.sampled_from(['random', 'sequential']))} {sizes}",
        draw(st.sampled_from(["100/0", "0/100", "70/30"])),
        f"qd {draw(st.sampled_from([1, 8, 16_384, 20_000]))} each",
        f"threads {draw(st.sampled_from([1, 2, 3, 7, 64, 3000]))}",
        draw(st.sampled_from(REGIONS)),
        draw(st.sampled_from(EXTRAS)),
    ]
    return ", ".join(part for part in parts if part)


def is_right(stream):
    """Whether the language takes it alone."""
    try:
        return bool(checked(f'test "T" {{ run {stream} for 3s }}'))
    except PlanError:
        return False


RIGHT_STREAMS = streams().filter(is_right)


@st.composite
def plans(draw):
    """A test of one to three streams, perhaps with a precondition and an axis."""
    told = draw(st.lists(RIGHT_STREAMS, min_size=1, max_size=3))
    lines = "\n".join(f"  s{n} = {text}" for n, text in enumerate(told))
    length = draw(st.sampled_from(["for 3s", "1 pass", "for 1GiB"]))
    vary = draw(st.sampled_from(["", "vary size in 4KiB, 1MiB", "vary qd in 1, 4"]))
    after = draw(st.booleans())
    before = (
        f"precondition p {{ write {draw(RIGHT_STREAMS)}, 1 pass }}\n" if after else ""
    )
    return (
        f"{before}workload w {{\n{lines}\n}}\n"
        f'test "T" {{ {"after p" if after else ""}\n run w {length}\n {vary} }}'
    )


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    plans(),
    st.sampled_from([1 << 20, 3 << 20, 64 << 20, 1 << 30, 10**9 // 512 * 512]),
    st.sampled_from([512, 4096]),
    st.sampled_from([1.0, 1e-9]),
)
@example(APART % "512MiB", 1 << 30, 512, 1.0)
@example(APART % "511MiB", 1 << 30, 512, 1.0)
def test_the_engine_has_no_refusal_of_its_own(text, capacity_bytes, block_bytes, scale):
    try:
        plan = checked(text, scale)
    except PlanError:
        assume(False)
    facts = TargetFacts(
        path=NOWHERE,
        kind="file",
        capacity_bytes=capacity_bytes // block_bytes * block_bytes,
        block_bytes=block_bytes,
    )
    summary = summary_of(plan)
    why = [one.text for one in misfits(summary.io_steps, facts)]
    gaps = shortfalls(summary, find("io_uring"), facts, {})
    why += [one.text for one in gaps if not one.gap.instead]
    jobs = all_jobs(summary.io_steps, facts, not summary.writes)
    found = [reason for _, job in jobs if (reason := refused(job))]
    event("refused" if why else "exact")
    assert bool(why) == bool(found), (why, found)


@pytest.mark.parametrize("words", [(), ("--capacity", "1GiB"), ("--backend", "sim")])
def test_streams_that_write_where_another_verifies_are_refused(tmp_path, words):
    """By check and plan, before a precondition has written anything."""
    wrong = plan_file(tmp_path, TWO_VERIFYING % "")
    for command in (("check", wrong), ("plan", wrong, *words)):
        done = ioplan(*command)
        assert done.code == 2
        assert "'b' writes where 'a' verifies" in " ".join(done.err.split())
    right = plan_file(tmp_path, APART % "50%", "right.ioplan")
    assert ioplan("check", right).code == 0
    assert ioplan("plan", right, *words).code == 0
