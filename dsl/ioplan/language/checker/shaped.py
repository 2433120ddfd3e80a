"""Checks shaped writes: only where the model of steady state holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ioplan.language.checker.scope import Scope
from ioplan.language.checker.timing import Timing
from ioplan.language.plan import PrepareStep, StreamTemplate, WriteStep
from ioplan.language.quantity import size_text
from ioplan.language.syntax import tree
from ioplan.workload import Region, Stream, Workload


def check_unshaped(streams: tuple[StreamTemplate, ...], scope: Scope) -> None:
    """A run is measured while it goes on, and a shaped pass is never steady."""
    for stream in streams:
        if stream.attributes.get("spare_percent"):
            scope.findings.error(
                "only a precondition's write is shaped",
                stream.spans["shaped"],
                "precondition steady { write random 4KiB shaped, spare 7% }",
            )


def shaped_limits(
    made: Workload, timing: Timing, step: tree.Write, scope: Scope
) -> dict[str, float] | None:
    """Its length follows from the spare; None after errors."""
    errors = scope.findings.error_count
    for clause in timing.values():
        scope.findings.error(
            "a shaped write has the length of one pass over the flash",
            clause.span,
            "remove it; `write random 4KiB until steady …` may follow as a step",
        )
    if len(made.streams) > 1:
        scope.findings.error("a shaped write is one stream", step.span)
    stream = made.streams[0]
    for why in unlike_the_model(stream):
        scope.findings.error(
            f"the model of a shaped write does not hold: {why}",
            step.span,
            "write random 4KiB, 2 passes, then until steady iops every 1min, …",
        )
    if scope.findings.error_count > errors:
        return None
    return {"passes": 1 + (stream.spare_percent or 0.0) / 100}


def check_found_spare(
    steps: list[PrepareStep], node: tree.Precondition, scope: Scope
) -> None:
    """What `spare auto` leaves open is found by the next step, by its amplification."""
    for one, then in pairwise((*steps, None)):
        if isinstance(one, WriteStep) and one.finds_spare and not _finds(one, then):
            size = size_text(max(one.workload.streams[0].sizes_bytes))
            scope.findings.error(
                "'spare auto' is found by the next step, in writes of the same size",
                node.span,
                f"add after it: write random {size}, qd 32, until steady waf every 1%, "
                "at most 2 passes",
            )


def _finds(shaped: WriteStep, then: PrepareStep | None) -> bool:
    if (
        not isinstance(then, WriteStep)
        or not then.rule
        or len(shaped.workload.streams) > 1
    ):
        return False
    (own, *others), stream = then.workload.streams, shaped.workload.streams[0]
    is_waf = then.rule.metric.name == "waf" and own.sizes_bytes == stream.sizes_bytes
    return is_waf and not others and not [*unlike_the_model(own)]


def unlike_the_model(stream: Stream) -> Iterator[str]:
    """What the model assumes: each page of the drive is written next alike likely."""
    if stream.pattern != "random":
        yield "sequential writes leave no blocks with stale pages"
    elif stream.goes_on:
        yield "writes that go on from the last one are not independent"
    if stream.distribution.kind != "uniform":
        yield "with hot and cold data, the age of a block does not tell what is valid"
    if len(stream.sizes_bytes) > 1:
        yield "writes of several sizes overlap"
    elif stream.align_bytes and stream.align_bytes % min(stream.sizes_bytes):
        yield "writes that are not aligned to their size overlap"
    if stream.region != Region():
        yield "what is outside the region is spare, too, or cold"
    if stream.trim_percent:
        yield "what is discarded is spare, too"
    if stream.permuted or stream.verify:
        yield "blocks are written again within the pass"
