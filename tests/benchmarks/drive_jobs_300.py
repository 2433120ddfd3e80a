"""What many drives on one host of a lab cost: `python …/drive_jobs_300.py [BACKEND] [N]`.

A PostgreSQL, a worker, and N drives, 300 unless told, on the simulated drive or another
backend. Printed are the memory of the drive jobs (PSS: with its part of what they share)
at the moment at which they took most together, the time from `run` to the first I/O, and
how many of the runs are stored once.
"""

import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from benchmark_row import tell
from postgres import children
from small_lab import SmallLab, small_lab

PLAN = 'test "T" {\n  run random 4KiB 70/30 for 20s\n  vary qd in 1, 4, 16\n}\n'
MOST_MIB = 20.0


def main() -> None:
    """Run the job, watch it, print."""
    backend = sys.argv[1] if sys.argv[1:] else "sim"
    count = int(sys.argv[2]) if sys.argv[2:] else 300
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        with small_lab(Path(name) / "lab", backend, workers=False) as lab:
            add_drives(lab, backend, count)
            lab.hosts["h1"].start_worker()
            drives = f"SELECT count(*) = {count} FROM lab.drive"
            lab.wait(lambda: lab.value(drives), 120)
            measure(lab, count)


def add_drives(lab: SmallLab, backend: str, count: int) -> None:
    host = lab.hosts["h1"]
    lines = [f'results = "{host.results}"', f'backend = "{backend}"']
    for number in range(count):
        lines += [f"[targets.d{number}]", f'path = "{lab.folder}/d{number}"']
        lines += ["writable = true", "cannot_see_users = true"]
    (host.folder / "lab.toml").write_text("\n".join([*lines, ""]))


def measure(lab: SmallLab, count: int) -> None:
    plan = lab.folder / "plan.ioplan"
    plan.write_text(PLAN)
    begun_s = time.monotonic()
    lab.ada.ok("run", plan, "--on", "host h1", "--create", "1GiB", "--detach")
    job, most = str(lab.value("SELECT max(id) FROM lab.job")), list[float]()
    while not lab.all_stored(job):
        now = [memory_mib(pid) for pid in lab.hosts["h1"].drive_job_pids()]
        most = max(most, now, key=sum)
        time.sleep(2 if count > 40 else 0.2)
    print(
        f"{count} drive jobs in {time.monotonic() - begun_s:.0f} s, {len(most)} at once"
    )
    cells = Counter(lab.cells(job))
    print(f"cells stored: {cells[1]} once, {sum(cells.values()) - cells[1]} otherwise")
    query = f"""SELECT extract(epoch FROM min(d.started_at - j.submitted_at)),
        extract(epoch FROM percentile_disc(0.5) WITHIN GROUP
          (ORDER BY d.started_at - j.submitted_at))
        FROM lab.drive_job d JOIN lab.job j ON j.id = d.job WHERE j.id = '{job}'"""
    first_s, median_s = lab.rows(query)[0]
    print(f"submitted to seen running: first {first_s:.1f} s, median {median_s:.1f} s")
    tell(
        f"{count} drive jobs on {lab.backend}, one host: memory of the largest one (PSS)",
        f"{max(most):.1f} MiB (median: {statistics.median(most):.1f})",
        f"at most {MOST_MIB:g} MiB",
        held=max(most) <= MOST_MIB,
    )


def memory_mib(pid: int) -> float:
    """Of a drive job with its backend's processes."""
    return sum(map(pss_mib, (pid, *children(pid))))


def pss_mib(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return int(re.findall(r"^Pss: +(\d+) kB", text, re.MULTILINE)[0]) / 1024


if __name__ == "__main__":
    main()
