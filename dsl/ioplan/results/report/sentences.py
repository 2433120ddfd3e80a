"""A run, a preparation, a steady state: each in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ioplan.core.text import counted, printable
from ioplan.core.units import (
    bandwidth_text,
    bytes_text,
    digits,
    latency_text,
    metric_text,
    share_text,
    time_text,
    without_underscores,
)
from ioplan.language.quantity import size_text
from ioplan.records.record import (
    DirectionResult,
    EventMade,
    RunRecord,
    Steady,
)
from ioplan.records.seek import Found
from ioplan.results.measure.metrics import (
    NO_DETAIL,
    Sample,
    figure,
    verified_of_read_bytes,
)
from ioplan.results.measure.steady_state import WAF
from ioplan.workload import Stream


def place_text(cell: Mapping[str, str], step: str = "") -> str:
    """A named step and a cell as the plan writes them: `later gap=1s`."""
    axes = (f"{name}={without_underscores(value)}" for name, value in cell.items())
    return " ".join(filter(None, (step, *axes)))


# A probe of a seek, and what was found, each in a few words.


def probe_words(record: RunRecord) -> str:
    """`bisect: no (p99 <= 1ms)`: what the probe was for, and what decided it."""
    probed = record.asked.seek
    if probed is None:
        return ""
    how = probed.decision
    decisive = [d.demand for d in probed.demands if how != "yes" and d.decision == how]
    why = f" ({', '.join(decisive)})" if decisive else ""
    return f"{probed.phase}: {how or record.status}{why}"


def found_at(record: RunRecord) -> str:
    """What a seek found, with the cell that it was found in."""
    text = found_line(record.found) if record.found else ""
    return ": ".join(filter(None, (place_text(record.asked.cell), text)))


def found_line(result: Found) -> str:
    """`qd = 24: fails at 25, confirmed; 9 probes`."""
    if result.value is None:
        return f"{result.nothing}; {counted(result.probes, 'probe')}"
    text = f"{result.axis} {result.beyond or '='} {result.text}"
    return without_underscores(f"{text}: {'; '.join(_surety(result))}")


def _surety(result: Found) -> Iterator[str]:
    beyond = "passes up to the end of the range"
    if result.interval:
        beyond = f"95 % interval {result.interval}"
    elif result.no_at is not None:
        beyond = f"fails at {result.no_text}"
    yield f"{beyond}, {'confirmed' if result.confirmed else 'not confirmed'}"
    yield counted(result.probes, "probe")
    if result.undecided:
        yield f"{result.undecided} undecided"
    if not result.monotone:
        yield "not monotone: a value beyond one that fails passes"


def main_result(run: RunRecord) -> tuple[DirectionResult, str]:
    """Reads and writes; where nothing else was done, trims, and that word."""
    trims = run.directions.get("trim")
    return (trims, "trim ") if trims and not run.total.ios else (run.total, "")


def p99_text(result: DirectionResult) -> str:
    """In brackets without support."""
    p99 = result.latency.percentile(99.0) if result.latency else None
    if p99 is None:
        return latency_text(None)
    text = f"{'≥ ' * p99.is_bound}{latency_text(p99.latency_ns)}"
    return text if p99.supported else f"({text})"


def access_text(stream: Stream) -> str:
    """`sequential`, `random`, `random 65%`, `random permuted`, `random shaped`."""
    share = f" {stream.random_percent:g}%" if stream.random_percent < 100 else ""
    if stream.write_random_percent is not None:
        reads, writes = stream.random_percent, stream.write_random_percent
        share = f" ({reads:g}% of the reads, {writes:g}% of the writes)"
    order = " permuted" * stream.permuted + " shaped" * (
        stream.spare_percent is not None
    )
    return f"{stream.pattern}{share}{order}"


def written_text(run: RunRecord) -> str:
    """What a preparation wrote, in what time."""
    stream = run.asked.job.streams[0]
    size = size_text(stream.write_sizes[0].size_bytes)
    state = run.asked.after.name if run.asked.after else ""
    written = f"{bytes_text(run.total.bytes)} in {time_text(run.run_s)}"
    return f"{state}: {access_text(stream)} {size} writes, {written}"


def prepare_line(run: RunRecord, is_brief: bool = False) -> str:
    """What a preparation wrote, how fast, and whether it became steady."""
    text = f"{written_text(run)}, {bandwidth_text(run.total.bandwidth_bytes_per_s)}"
    if is_brief:
        return f"{text}, {run.steady.claim}" if run.steady else text
    waf = figure(WAF, [Sample(run, NO_DETAIL)]).value
    text += "" if waf is None else f", WAF {digits(waf)}"
    return f"{text}, {claim_with_evidence(run.steady)}" if run.steady else text


def verified_line(run: RunRecord) -> str:
    """How many blocks are known to be right; empty without `verify`."""
    verified, read = verified_of_read_bytes(run.streams)
    block = run.asked.job.block_bytes
    return f"verified {verified // block} of {read // block} blocks" if read else ""


def event_line(event: EventMade) -> str:
    """What the lab did, when, how long that took, and how it ended."""
    where = f" on {event.host}" if event.host else ""
    ended = event.error or f"exit code {event.exit_code}"
    took = time_text(event.end_s - event.start_s)
    is_measured = event.start_s >= 0
    at = f"at {time_text(event.start_s)}" if is_measured else "in the warm-up"
    return f'event "{printable(event.name)}"{where} {at}, took {took}: {ended}'


def steady_line(steady: Steady) -> str:
    """The mean once it is steady, until then the last value, and the window beside its
    limits; narrow enough for a line."""
    value = steady.values[-1] if steady.values else None
    value = steady.mean if steady.reached else value
    last = f"{steady.metric} {metric_text(value, steady.unit)}"
    if len(steady.values) < steady.window or not has_all_values(steady):
        return f"{last}; {steady.why}"
    how = "settled" if steady.settled and not steady.reached else steady.claim
    how = how if steady.meets_rule else "not steady"
    return f"{last}, {_spread_text(steady)}: {how}"


def _spread_text(steady: Steady) -> str:
    spread = share_text(steady.range_percent, steady.range_limit_percent)
    slope = share_text(steady.slope_percent, steady.slope_limit_percent)
    return f"range {spread}, slope {slope}"


def claim_with_evidence(steady: Steady) -> str:
    """`steady; 2.3 × capacity written, 100 % of it; WAF 2.9`."""
    return "; ".join(filter(None, (steady.claim, steady.evidence)))


def has_all_values(steady: Steady) -> bool:
    """Whether range and slope mean anything: a round that failed stands as 0."""
    return all(steady.values)


def steady_window_line(steady: Steady, unit: str) -> str:
    """The mean of the window, and its range and slope beside their limits."""
    state = claim_with_evidence(steady)
    if not has_all_values(steady):
        return state
    mean = metric_text(steady.mean, unit)
    return f"{state}; window of {steady.window}: mean {mean}, {_spread_text(steady)}"


def steady_verdict(steady: Steady, rounds: int) -> str:
    """How the rounds ended, and what was missing."""
    evidence = f"; {steady.evidence}" if steady.evidence else ""
    if not steady.reached:
        return f"not steady after {rounds} rounds: {steady.why}{evidence}"
    word, _, limits = steady.claim.partition(", ")
    over = f"{word} over rounds {rounds - steady.window + 1} to {rounds}"
    return f"{over}{', ' if limits else ''}{limits}{evidence}"
