"""Results as fio's normal and terse output (version 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ioplan_importer.fio_command.as_json import VERSION
from ioplan_importer.fio_command.results import (
    DIRECTIONS,
    DirectionFigures,
    JobFigures,
    shares,
)

KIB, US_NS = 1024, 1000
PREFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
DECIMAL = ("", "k", "M", "G", "T", "P")
PER_LINE = 4
TERSE_PERCENTILES = 20


def normal(jobs: Sequence[JobFigures]) -> str:
    """What fio prints for people."""
    lines = [_head(one) for one in jobs]
    lines += [VERSION, ""]
    for one in jobs:
        lines += [*_job(one)]
    for group, members in groupby(jobs, key=lambda one: one.place.group):
        lines += ["", f"Run status group {group} (all jobs):", *_status([*members])]
    return "\n".join(lines) + "\n"


def _head(one: JobFigures) -> str:
    job = one.place.job
    size = job.text("bs") or "4096"
    return (
        f"{job.title}: (g={one.place.group}): rw={job.text('rw') or 'read'}, "
        f"bs={size}, ioengine={one.record.backend.name}, "
        f"iodepth={job.at_least_1('iodepth')}"
    )


def _job(one: JobFigures) -> Iterator[str]:
    error = 0 if one.record.status == "ok" else 5
    threads = one.place.job.at_least_1("numjobs")
    yield (
        f"{one.place.job.title}: (groupid={one.place.group}, jobs={threads}): "
        f"err={error:2d}: {one.record.started_at}"
    )
    for name, part in one.directions.items():
        if part.ios:
            yield from _direction(name, part)
    if one.sync.ios:
        yield "  fsync/fdatasync/sync_file_range:"
        yield from _latency("sync", one.sync)
    for unit, told in (("usec", "latency_us"), ("msec", "latency_ms")):
        found = {e: share for e, share in shares(one)[told].items() if share}
        if found:
            texts = (f"{edge}={share:.2f}%" for edge, share in found.items())
            yield f"  lat ({unit})   : {', '.join(texts)}"
    yield (
        f"  cpu          : usr={one.user_percent:.2f}%, sys={one.system_percent:.2f}%, "
        f"ctx=0, majf=0, minf=0"
    )
    counts = ",".join(str(part.ios) for part in one.directions.values())
    yield (
        f"     issued rwts: total={counts},{one.sync_ios} short=0,0,0,0 dropped=0,0,0,0"
    )


def _direction(name: str, one: DirectionFigures) -> Iterator[str]:
    rate = one.bytes / one.run_s
    yield (
        f"  {name}: IOPS={_number(one.ios / one.run_s)}, BW={_binary(rate)}/s "
        f"({_decimal(rate)}/s)({_binary(one.bytes)}/{round(1000 * one.run_s)}msec)"
    )
    yield from _latency("clat", one)
    yield from _samples(one)


def _latency(name: str, one: DirectionFigures) -> Iterator[str]:
    unit, factor = _unit(one.moments[2])
    least, most, mean, deviation = one.moments
    yield (
        f"    {name} ({unit}): min={least // factor}, max={most // factor}, "
        f"avg={mean / factor:.2f}, stdev={deviation / factor:.2f}"
    )
    yield f"    {name} percentiles ({unit}):"
    told = [f"{p:5.2f}th=[{ns // factor:5d}]" for p, ns in one.percentiles.items()]
    lines = [", ".join(part) for part in _lines_of(told)]
    yield from (f"     | {line}{',' * (line is not lines[-1])}" for line in lines)


def _lines_of(told: Sequence[str]) -> Iterator[Sequence[str]]:
    """So many a line."""
    return (told[at : at + PER_LINE] for at in range(0, len(told), PER_LINE))


def _samples(one: DirectionFigures) -> Iterator[str]:
    for title, rates, unit in (
        ("bw (  KiB/s)", one.bandwidth, KIB),
        ("iops       ", one.iops, 1),
    ):
        if rates.values:
            per = " per=100.00%," if unit == KIB else ""
            yield (
                f"   {title}: min={int(rates.least / unit)}, "
                f"max={int(rates.most / unit)},{per} avg={rates.mean / unit:.2f}, "
                f"stdev={rates.deviation / unit:.2f}, samples={len(rates.values)}"
            )


class Sum(NamedTuple):
    """Sums of one direction over the jobs of a group."""

    bytes: int
    rates: list[float]
    runs_ms: list[int]


def _status(jobs: Sequence[JobFigures]) -> Iterator[str]:
    for name in DIRECTIONS:
        parts = [p for one in jobs if (p := one.directions[name]).ios]
        if parts:
            rates = [part.bytes / part.run_s for part in parts]
            yield _status_line(
                name,
                Sum(
                    sum(part.bytes for part in parts),
                    rates,
                    [round(1000 * part.run_s) for part in parts],
                ),
            )


def _status_line(name: str, found: Sum) -> str:
    whole, ends = sum(found.rates), (min(found.rates), max(found.rates))
    low, high = (_binary(one) + "/s" for one in ends)
    low_10, high_10 = (_decimal(one) + "/s" for one in ends)
    return (
        f"{name.upper():>7}: bw={_binary(whole)}/s ({_decimal(whole)}/s), {low}-{high} "
        f"({low_10}-{high_10}), io={_binary(found.bytes)} ({_decimal(found.bytes)}), "
        f"run={min(found.runs_ms)}-{max(found.runs_ms)}msec"
    )


def _unit(mean_ns: float) -> tuple[str, int]:
    """As fio's `num2str` of latencies: whole ones of at least four digits."""
    if mean_ns < 10_000:
        return "nsec", 1
    return ("usec", US_NS) if mean_ns < 10_000_000 else ("msec", 1_000_000)


def _scaled(value: float, base: int, prefixes: Sequence[str]) -> tuple[str, str]:
    at = 0
    while value >= base and at < len(prefixes) - 1:
        value, at = value / base, at + 1
    digits = 0 if at == 0 or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}", prefixes[at]


def _number(value: float) -> str:
    return "".join(_scaled(value, 1000, DECIMAL)) if value >= 10_000 else f"{value:.0f}"


def _binary(value: float) -> str:
    number, prefix = _scaled(value, KIB, PREFIXES)
    return f"{number}{prefix}B"


def _decimal(value: float) -> str:
    number, prefix = _scaled(value, 1000, DECIMAL)
    return f"{number}{prefix}B"


def terse(jobs: Sequence[JobFigures]) -> str:
    """A line for each job, version 3: fields as in fio's HOWTO, latencies in us."""
    return "".join(";".join(_terse(one)) + "\n" for one in jobs)


def _terse(one: JobFigures) -> Iterator[str]:
    yield from ("3", VERSION, one.place.job.title, str(one.place.group))
    yield "0" if one.record.status == "ok" else "5"
    for name in ("read", "write"):
        yield from _terse_direction(one.directions[name])
    yield from (f"{one.user_percent:.6f}%", f"{one.system_percent:.6f}%", "0", "0", "0")
    yield from (f"{100.0 if n == 0 else 0.0:.1f}%" for n in range(7))
    found = shares(one)
    for unit in ("latency_us", "latency_ms"):
        yield from (f"{share:.2f}%" for share in found[unit].values())


def _terse_direction(one: DirectionFigures) -> Iterator[str]:
    rate = one.bytes / one.run_s if one.run_s else 0.0
    yield from (str(one.bytes // KIB), str(int(rate) // KIB))
    yield str(int(one.ios / one.run_s) if one.run_s else 0)
    yield str(round(1000 * one.run_s) if one.ios else 0)
    yield from _terse_moments((0, 0, 0.0, 0.0))
    yield from _terse_moments(one.moments)
    told = [f"{p:.6f}%={ns // US_NS}" for p, ns in one.percentiles.items()]
    yield from (told + ["0%=0"] * TERSE_PERCENTILES)[:TERSE_PERCENTILES]
    yield from _terse_moments(one.moments)
    known = one.bandwidth
    yield from (str(int(known.least / KIB)), str(int(known.most / KIB)))
    yield f"{100.0 if known.values else 0.0:.6f}%"
    yield from (f"{known.mean / KIB:.6f}", f"{known.deviation / KIB:.6f}")


def _terse_moments(moments: tuple[int, int, float, float]) -> Iterator[str]:
    least, most, mean, deviation = moments
    yield from (str(least // US_NS), str(most // US_NS))
    yield from (f"{mean / US_NS:.6f}", f"{deviation / US_NS:.6f}")
