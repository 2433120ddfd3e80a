"""The table of faults in docs/labs.md: `sudo python tests/cluster/lab_faults.py [WORD]`.

Coordinator, two hosts with sshd and a drive each, and PostgreSQL are four network
namespaces of this machine. In each row a job runs and a fault happens. Afterwards each
cell must be stored once by its host and in the shared store, to the last byte, and
nothing may do I/O any more. Meanwhile `status` is asked again and again: the number it
says must be what `SELECT count(*)` says, unless it says that it cannot ask. All rows
take about half an hour; with a WORD only those are done that have it in their name.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "cluster")]

from fault_rows.rows import FAULTS, row  # noqa: E402
from fault_rows.scene import fault_lab  # noqa: E402
from faults import Fault  # noqa: E402
from netlab import MISSING, NetLab  # noqa: E402
from test_netlab import up  # noqa: E402

HEAD = "| fault | each cell once | `status` = count | complete after | by hand |"


def main(word: str = "") -> int:
    """Print the table; returns how many rows failed."""
    if MISSING:
        print(f"this needs {MISSING}", file=sys.stderr)
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as name, fault_lab(Path(name)) as lab:
        print(f"{HEAD}\n|---|---|---|---|---|", flush=True)
        for what, fault in FAULTS.items():
            if word in what:
                failed += not tried(lab, Path(name), what, fault)
    return failed


def tried(lab: NetLab, folder: Path, what: str, fault: Fault) -> bool:
    try:
        print(f"| {what} | {row(lab, folder, fault)} |", flush=True)
    except Exception:
        print(f"| {what} | FAILED | | | |", flush=True)
        traceback.print_exc()
        return False
    finally:
        up(lab)
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
