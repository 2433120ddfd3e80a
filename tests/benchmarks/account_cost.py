"""What does the account of a drive's state cost? Its share of the CPU time of a session.

    PYTHONPATH=tests/support .venv/bin/python tests/benchmarks/account_cost.py FOLDER [TIMES]

The CPU time of its thread in each call of the account, over that of ioplan and its
engine together, in the same session of writes that track steady state every 200 ms.
FOLDER gets a scratch file of 256 MiB.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from time import thread_time
from typing import Any
from unittest.mock import patch

from command import ioplan, plan_file
from fooled import last_records

from ioplan.runner.state.account_keeper import AccountKeeper

UNTIL = "until steady iops every 200ms, at most 8 passes, over 20, range 0.01%"
PLAN = (
    f'on unsteady continue\ntest "T" {{ run random 4KiB 0/100, qd 16 for 3s, {UNTIL} }}'
)


def cpu_s() -> float:
    used = map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(work: Callable[..., Any], spent_s: list[float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        begin_s = thread_time()
        try:
            return work(*arguments)
        finally:
            spent_s.append(thread_time() - begin_s)

    return call


def main(folder: Path, times: int) -> None:
    plan, store, shares = plan_file(folder, PLAN), folder / "store", []
    call = ("--target", folder / "scratch", "--create", "256MiB", "--interval", "100ms")
    for _ in range(times):
        spent_s, before_s = list[float](), cpu_s()
        with ExitStack() as stack:
            for name in ("add", "end", "standing", "state"):
                work = timed(getattr(AccountKeeper, name), spent_s)
                stack.enter_context(patch.object(AccountKeeper, name, work))
            done = ioplan("run", plan, *call, "-q", "--store", store)
        assert done.code == 0, done.err
        total_s, ios = cpu_s() - before_s, last_records(store)[-1].total.ios
        shares.append(100 * sum(spent_s) / total_s)
        own_us, all_us = 1e6 * sum(spent_s) / ios, 1e6 * total_s / ios
        print(f"{own_us:.3f} of {all_us:.2f} us per I/O: {shares[-1]:.2f} %")
    print(f"median {median(shares):.2f} %, at most {max(shares):.2f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int((sys.argv[2:] or ["10"])[0]))
