"""vdbench's parameter files: storage, workload and run definitions as tests.

`sd=`, `wd=` and `rd=` lines hold `name=value` pairs, lists in parentheses, and defaults
in definitions that are called `default`. Each run definition is a test; its `for…`
lists are axes, the first the outermost loop. File systems (`fsd`, `fwd`) are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ioplan.core.text import did_you_mean
from ioplan.core.value import Value
from ioplan.importer.findings import Findings, ImportFault
from ioplan.importer.fio.translate import name_of
from ioplan.importer.outline import (
    Clauses,
    Length,
    PlanOutline,
    StreamOutline,
    TestOutline,
)
from ioplan.language.quantity import SECTOR_BYTES, make
from ioplan.language.syntax.source import Source, Span

DEFINITION = re.compile(r"(sd|wd|rd|hd|fsd|fwd)\s*=\s*([^,\s]+)", re.IGNORECASE)
PAIR = re.compile(r"([a-z_]+)\s*=\s*(\([^)]*\)|[^,\s]*)", re.IGNORECASE)
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SECONDS = {"s": 1, "m": 60, "h": 3600}
FILES = ("fsd", "fwd")
QUIET = frozenset(("interval", "openflags", "lun", "host", "sd", "wd", "size", "count"))
"""What a plan has no word for, and needs none: the target, and how often to print."""
AXES = {
    **{"forthreads": "qd", "forxfersize": "size", "forrdpct": "read"},
    **{"threads": "qd", "xfersize": "size", "rdpct": "read"},
}
"""Lists of a run that make a matrix, by the axis."""
USED = {
    "sd": {"threads", *QUIET},
    "wd": {
        "rdpct",
        "xfersize",
        "seekpct",
        "skew",
        "iorate",
        "range",
        *QUIET,
        "threads",
    },
    "rd": {
        "iorate",
        "elapsed",
        "warmup",
        "curve",
        "distribution",
        "pause",
        *QUIET,
        *AXES,
    },
}
ABBREVIATED = {"el": "elapsed", "in": "interval", "xf": "xfersize", "th": "threads"}
HITS = ("rhpct", "whpct")
"""Cache hits that are to be made; none are the default."""
STEPS = re.compile(r"(\d+[kmgt]?)-(\d+[kmgt]?)", re.IGNORECASE)
DEFAULT_THREADS, DEFAULT_ELAPSED_S, DEFAULT_BYTES = 8, 30, 4096
MS_NS, S_NS = 10**6, 10**9


class Setting(Value):
    """One `name=value` of a definition, with its place."""

    value: str
    span: Span

    @property
    def listed(self) -> list[str]:
        """The values of a list, or the one value."""
        inner = self.value.strip("()")
        return [part.strip() for part in inner.split(",") if part.strip()]


class Definition(Value):
    """A line, with the lines that go on from it."""

    kind: str
    name: str
    span: Span
    settings: dict[str, Setting]

    def text(self, name: str, default: str = "") -> str:
        """The first value of a setting."""
        found = self.settings.get(name)
        return found.listed[0] if found and found.listed else default


def outline_of_parameters(
    source: Source, variables: Mapping[str, str], findings: Findings
) -> PlanOutline:
    """The plan that a parameter file asks for. Raises ImportFault."""
    definitions = _with_defaults(list(_definitions(source, findings)))
    runs = [one for one in definitions if one.kind == "rd"]
    if not runs:
        raise ImportFault(
            "no run definition (rd=) of the file can be said as a plan",
            Span(source, 0, 1),
            "a plan is about block I/O on one target: sd, wd and rd",
        )
    by_kind = {
        kind: {one.name: one for one in definitions if one.kind == kind}
        for kind in ("sd", "wd")
    }
    made = (_test(run, by_kind, findings) for run in runs)
    tests = tuple(test for test in made if test)
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
        title=Path(source.name).stem, tests=tests, remarks=tuple(_targets(luns))
    )


def _targets(luns: set[str]) -> Iterator[str]:
    if luns:
        yield f"vdbench's lun was {', '.join(sorted(luns))}; name it with --target."


def _definitions(source: Source, findings: Findings) -> Iterator[Definition]:
    """Each definition; a line that begins otherwise goes on from the one before."""
    at, begun = 0, None
    for line in source.text.split("\n"):
        start, at = at, at + len(line) + 1
        code = line.strip()
        if not code or code[0] in "*/#":
            continue
        found = DEFINITION.match(code)
        span = Span(source, start, start + len(line.rstrip()))
        if found:
            if begun:
                yield begun
            begun = _definition(found, line, span, findings)
        elif begun and line[:1].isspace():
            begun.settings.update(_settings(begun.kind, line, span, findings))
        else:
            findings.loss(
                f"{code[:40]!r} is left out", span, "a plan has no word for it"
            )
    if begun:
        yield begun


def _definition(
    found: re.Match[str], line: str, span: Span, findings: Findings
) -> Definition | None:
    kind, name = found[1].lower(), found[2]
    if kind in FILES:
        findings.error(
            f"{kind}={name} is left out: it is about a file system",
            span,
            "a plan is about one target with direct I/O; keep such runs with vdbench",
        )
        return None
    if kind == "hd":
        return None
    rest = line[line.index(found[0].split("=")[0]) :]
    settings = _settings(kind, rest, span, findings)
    return Definition(kind, name, span, settings)


def _settings(
    kind: str, text: str, span: Span, findings: Findings
) -> dict[str, Setting]:
    settings = {}
    base = span.source.text.find(text, span.start)
    for pair in PAIR.finditer(text):
        name = ABBREVIATED.get(pair[1].lower(), pair[1].lower())
        place = Span(span.source, base + pair.start(), base + pair.end())
        if name == kind:
            continue
        if name in HITS and pair[2] == "0":
            continue
        if name not in USED[kind]:
            near = did_you_mean(name, USED[kind])
            findings.loss(
                f"{name} is left out{near}", place, "a plan has no word for it"
            )
            continue
        settings[name] = Setting(pair[2], place)
    return settings


def _with_defaults(definitions: list[Definition]) -> list[Definition]:
    """Each definition with the settings of the last `default` of its kind before it."""
    defaults: dict[str, dict[str, Setting]] = {}
    found = []
    for one in definitions:
        if one.name == "default":
            defaults[one.kind] = {**defaults.get(one.kind, {}), **one.settings}
            continue
        settings = {**defaults.get(one.kind, {}), **one.settings}
        found.append(Definition(one.kind, one.name, one.span, settings))
    return found


def _test(
    run: Definition, known: dict[str, dict[str, Definition]], findings: Findings
) -> TestOutline | None:
    """A run definition; None where it does nothing that a plan can say."""
    workloads = list(_chosen(run, known["wd"], findings))
    if not workloads:
        return None
    threads = _threads(run, workloads, known["sd"])
    if len(workloads) > 1:
        findings.loss(
            f"vdbench's {threads} threads are shared by the workloads of a run; here "
            f"each stream has as many",
            run.span,
            "write for each stream how many I/Os it is to have outstanding",
        )
    axes = tuple(_axes(run))
    rate = _rate(run, findings)
    streams = tuple(
        StreamOutline(
            name=name_of(one.name),
            clauses=_clauses(run, one, axes, threads, rate, len(workloads), findings),
        )
        for one in workloads
    )
    elapsed_s = _seconds(run.text("elapsed"), DEFAULT_ELAPSED_S)
    return TestOutline(
        title=run.name,
        streams=streams,
        length=Length(
            text=f"for {make('time', elapsed_s * S_NS).text}",
            run_ns=elapsed_s * S_NS,
            warmup_ns=_seconds(run.text("warmup"), 0) * S_NS,
        ),
        axes=axes,
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
    run: Definition, workloads: list[Definition], storage: dict[str, Definition]
) -> int:
    """vdbench's threads are I/Os outstanding on a storage definition."""
    sds = [one for wd in workloads for one in _storage(wd, storage)]
    own = [run.text("forthreads"), run.text("threads")]
    texts = [*own, *(one.text("threads") for one in (*workloads, *sds))]
    said = next((text for text in texts if text), str(DEFAULT_THREADS))
    return _number(said, DEFAULT_THREADS)


def _storage(
    workload: Definition, storage: dict[str, Definition]
) -> Iterator[Definition]:
    for name in workload.settings["sd"].listed if "sd" in workload.settings else ():
        pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
        yield from (one for one in storage.values() if pattern.fullmatch(one.name))


def _axes(run: Definition) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lists of more than one value, in the order of the file."""
    for name, setting in run.settings.items():
        if name in AXES and len(setting.listed) > 1:
            yield AXES[name], _axis_values(AXES[name], setting.listed)


def _axis_values(axis: str, listed: list[str]) -> tuple[str, ...]:
    """`(1-64,d)` doubles and `(0-100,10)` has steps; else the values of a list."""
    steps = STEPS.fullmatch(listed[0])
    if not steps or len(listed) != 2:
        return tuple(_axis_value(axis, text) for text in listed)
    low, high = (_axis_value(axis, text) for text in steps.groups())
    if listed[1].lower() == "d":
        return (f"{low}..{high} doubling",)
    return (f"{low}..{high} step {_axis_value(axis, listed[1])}",)


def _axis_value(axis: str, text: str) -> str:
    if axis == "size":
        return make("size", _bytes(text)).text
    return f"{text}%" if axis == "read" else text


def _rate(run: Definition, findings: Findings) -> str:
    """The rate of a run; a curve has shares of the most that was reached."""
    setting = run.settings.get("iorate")
    text = run.text("iorate", "max")
    if text.lower() == "curve":
        findings.loss(
            "iorate=curve is left out: a run as fast as I/O completes",
            setting.span if setting else run.span,
            "write for the points: vary rate in 10_000 iops, 20_000 iops",
        )
        return ""
    if setting and len(setting.listed) > 1:
        findings.loss(
            f"of the rates {setting.value} only the first is taken",
            setting.span,
            "write: vary rate in 1_000 iops, 2_000 iops",
        )
    if text.lower() == "max":
        return ""
    poisson = run.text("distribution", "exponential").lower().startswith("exp")
    words = make("iops", _number(text, 1)).text
    return f"rate {words}{' poisson' if poisson else ''}"


def _clauses(
    run: Definition,
    workload: Definition,
    axes: tuple[tuple[str, tuple[str, ...]], ...],
    threads: int,
    rate: str,
    count: int,
    findings: Findings,
) -> Clauses:
    """One workload definition as a stream."""
    varied = {axis for axis, _ in axes}
    clauses = _pattern(workload, findings)
    if "size" not in varied:
        clauses |= _sizes(_of_run(run, "xfersize") or workload, findings)
    if "read" not in varied:
        reads = float((_of_run(run, "rdpct") or workload).text("rdpct", "100"))
        clauses["mix"] = make("mix", reads).text
    if "qd" not in varied:
        clauses["qd"] = f"qd {threads}"
    own = workload.text("iorate")
    if own and own.lower() != "max":
        clauses["rate"] = f"rate {make('iops', _number(own, 1)).text}"
    elif rate and count == 1:
        clauses["rate"] = rate
    elif rate or "skew" in workload.settings:
        setting = workload.settings.get("skew")
        findings.loss(
            "how a run's rate is divided among workloads is left out",
            setting.span if setting else workload.span,
            "give each stream a rate of its own",
        )
    if "range" in workload.settings:
        clauses |= _range(workload, findings)
    return clauses


def _of_run(run: Definition, name: str) -> Definition | None:
    """The run with what it says in place of its workloads, if it does."""
    for said in (f"for{name}", name):
        if said in run.settings:
            settings = {name: run.settings[said]}
            return Definition(run.kind, run.name, run.span, settings)
    return None


def _pattern(workload: Definition, findings: Findings) -> Clauses:
    """`seekpct` is how much of the I/O is random; the default is all of it."""
    text = workload.text("seekpct", "100").lower()
    if text in ("eof", "seq", "sequential"):
        text = "0"
    share = 100.0 if text.startswith("rand") else float(_number(text, 100))
    if not share:
        return {"pattern": "sequential"}
    if share >= 100:
        return {"pattern": "random"}
    return {"pattern": "random", "random share": make("share", share).text}


def _sizes(workload: Definition, findings: Findings) -> Clauses:
    """One size, or pairs of a size and its share."""
    setting = workload.settings.get("xfersize")
    parts = setting.listed if setting else [str(DEFAULT_BYTES)]
    sizes = [_bytes(part) for part in parts[::2]]
    if any(not one or one % SECTOR_BYTES for one in sizes):
        findings.error(
            f"xfersize={setting.value if setting else ''} is no multiple of 512 B",
            setting.span if setting else workload.span,
        )
        sizes = [DEFAULT_BYTES]
    if len(parts) == 1 or len(sizes) == 1:
        return {"size": make("size", sizes[0]).text}
    texts = (
        f"{make('size', size).text} {float(share):g}%"
        for size, share in zip(sizes, parts[1::2], strict=False)
    )
    return {"size": f"sizes {{ {', '.join(texts)} }}"}


def _range(workload: Definition, findings: Findings) -> Clauses:
    """`range=(10,20)` in percent."""
    setting = workload.settings["range"]
    try:
        low, high = (float(part.rstrip("%")) for part in setting.listed)
    except ValueError:
        findings.loss(f"range={setting.value} is left out", setting.span)
        return {}
    return {"region": f"region {low:g}%..{high:g}%"}


def _bytes(text: str) -> int:
    """`4k`, `1m`: units of 1024."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    return int(found[1]) * UNITS.get(found[2], 1) if found else 0


def _seconds(text: str, default: int) -> int:
    """A bare number is seconds."""
    found = re.fullmatch(r"(\d+)([smh]?)", text.strip().lower())
    return int(found[1]) * SECONDS.get(found[2] or "s", 1) if found else default


def _number(text: str, default: int) -> int:
    found = re.match(r"\d+", text.strip())
    return int(found[0]) if found else default
