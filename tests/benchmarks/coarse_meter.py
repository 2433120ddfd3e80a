"""A shaped write and the step after it, by a drive's log that is coarse or late.

    python tests/benchmarks/coarse_meter.py [--spare 28]

The log counts in steps that ioplan does not know, or is renewed only so often. The run
after the step is compared with that on the same drive with an exact log. Held: the step
did not end steady, or the run is as it should be.
"""

from __future__ import annotations

import argparse
import sys

from benchmark_row import tell
from stated_spare import LIMIT_PERCENT, METRICS, Found, measured

SPARES = (7, 15, 28)
LOGS = {
    "steps of 32 MiB": 'step = "32MiB"',
    "steps of 256 MiB": 'step = "256MiB"',
    "steps of 1 GiB": 'step = "1GiB"',
    "every 1 s": 'every = "1s"',
    "every 5 s": 'every = "5s"',
    "every 1 min": 'every = "1min"',
}


def main() -> None:
    """Print a row a drive, way to state its spare, and log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spare", type=int, choices=SPARES, action="append")
    for spare in parser.parse_args().spare or SPARES:
        for stated in (f"{spare}%", "auto"):
            exact = measured(spare, stated)
            for name, log in LOGS.items():
                report(spare, stated, name, measured(spare, stated, log), exact)


def report(spare: int, stated: str, name: str, found: Found, exact: Found) -> None:
    """What a log does to the state that is reached."""
    off = found.off(exact)
    told = ", ".join(
        f"{metric} {percent:+.1f} %"
        for metric, percent in zip(METRICS[:2], off, strict=False)
    )
    tell(
        f"spare {spare} %, stated {stated}, {name}",
        f"{found.why or 'steady'} after {found.passes:.2f} passes "
        f"(exact: {exact.why or 'steady'} after {exact.passes:.2f}): {told}",
        f"not steady, or within {LIMIT_PERCENT:g} %",
        held=bool(found.why) or max(map(abs, off[:2])) <= LIMIT_PERCENT,
    )


if __name__ == "__main__":
    sys.exit(main())
