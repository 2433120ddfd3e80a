"""FioSynth's workload suites: job file templates with values, preconditions, targets.

A suite is JSON with a list `def` of workloads, perhaps one `pre` of what is done to the
drive before, and the templates lie in a folder `jobfiles` beside it. Values are for a
capacity of 1 TB where the suite says that they grow with it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ioplan.core import did_you_mean
from ioplan.language import Source, Span, make, read_text
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.job_file import Section
from ioplan_importer.fio.translate import outline_of
from ioplan_importer.outline import (
    PlanOutline,
    PreparationOutline,
    TestOutline,
    spec,
)

GROW = ("RRATE", "DEPTH", "OFFSET2")
SHRINK = ("W1THINK", "W2THINK", "W3THINK", "W4THINK", "W5THINK")
"""Values that grow or shrink with the capacity, in TB."""
CAPACITY = "CAPACITY_TB"
OF_A_DRIVE = {"DEV": "", "OFFSET1": "0", "INCREMENT": "0"}
SAID = {
    "suite": (
        *("description", "pre", "def", "run_cycles", "precondition_cycles"),
        "scale_by_capacity",
    ),
    "workload": ("template", "alias", "values", "targets"),
    "targets": ("latency", "throughput", "iops"),
}
NO_MATTER = {
    "devices_in_global": "how the job file is written",
    "precondition_first_cycle_only": "the plan does one cycle",
}
"""Keys of a suite that change nothing about what is asked, with the reason."""
SCALED = "scale_by_TB"
PREPARED, ERASED = "prepared", "erased"
US_NS = 1000
MB = 10**6


def outline_of_suite(
    source: Source, variables: Mapping[str, str], findings: Findings
) -> PlanOutline:
    """The plan that a suite asks for. Raises ImportFault."""
    suite = _Suite(source, variables, findings)
    if not any(suite.tests()):
        raise ImportFault(
            "no workload of the suite can be said as a plan",
            Span(source, 0, 1),
            "import its templates as job files to see why",
        )
    return PlanOutline(
        title=suite.text("description") or Path(source.name).stem,
        tests=_uniquely_titled([*suite.mixed_preparations(), *suite.tests()]),
        preparations=tuple(suite.preparations()),
        remarks=tuple(suite.remarks()),
    )


class _Suite:
    """A suite as it was read."""

    def __init__(
        self, source: Source, variables: Mapping[str, str], findings: Findings
    ) -> None:
        self.source, self.findings = source, findings
        self.document = _parsed(source)
        self.capacity_tb = _capacity(variables.get(CAPACITY, "1"), source)
        self._tell_unknown()
        cycles = self.document.get("precondition_cycles", 0)
        pre = self.document.get("pre", []) if cycles else []
        found = [self._tests_of(one) for one in pre]
        self.before = [tests for tests in found if tests]
        if (runs := self.document.get("run_cycles", 1)) != 1:
            findings.loss(
                f"run_cycles={runs} is left out: the plan does it all once",
                self._place('"run_cycles"'),
                "run the plan so often, and compare the sessions",
            )

    def _tell_unknown(self) -> None:
        """What of the suite's keys is left out."""
        entries = [*self.document.get("pre", []), *self.document["def"]]
        targets = [entry.get("targets", {}) for entry in entries]
        groups = {"suite": [self.document], "workload": entries, "targets": targets}
        for kind, found in groups.items():
            for key in dict.fromkeys(key for one in found for key in one):
                if key not in (*SAID[kind], *NO_MATTER):
                    near = did_you_mean(key, SAID[kind])
                    text = f"{key!r} of a {kind} is left out{near}"
                    self.findings.loss(text, self._place(f'"{key}"'))
        if any(_is_scaled(one.get("throughput", {})) for one in targets):
            self.findings.loss(
                f"{SCALED} is left out: the throughput is not divided by the capacity",
                self._place(f'"{SCALED}"'),
                "write the throughput that the drive is to have",
            )

    def text(self, key: str) -> str:
        """A text of the suite itself."""
        return str(self.document.get(key, ""))

    def remarks(self) -> Iterator[str]:
        """What a reader of the plan should know."""
        if self._is_scaled:
            yield (
                f"Rates and pauses are those for {self.capacity_tb:g} TB; for another "
                f"drive import with --set {CAPACITY}=2."
            )

    @property
    def _is_scaled(self) -> bool:
        return str(self.document.get("scale_by_capacity", "N")) != "N"

    def preparations(self) -> Iterator[PreparationOutline]:
        """The state that the first test starts from."""
        writes = [step for tests in self.before for step in _writes(tests)]
        if writes:
            yield PreparationOutline(name=PREPARED, steps=("purge", *writes))
        if any(not _writes(tests) for tests in self.before):
            yield PreparationOutline(name=ERASED, steps=("purge",))

    def mixed_preparations(self) -> Iterator[TestOutline]:
        """Preconditions that also read or trim: tests, each after a purge."""
        for tests in self.before:
            if not _writes(tests):
                first, *rest = tests
                yield replace(first, after=ERASED)
                yield from rest

    def tests(self) -> Iterator[TestOutline]:
        """The workloads, each with what its targets expect."""
        has_writes = any(_writes(tests) for tests in self.before)
        after = PREPARED if has_writes else ""
        mixed = any(not _writes(tests) for tests in self.before)
        for entry in self.document.get("def", []):
            expects = tuple(_expects(entry.get("targets", {})))
            for test in self._tests_of(entry):
                start = after if not mixed else ""
                yield replace(test, expects=expects, after=start)
                after = ""

    def _tests_of(self, entry: dict[str, Any]) -> list[TestOutline]:
        """A workload: its template with its values."""
        alias = str(entry.get("alias", entry.get("template", "")))
        template = self._template(str(entry.get("template", "")))
        if template is None:
            return []
        values = self._values(entry.get("values", {}))
        try:
            outline = outline_of(
                template, values, self.findings, with_device, tell_files=False
            )
        except ImportFault as fault:
            self.findings.found.append(fault.diagnostic)
            return []
        number = len(outline.tests)
        titles = [alias, *(f"{alias}, part {i}" for i in range(2, number + 1))]
        return [
            replace(test, title=title, remarks=())
            for test, title in zip(outline.tests, titles, strict=True)
        ]

    def _template(self, name: str) -> Source | None:
        folder = Path(self.source.name).parent
        for path in (folder.parent / "jobfiles" / name, folder / name):
            try:
                return Source(str(path), read_text(path))
            except (OSError, ValueError):
                continue
        self.findings.error(
            f"the template {name!r} is not there",
            self._place(name),
            "templates lie in jobfiles/ beside the suite's folder",
        )
        return None

    def _values(self, given: dict[str, Any]) -> dict[str, str]:
        """The variables of a template; some go with the capacity."""
        factor = self.capacity_tb if self._is_scaled else 1.0
        found = {name: str(value) for name, value in given.items()}
        for name in (*GROW, *SHRINK):
            if name in found:
                times = factor if name in GROW else 1 / factor
                found[name] = str(max(1, int(float(found[name]) * times)))
        return {**OF_A_DRIVE, "JOBS": "1", **found}

    def _place(self, text: str) -> Span:
        at = max(0, self.source.text.find(text))
        return Span(self.source, at, at + len(text))


def with_device(sections: list[Section]) -> list[Section]:
    """A template without jobs gets one for each device: here there is one."""
    if all(section.is_global for section in sections):
        span = sections[-1].span
        return [*sections, Section("device", span, ())]
    return sections


def _parsed(source: Source) -> dict[str, Any]:
    try:
        document = json.loads(source.text)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        text = str(error).partition(":")[0]
        raise ImportFault(
            f"this is no JSON: {text}", Span(source, at, at + 1)
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("def"), list):
        raise ImportFault("a suite has a list 'def' of workloads", Span(source, 0, 1))
    return document


def _capacity(text: str, source: Source) -> float:
    try:
        return max(0.1, round(float(text), 1))
    except ValueError:
        raise ImportFault(
            f"{CAPACITY} is a number of TB, not {text!r}", Span(source, 0, 1)
        ) from None


def _uniquely_titled(tests: list[TestOutline]) -> tuple[TestOutline, ...]:
    """A suite may do the same several times; a plan's tests have a title each."""
    seen: Counter[str] = Counter()
    found = []
    for test in tests:
        seen[test.title] += 1
        again = f" ({seen[test.title]})" if seen[test.title] > 1 else ""
        found.append(replace(test, title=f"{test.title}{again}"))
    return tuple(found)


def _writes(tests: list[TestOutline]) -> list[str]:
    """The steps of a precondition, if all does nothing but write to its end."""
    streams = [stream for test in tests for stream in test.streams]
    if any(len(test.streams) > 1 for test in tests) or not streams:
        return []
    if any(s.clauses["mix"] != "0/100" or "trim" in s.clauses for s in streams):
        return []
    return [_write(test) for test in tests]


def _write(test: TestOutline) -> str:
    clauses = {s: t for s, t in test.streams[0].clauses.items() if s != "mix"}
    between = " " if test.length.text.startswith("for ") else ", "
    return f"write {spec(clauses)}{between}{test.length.text}"


def _is_scaled(throughput: dict[str, Any]) -> bool:
    scale = throughput.get(SCALED, {})
    return bool(isinstance(scale, dict) and scale.get("value"))


def _expects(targets: dict[str, Any]) -> Iterator[str]:
    """Limits as expectations: latencies in us, throughput in MB/s."""
    for kind in SAID["targets"]:
        by_direction = targets.get(kind, {})
        for direction, limits in by_direction.items():
            for name, value in limits.items() if isinstance(limits, dict) else ():
                if direction in ("read", "write", "trim") and value:
                    yield _expect(kind, direction, name, value)


def _expect(kind: str, direction: str, name: str, value: float) -> str:
    if kind == "latency":
        limit = make("time", round(value * US_NS)).text
        return f"{direction}.{name.lower()} <= {limit}"
    if kind == "throughput":
        return f"{direction}.bandwidth >= {make('bandwidth', round(value * MB)).text}"
    return f"{direction}.iops >= {make('iops', value).text}"
