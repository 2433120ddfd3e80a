"""What it costs `verify` to note in a file what is promised.

    .venv/bin/python tests/benchmarks/cost_of_promises.py

Of the verifier's own thread, by a test of the engine.
"""

import re
import subprocess
from pathlib import Path

from benchmark_row import tell

ENGINE = Path(__file__).parents[2] / "plugins/io_uring/engine"
TEST = [
    "cargo",
    "test",
    "--release",
    "--",
    "--ignored",
    "--nocapture",
    "cost_of_promises",
]
FOUND = re.compile(r"(\d+) ns with promises, (\d+) ns without: (\S+) \((\S+) to (\S+),")
AIM = 1.3


def in_a_file() -> None:
    """The row of the verifier's own thread."""
    found = FOUND.search(
        subprocess.run(
            TEST, cwd=ENGINE, capture_output=True, text=True, check=True
        ).stdout
    )
    if not found:
        raise SystemExit("the engine's test printed no figure")
    with_ns, without_ns, ratio, low, high = found.groups()
    tell(
        "`verify`, CPU time of a write with promises noted in a file over without",
        f"{ratio} ({low} to {high}, {with_ns} ns over {without_ns})",
        f"at most {AIM}",
        held=float(ratio) <= AIM,
    )


if __name__ == "__main__":
    in_a_file()
