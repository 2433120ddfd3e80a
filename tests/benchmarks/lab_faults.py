"""The fault table of docs/labs.md: `sudo python tests/benchmarks/lab_faults.py [WORD…]`.

Two hosts are folders, in network namespaces where root may make them, with PostgreSQL in a
third; each has a worker and a drive, a scratch file. Words choose the rows that have one of
them. All rows take about 20 minutes; a row that fails is printed with what was wrong.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from lab_faults import FAULTS, Fault, tried
from lab_links import LACKING
from small_lab import small_lab

HEAD = """| fault | each cell once | `status` = count | away | complete after | by hand |
|---|---|---|---|---|---|"""


def main(words: list[str]) -> int:
    """Print a line for each row; 1 if one has failed."""
    has = {
        "": True,
        "links": not LACKING,
        "disks": not os.geteuid(),
        "clock": bool(shutil.which("cc")),
    }
    print(HEAD, flush=True)
    faults = [
        (name, fault)
        for name, fault in FAULTS.items()
        if not words or any(word in name for word in words)
    ]
    failed = [name for name, fault in faults if not line(name, fault, has)]
    return bool(failed)


def line(name: str, fault: Fault, has: dict[str, bool]) -> bool:
    """Each row has a lab of its own, so that none sees what is left of another."""
    if not has[fault.needs]:
        print(f"| {name} | left out here | | | | |", flush=True)
        return True
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        place = Path(folder) / "lab"
        wanted = {"linked": has["links"], "disks": has["disks"]}
        try:
            with small_lab(place, "io_uring", clock=has["clock"], **wanted) as lab:
                row = tried(lab, fault)
        except Exception as error:
            print(f"| {name} | FAILED: {error!r:.3000} | | | | |", flush=True)
            return False
    counted = f"{row.agreed} of {row.agreed}"
    cells = (f"{row.cells} of {row.cells}", counted, str(row.away or ""))
    print(
        f"| {name} | {' | '.join(cells)} | {row.complete_s:.0f} s | {fault.by_hand} |",
        flush=True,
    )
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
