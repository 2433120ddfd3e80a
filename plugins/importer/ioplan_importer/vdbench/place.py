"""Where vdbench's I/O goes, and how: parts of luns, open flags, hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioplan.language import SECTOR_BYTES, make
from ioplan_importer.findings import Findings
from ioplan_importer.outline import Clauses
from ioplan_importer.vdbench.parameters import Definition, Setting, bytes_of
from ioplan_importer.vdbench.vocabulary import LOCAL_HOSTS

FLAGS = "openflags"
DIRECT = ("o_direct", "directio")
SYNC = ("o_sync", "o_dsync")
LEFT_OUT = "is left out: the host that runs the plan does its I/O"
ON_HOSTS = "a plan's stream may say `on hosts NAME`; see the lab file"
PLACE = ("size", "offset", "range", "align")


def region_of(
    workload: Definition, storage: Sequence[Definition], findings: Findings
) -> Clauses:
    """The part of the target, by the storage definitions and the workload's range."""
    first = storage[0].settings if storage else {}
    for other in storage[1:]:
        for name in PLACE:
            mine, its = first.get(name), other.settings.get(name)
            if (mine and mine.value) != (its and its.value):
                findings.loss(
                    f"{name} is not the same on all luns: all have that of "
                    f"{storage[0].name} here",
                    its.span if its else other.span,
                )
    size = _bytes(first, "size", findings)
    offset = _bytes(first, "offset", findings)
    share = workload.settings.get("range") or first.get("range")
    text = _text(offset, size, share, findings)
    return {"region": f"region {text}"} if text else {}


def align_of(storage: Sequence[Definition], findings: Findings) -> Clauses:
    """Offsets of random I/O as multiples of more than its size."""
    found = _bytes(storage[0].settings, "align", findings) if storage else 0
    return {"align": f"align {make('size', found).text}"} if found else {}


def _bytes(settings: Mapping[str, Setting], name: str, findings: Findings) -> int:
    """A size of whole sectors; 0 where none is said, or none can be."""
    if name not in settings:
        return 0
    setting = settings[name]
    found = bytes_of(setting.value)
    if found and not found % SECTOR_BYTES:
        return found
    if setting.value.strip() != "0":
        findings.error(
            f"{name}={setting.value} is no size of sectors of {SECTOR_BYTES} B, and is "
            f"left out",
            setting.span,
        )
    return 0


def _text(
    offset: int, size: int, share: Setting | None, findings: Findings
) -> str | None:
    """`0B..10GiB`, `10%..50%`; None for the whole target."""
    low, high = _edges(share, findings) if share else (0.0, 100.0)
    if share and high > 100:  # bytes
        edges = [offset + int(low), offset + int(high)]
    elif size:
        edges = [offset + _sectors(size * edge / 100) for edge in (low, high)]
    elif offset:
        if share:
            findings.loss(
                f"range={share.value} is left out: the size of the lun is not known",
                share.span,
                "write the size of the lun: size=10g",
            )
        return f"{make('size', offset).text}..100%"
    else:
        return f"{low:g}%..{high:g}%" if share else None
    return "..".join(make("size", edge).text for edge in edges)


def _sectors(count: float) -> int:
    return int(count) // SECTOR_BYTES * SECTOR_BYTES


def _edges(share: Setting, findings: Findings) -> tuple[float, float]:
    """Percent, or bytes where the second is more than 100."""
    texts = [text.rstrip("%") for text in share.listed]
    try:
        low, high = (bytes_of(t) if t[-1:].isalpha() else float(t) for t in texts)
    except ValueError:
        low, high = 0.0, 0.0
    if 0 <= low < high:
        return low, high
    findings.error(
        f"range={share.value} is no range such as (10,50), and is left out", share.span
    )
    return 0.0, 100.0


def sync_of(parts: Sequence[Definition], reads: bool, findings: Findings) -> Clauses:
    """A flush after each write where luns are opened so; other flags are told.

    `parts` are the run, the workload and its storage: the first that says flags counts.
    """
    said = [one.settings[FLAGS] for one in parts if FLAGS in one.settings]
    flags = [flag.lower() for setting in said[:1] for flag in setting.listed]
    span = said[0].span if said else parts[-1].span
    if not {*flags} & {*DIRECT}:
        findings.loss(
            "vdbench goes through the page cache without openflags=o_direct; a plan "
            "always does direct I/O",
            span,
            "with openflags=o_direct both do the same",
        )
    for flag in flags:
        if flag not in (*DIRECT, *SYNC):
            help = "a plan knows direct I/O, and flushes: sync every 1"
            findings.loss(f"openflags={flag} is left out", span, help)
    durable = next((flag for flag in flags if flag in SYNC), None)
    if not durable or reads:
        return {}
    findings.loss(
        f"with {durable} a write is complete when it is durable; here a flush follows "
        f"each write",
        span,
    )
    return {"sync": "sync every 1"}


def tell_hosts(definitions: Sequence[Definition], findings: Findings) -> None:
    """A plan's I/O is done by the host that runs it."""
    for one in definitions:
        if one.kind == "hd" and "system" not in one.settings and _is_away(one.name):
            findings.loss(f"hd={one.name} {LEFT_OUT}", one.span, ON_HOSTS)
        for name in ("system", "host", "hd"):
            setting = one.settings.get(name)
            if setting and any(map(_is_away, setting.listed)):
                text = f"{setting.span.text} {LEFT_OUT}"
                findings.loss(text, setting.span, ON_HOSTS)


def _is_away(host: str) -> bool:
    return host not in (*LOCAL_HOSTS, "default")
