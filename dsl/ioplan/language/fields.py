"""What a quantity sets in a stream: each function is one clause's conversion.

Clauses (`qd 32`), axes (`vary qd in …`) and names that an axis decides (`qd depth`)
use the same one, so that all three mean the same. Each raises QuantityError.
"""

from __future__ import annotations

import re
from typing import Any

from ioplan.language.quantity import (
    EXAMPLES,
    KIND_NAMES,
    SECTOR_BYTES,
    Kind,
    Quantity,
    QuantityError,
    size_text,
)
from ioplan.workload import Data, Normal, Pareto, SizeShare, Zipf

WHOLE_PERCENT = 100.0
MOST_IO_BYTES = 1 << 30
MOST_QD = 65536
MOST_THREADS = 4096

VARIATIONS = 0.01, 100.0
MOST_SYNC = 1_000_000_000
MOST_ERRORS = 1_000_000_000
MOST_RETRIES = 100
LEAST_SPARE, MOST_SPARE = 1, 100
MOST_HANG_NS = 3600 * 1_000_000_000

Attributes = dict[str, Any]


def of_kind(quantity: Quantity, what: str, *kinds: Kind, unit: str = "") -> Quantity:
    """The quantity, if it is of the right kind; `unit` is the usual one there.

    Raises QuantityError.
    """
    if quantity.kind in kinds:
        return quantity
    if quantity.kind == "number" and kinds[0] != "number":
        example = (unit and quantity.text + unit) or _with_unit(quantity, kinds[0])
        raise QuantityError(
            f"{what} needs a unit: {quantity.text} of what?",
            f"write for example {example}",
        )
    wanted = " or ".join(KIND_NAMES[kind] for kind in kinds)
    example = " or ".join(_with_unit(quantity, kind) for kind in kinds)
    raise QuantityError(
        f"{what} is {wanted}, not {KIND_NAMES[quantity.kind]}",
        f"write for example {example}",
    )


UNITS: dict[Kind, str] = {
    **{"size": "KiB", "time": "s", "share": "%", "passes": " passes"},
    **{"iops": " iops", "bandwidth": "MiB/s", "number": ""},
}


NUMBER = re.compile(r"[0-9][0-9_]*(\.[0-9]+)?")


def _with_unit(quantity: Quantity, kind: Kind) -> str:
    """The number that was written, as a quantity of the kind, if it can be one."""
    number = NUMBER.match(quantity.text)
    if not number or kind not in UNITS or quantity.kind == "mix":
        return EXAMPLES[kind]
    if kind == "share":
        return f"{number[0]}%" if float(number[0]) <= 100 else EXAMPLES[kind]
    if not float(number[0]):
        return EXAMPLES[kind]
    unit = " pass" if (number[0], kind) == ("1", "passes") else UNITS[kind]
    return f"{number[0]}{unit}"


def count(quantity: Quantity, what: str, most: int) -> int:
    """A whole number from 1 to `most`. Raises QuantityError."""
    number = of_kind(quantity, what, "number").whole
    if number is None or not 1 <= number <= most:
        raise QuantityError(f"{what} is a whole number from 1 to {most}")
    return number


def io_size(quantity: Quantity, what: str = "a block size") -> int:
    """The bytes of one I/O. Raises QuantityError."""
    size = int(of_kind(quantity, what, "size").value)
    if size % SECTOR_BYTES or not size:
        raise QuantityError(
            f"{size} B is not a multiple of {SECTOR_BYTES} B", _near_size(size)
        )
    if size > MOST_IO_BYTES:
        raise QuantityError(f"{what} is at most {size_text(MOST_IO_BYTES)}")
    return size


def _near_size(size: int) -> str:
    """4KB meant 4KiB; anything else meant the next multiple."""
    for power, decimal in ((10, 10**3), (20, 10**6), (30, 10**9)):
        if size and size % decimal == 0 and size // decimal < 1000:
            return f"did you mean {size_text((size // decimal) << power)}?"
    above = -(-max(size, 1) // SECTOR_BYTES) * SECTOR_BYTES
    return f"did you mean {size_text(above)}?"


def percent(quantity: Quantity, what: str) -> float:
    """A share from 0 to 100 %. Raises QuantityError."""
    share = float(of_kind(quantity, what, "share").value)
    if share > 100:
        raise QuantityError(f"{what} is at most 100 %")
    return share


def region_edge(quantity: Quantity) -> tuple[float, int]:
    """An edge of a region: a share of the target in percent, or bytes."""
    edge = of_kind(quantity, "a region's edge", "share", "size")
    if edge.kind == "share":
        return percent(edge, "a region's edge"), 0
    if int(edge.value) % SECTOR_BYTES:
        raise QuantityError(
            f"{edge.text} is not a multiple of {SECTOR_BYTES} B",
            _near_size(int(edge.value)),
        )
    return 0.0, int(edge.value)


def random_share(quantity: Quantity) -> Attributes:
    """How much of a random stream's I/O is drawn, and does not go on."""
    share = percent(quantity, "a share of random I/O")
    if not share:
        raise QuantityError(
            "a share of random I/O must be more than 0 %", "or: sequential"
        )
    return {"read_random": share, "write_random": share}


def read_random(quantity: Quantity) -> Attributes:
    """How much of a random stream's reads is drawn; of none of them, they go on."""
    return {"read_random": percent(quantity, "a share of random reads")}


def write_random(quantity: Quantity) -> Attributes:
    """The share of writes that are random."""
    return {"write_random": percent(quantity, "a share of random writes")}


def one_size(quantity: Quantity) -> Attributes:
    """The block size of both directions."""
    sizes = (SizeShare.model_construct(size_bytes=io_size(quantity), percent=100.0),)
    return {"read_sizes": sizes, "write_sizes": sizes}


def align(quantity: Quantity) -> Attributes:
    """The alignment of offsets."""
    return {"align_bytes": io_size(quantity, "an alignment")}


def mix(quantity: Quantity) -> Attributes:
    """Reads and writes in percent."""
    return {"read_percent": float(of_kind(quantity, "a mix", "mix").value)}


def rate(quantity: Quantity) -> Attributes:
    """An open-loop rate: its kind and its value."""
    of_kind(quantity, "a rate", "iops", "bandwidth")
    if quantity.value <= 0:
        raise QuantityError("a rate must be more than 0")
    return {"rate": (quantity.kind, float(quantity.value))}


def gap_variation(quantity: Quantity) -> float:
    """The variation of gamma arrivals: the standard deviation of a gap over the mean.

    Raises QuantityError.
    """
    value = float(of_kind(quantity, "the variation of gaps", "number").value)
    least, most = VARIATIONS
    if not least <= value <= most:
        raise QuantityError(
            f"the variation of gaps is from {least:g} to {most:g}",
            "1 is that of poisson, more are bursts",
        )
    return value


def phase_rate(quantity: Quantity) -> tuple[Kind, float]:
    """The rate of a phase, which may be none, and its kind. Raises QuantityError."""
    of_kind(quantity, "a rate", "iops", "bandwidth")
    return quantity.kind, float(quantity.value)


def phase_length(quantity: Quantity) -> int:
    """How long a phase is, in ns. Raises QuantityError."""
    length_ns = round(of_kind(quantity, "a phase", "time").value)
    if not length_ns:
        raise QuantityError(
            "a phase must be longer than 0", "for example 5s of 1_000 iops"
        )
    return length_ns


def zipf(quantity: Quantity) -> Attributes:
    """A Zipf distribution of offsets."""
    theta = float(of_kind(quantity, "zipf", "number").value)
    if not 0 < theta <= 5:
        raise QuantityError("zipf is a number above 0, at most 5", "for example 1.1")
    return {"distribution": Zipf.model_construct(theta=theta)}


def pareto(quantity: Quantity) -> Attributes:
    """A Pareto distribution of offsets."""
    h = float(of_kind(quantity, "pareto", "number").value)
    if not 0 < h < 1:
        raise QuantityError("pareto is a number between 0 and 1", "for example 0.2")
    return {"distribution": Pareto.model_construct(h=h)}


def normal(quantity: Quantity) -> Attributes:
    """A normal distribution of offsets."""
    deviation = percent(quantity, "normal")
    if not deviation:
        raise QuantityError("the deviation must be more than 0 %", "for example 10%")
    return {"distribution": Normal.model_construct(deviation_percent=deviation)}


def pause(quantity: Quantity) -> Attributes:
    """The think time of a closed loop. Raises QuantityError."""
    pause_ns = round(of_kind(quantity, "a pause", "time").value)
    if not pause_ns:
        raise QuantityError("a pause must be longer than 0", "for example pause 5ms")
    return {"pause_ns": pause_ns}


class AutoSpare(float):
    """A spare to begin with, where the drive is to show its own."""


AUTO_SPARE = AutoSpare(7.0)


def spare(quantity: Quantity) -> Attributes:
    """Flash beyond the capacity, as a share of it. Raises QuantityError."""
    share = float(of_kind(quantity, "a spare", "share").value)
    if not LEAST_SPARE <= share <= MOST_SPARE:
        raise QuantityError(
            f"a spare is from {LEAST_SPARE} % to {MOST_SPARE} % of the capacity, not "
            f"{quantity.text}",
            "for example spare 7%",
        )
    return {"spare_percent": share}


def errors_allowed(quantity: Quantity) -> Attributes:
    """How many I/Os of a stream may fail: a number, or a share of them."""
    if of_kind(quantity, "errors allowed", "number", "share").kind == "number":
        return {"errors_allowed": count(quantity, "errors allowed", MOST_ERRORS)}
    share = percent(quantity, "errors allowed")
    if not share:
        raise QuantityError("errors allowed must be more than 0 %", "or leave it out")
    return {"errors_allowed_percent": share}


def retry(quantity: Quantity) -> Attributes:
    """How often an I/O that fails is issued again. Raises QuantityError."""
    return {"retries": count(quantity, "retry", MOST_RETRIES)}


def speed(quantity: Quantity) -> Attributes:
    """How many times as fast a trace is replayed. Raises QuantityError."""
    factor = of_kind(quantity, "a speed", "number").value
    if not 0.001 <= factor <= 1000:
        raise QuantityError(f"a speed is from 0.001 to 1000, not {quantity.text}")
    return {"speed": float(factor)}


def hang(quantity: Quantity) -> Attributes:
    """How long an I/O may take. Raises QuantityError."""
    hang_ns = round(of_kind(quantity, "a hang", "time").value)
    if not 0 < hang_ns <= MOST_HANG_NS:
        raise QuantityError("a hang is up to 1h", "for example hang 2min")
    return {"hang_ns": hang_ns}


def starts(quantity: Quantity) -> Attributes:
    """When the stream's part of a run begins. Raises QuantityError."""
    start_ns = of_kind(quantity, "a start", "time").value
    if not start_ns:
        raise QuantityError("'starts after' must be more than 0", "or leave it out")
    return {"starts_ns": round(start_ns)}


def ends(quantity: Quantity) -> Attributes:
    """When it expires. Raises QuantityError."""
    end_ns = of_kind(quantity, "an end", "time").value
    if not end_ns:
        raise QuantityError("'ends after' must be more than 0", "for example 30s")
    return {"ends_ns": round(end_ns)}


def data_of(kind: str, share: float = 0.0) -> Attributes:
    """What is written."""
    return {"data": Data.model_construct(kind=kind, percent=share)}
