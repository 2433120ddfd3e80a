"""vdbench's parameter files: storage, workload and run definitions as tests.

`sd=`, `wd=` and `rd=` lines hold `name=value` pairs, lists in parentheses, and defaults
in definitions that are called `default`. Each run definition is a test; its `for…`
lists are axes, the first the outermost loop. File systems (`fsd`, `fwd`) are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from ioplan.core import did_you_mean
from ioplan.language import Source, Span, make
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.translate import name_of
from ioplan_importer.outline import (
    Clauses,
    Length,
    PlanOutline,
    StreamOutline,
    TestOutline,
)
from ioplan_importer.vdbench.pace import LOAD, Axes, Pace, axes_of, pace_of, shares_of
from ioplan_importer.vdbench.parameters import (
    SECONDS,
    Definition,
    definitions_of,
    with_defaults,
)
from ioplan_importer.vdbench.place import align_of, region_of, sync_of, tell_hosts
from ioplan_importer.vdbench.stream import clauses_of

# What vdbench writes, and whether it checks it: `compratio` and `validate`.


def data_of(general: Definition, findings: Findings) -> Clauses:
    """A ratio of 2 is 50 % that a compressor saves."""
    ratio = general.number("compratio", 1, findings)
    if ratio <= 1:
        return {}
    saved = round(100 * (1 - 1 / ratio))
    if abs(100 * (1 - 1 / ratio) - saved) > 1e-9:
        findings.loss(
            f"compratio={ratio:g} is {saved} % here: a plan has whole percents",
            general.settings["compratio"].span,
        )
    return {"data": f"data compressible {make('share', saved).text}"}


def verify_of(general: Definition, findings: Findings) -> Clauses:
    """Reads are checked for what was last written there."""
    setting = general.settings.get("validate")
    words = setting.listed if setting else []
    if not setting or any("no".startswith(word) for word in words):
        return {}
    more = [word for word in words if not "yes".startswith(word)]
    if more:
        findings.loss(
            f"validate={setting.value}: {', '.join(more)} is left out",
            setting.span,
            "`verify` checks each read of what the run has written",
        )
    return {"verify": "verify"}


DEFAULT_THREADS, DEFAULT_ELAPSED_S = 8, 30
S_NS = 10**9


def outline_of_parameters(
    source: Source, variables: Mapping[str, str], findings: Findings
) -> PlanOutline:
    """The plan that a parameter file asks for. Raises ImportFault."""
    definitions = with_defaults(list(definitions_of(source, findings)))
    runs = _uniquely_named([one for one in definitions if one.kind == "rd"])
    if not runs:
        raise ImportFault(
            "no run definition (rd=) of the file can be said as a plan",
            Span(source, 0, 1),
            "a plan is about block I/O on one target: sd, wd and rd",
        )
    by_kind = {
        kind: {one.name: one for one in definitions if one.kind == kind}
        for kind in ("general", "sd", "wd")
    }
    tell_hosts(definitions, findings)
    tests = tuple(test for run in runs for test in _tests(run, by_kind, findings))
    if not tests:
        raise ImportFault("no run of the file can be said as a plan", runs[0].span)
    luns = {one.text("lun") for one in by_kind["sd"].values() if one.text("lun")}
    if len(luns) > 1:
        findings.loss(
            f"the runs are on {len(luns)} luns, and a plan has one target",
            runs[0].span,
            "name them as a group in the lab file, or run the plan on each",
        )
    return PlanOutline(
        title=Path(source.name).stem,
        tests=tests,
        remarks=tuple(_targets(luns)),
        params={LOAD: "100%"} if LOAD in {a for t in tests for a, _ in t.axes} else {},
    )


def _uniquely_named(runs: list[Definition]) -> list[Definition]:
    """vdbench takes one name for several runs; tests have one each."""
    taken: set[str] = set()
    found = []
    for run in runs:
        name, number = run.name, 2
        while name in taken:
            name, number = f"{run.name}, {number}", number + 1
        taken.add(name)
        found.append(replace(run, name=name))
    return found


def _targets(luns: set[str]) -> Iterator[str]:
    if luns:
        yield f"vdbench's lun was {', '.join(sorted(luns))}; name it with --target."


def _tests(
    run: Definition, known: dict[str, dict[str, Definition]], findings: Findings
) -> Iterator[TestOutline]:
    """A run definition: a test, of a curve two, none where a plan can say nothing."""
    workloads = list(_chosen(run, known["wd"], findings))
    if not workloads:
        return
    threads = _threads(run, workloads, known["sd"], findings)
    if len(workloads) > 1:
        findings.loss(
            f"vdbench's {threads} threads are shared by the workloads of a run; here "
            f"each stream has as many",
            run.span,
            "write for each stream how many I/Os it is to have outstanding",
        )
    pace, axes = pace_of(run, findings), tuple(axes_of(run))
    shares = shares_of(run, workloads, pace, findings)
    if len(workloads) > 1 and pace.axes:
        pace = Pace()
    plain = [_clauses(run, one, axes, threads, known, findings) for one in workloads]
    if pace.maximum:
        yield _test(run, workloads, plain, Pace(axes=axes), pace.maximum, findings)
    paced = [
        {"rate": pace.clause(share)} | clauses if pace.clause(share) else clauses
        for clauses, share in zip(plain, shares, strict=True)
    ]
    pace = replace(pace, axes=(*axes, *pace.axes))
    yield _test(run, workloads, paced, pace, run.name, findings)


def _clauses(
    run: Definition,
    workload: Definition,
    axes: Axes,
    threads: int,
    known: dict[str, dict[str, Definition]],
    findings: Findings,
) -> Clauses:
    """One workload as a stream, on its part of its luns."""
    clauses = clauses_of(run, workload, axes, threads, findings)
    storage = list(_storage(run, workload, known["sd"]))
    reads = clauses.get("mix") == "100/0"
    clauses |= region_of(workload, storage, findings)
    if clauses["pattern"] == "random":
        clauses |= align_of(storage, findings)
    clauses |= sync_of((run, workload, *storage), reads, findings)
    if reads:
        return clauses
    general = known["general"][""]
    return clauses | data_of(general, findings) | verify_of(general, findings)


def _test(
    run: Definition,
    workloads: list[Definition],
    clauses: list[Clauses],
    pace: Pace,
    title: str,
    findings: Findings,
) -> TestOutline:
    elapsed_s = run.number("elapsed", DEFAULT_ELAPSED_S, findings, SECONDS)
    warmup_s = run.number("warmup", 0, findings, SECONDS)
    streams = (
        StreamOutline(name=name_of(one.name), clauses=own)
        for one, own in zip(workloads, clauses, strict=True)
    )
    return TestOutline(
        title=title,
        streams=tuple(streams),
        length=Length(
            text=f"for {make('time', int(elapsed_s * S_NS)).text}",
            run_ns=int(elapsed_s * S_NS),
            warmup_ns=int(warmup_s * S_NS),
        ),
        override=pace.override,
        axes=pace.axes,
    )


def _chosen(
    run: Definition, workloads: dict[str, Definition], findings: Findings
) -> Iterator[Definition]:
    """The workloads of a run; `wd=db*` takes all whose names begin so."""
    setting = run.settings.get("wd")
    for name in setting.listed if setting else []:
        pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
        found = [one for one in workloads.values() if pattern.fullmatch(one.name)]
        if not found:
            findings.error(
                f"there is no workload {name!r}{did_you_mean(name, workloads)}",
                setting.span if setting else run.span,
            )
        yield from found


def _threads(
    run: Definition,
    workloads: list[Definition],
    storage: dict[str, Definition],
    findings: Findings,
) -> int:
    """vdbench's threads are I/Os outstanding on a storage definition."""
    sds = [one for wd in workloads for one in _storage(run, wd, storage)]
    said = [(run, "forthreads"), (run, "threads")]
    said += [(one, "threads") for one in (*workloads, *sds)]
    found = next((pair for pair in said if pair[0].text(pair[1])), None)
    if not found or "-" in found[0].text(found[1]):  # (1-64,d) is an axis
        return DEFAULT_THREADS
    return max(1, int(found[0].number(found[1], DEFAULT_THREADS, findings)))


def _storage(
    run: Definition, workload: Definition, storage: dict[str, Definition]
) -> Iterator[Definition]:
    """The luns of a workload, which a run may replace."""
    said = run.settings.get("sd") or workload.settings.get("sd")
    for name in said.listed if said else ():
        pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
        yield from (one for one in storage.values() if pattern.fullmatch(one.name))
