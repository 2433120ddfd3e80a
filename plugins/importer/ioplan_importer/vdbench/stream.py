"""A workload definition of vdbench as the clauses of one stream."""

from __future__ import annotations

import re

from ioplan.language import SECTOR_BYTES, make, size_text
from ioplan_importer.findings import Findings
from ioplan_importer.outline import Clauses
from ioplan_importer.vdbench.pace import Axes, is_exponential
from ioplan_importer.vdbench.parameters import Definition, Setting, bytes_of

DEFAULT_BYTES = 4096
SEQUENTIAL = {
    **dict.fromkeys(("seq", "sequential"), ""),
    "eof": "vdbench ends the run at the end of the lun; here it goes on from the start",
    "seqnz": "vdbench begins at a place that it draws; here it is the first block",
}
"""Words for I/O in order, with what a plan does otherwise."""


def clauses_of(
    run: Definition,
    workload: Definition,
    axes: Axes,
    threads: int,
    findings: Findings,
) -> Clauses:
    """One workload definition as a stream, but for its place and its run's rate."""
    varied = {axis for axis, _ in axes}
    clauses = _pattern(workload, findings)
    if "size" not in varied:
        clauses |= _sizes(_of_run(run, "xfersize") or workload, findings)
    if "read" not in varied:
        clauses["mix"] = _mix(_of_run(run, "rdpct") or workload, findings)
    if "qd" not in varied:
        clauses["qd"] = f"qd {threads}"
    own = workload.text("iorate")
    if own and own.lower() != "max":
        rate = workload.number("iorate", 1, findings)
        arrivals = " poisson" if is_exponential(run) else ""
        clauses["rate"] = f"rate {make('iops', rate).text}{arrivals}"
    return clauses


def _mix(one: Definition, findings: Findings) -> str:
    if "wrpct" in one.settings:
        writes = one.number("wrpct", 0, findings)
        return make("mix", max(0.0, 100 - writes)).text
    text = one.text("rdpct", "100")
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) > 100:
        findings.error(
            f"rdpct={text} is no share of reads in percent: all are reads here",
            one.settings["rdpct"].span,
        )
        text = "100"
    return make("mix", float(text)).text


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
    if text in SEQUENTIAL:
        if SEQUENTIAL[text]:
            findings.loss(
                f"seekpct={text}: {SEQUENTIAL[text]}", workload.settings["seekpct"].span
            )
        text = "0"
    share = 100.0
    if text and not "random".startswith(text):
        share = 0 if text == "0" else workload.number("seekpct", 100, findings)
    if not share:
        return {"pattern": "sequential"}
    if share >= 100:
        return {"pattern": "random"}
    return {"pattern": "random", "random share": make("share", share).text}


def _sizes(workload: Definition, findings: Findings) -> Clauses:
    """One size, or pairs of a size and its share."""
    setting = workload.settings.get("xfersize")
    parts = setting.listed if setting else [str(DEFAULT_BYTES)]
    sizes = [bytes_of(part) for part in parts]
    if setting and len(parts) == 3 and all(sizes):
        return _drawn_sizes(sizes, setting, findings)
    shares = [_share(part) for part in parts[1::2]]
    is_odd = len(parts) > 1 and len(parts) % 2
    if is_odd or None in shares or not _are_sectors(sizes[::2]):
        findings.error(
            f"xfersize={setting.value if setting else ''} is no size of sectors of "
            f"{SECTOR_BYTES} B, and no list of sizes and their shares: "
            f"{size_text(DEFAULT_BYTES)} here",
            setting.span if setting else workload.span,
        )
        return {"size": size_text(DEFAULT_BYTES)}
    if len(parts) <= 2:
        return {"size": make("size", sizes[0]).text}
    texts = (
        f"{make('size', size).text} {share:g}%"
        for size, share in zip(sizes[::2], shares, strict=True)
    )
    return {"size": f"sizes {{ {', '.join(texts)} }}"}


def _share(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None


def _are_sectors(sizes: list[int]) -> bool:
    return all(one and not one % SECTOR_BYTES for one in sizes)


def _drawn_sizes(sizes: list[int], setting: Setting, findings: Findings) -> Clauses:
    """`(4k,32k,4k)`: drawn from a range, in multiples of the last."""
    low, high, step = sizes
    if not _are_sectors(sizes) or low % step or high % step or low > high:
        findings.error(
            f"xfersize={setting.value} is no range of multiples of its third: "
            f"{size_text(DEFAULT_BYTES)} here",
            setting.span,
        )
        return {"size": size_text(DEFAULT_BYTES)}
    first, last, each = (make("size", one).text for one in sizes)
    return {"size": f"sizes {first}..{last} step {each}", "align": f"align {each}"}
