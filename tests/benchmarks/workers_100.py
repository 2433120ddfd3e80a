"""What 100 workers on one database cost: `python tests/benchmarks/workers_100.py [N]`.

Each is a host with a role and a connection of its own, all in this process; they report,
fetch and sweep as ever, and have nothing to do. Printed are the connections, and the CPU
that PostgreSQL needs for them; then how long a job takes from `submit` to its host.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from postgres import children
from small_lab import SmallLab, small_lab

from ioplan_lab import Keeper, Worker

FOR_S = 30.0


def main() -> None:
    count = int(sys.argv[1]) if sys.argv[1:] else 100
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        with small_lab(Path(name) / "lab", workers=False) as lab:
            lab.execute(f"ALTER SYSTEM SET max_connections = {2 * count + 40}")
            lab.postgres.stop()
            lab.postgres.start()
            hosts = [f"w{number}" for number in range(count)]
            words = [word for host in hosts for word in ("--host", host)]
            lab.owner.ok("lab", "init", lab.postgres.local, *words)
            asyncio.run(measure(lab, hosts))


async def measure(lab: SmallLab, hosts: list[str]) -> None:
    workers = [
        Worker(lab.of(f"host_{host}"), Keeper(lab.folder / "roots" / host))
        for host in hosts
    ]
    tasks = [asyncio.create_task(worker.attend()) for worker in workers]
    await asyncio.sleep(FOR_S)
    ended = [task for task in tasks if task.done()]
    print(f"{len(tasks) - len(ended)} of {len(tasks)} workers at work")
    for task in ended[:1]:
        print(task.exception())
    seen = "SELECT count(*) FROM lab.v_host WHERE silent_s < 15"
    used = "SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'host_%'"
    print(f"{lab.value(seen)} hosts seen, {lab.value(used)} connections")
    before_s, began_s = cpu_s(lab), time.monotonic()
    await asyncio.sleep(FOR_S)
    share = (cpu_s(lab) - before_s) / (time.monotonic() - began_s)
    print(f"PostgreSQL: {share:.1%} of one CPU while nothing runs")
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=20)


def cpu_s(lab: SmallLab) -> float:
    first = int((lab.postgres.data / "postmaster.pid").read_text().split()[0])
    return sum(map(cpu_of, [first, *children(first)]))


def cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main()
