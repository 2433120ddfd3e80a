"""The first I/Os that fio itself makes of a job, without doing any.

The engine `null` takes all I/O, `write_iolog` writes down each with its offset and its
length, and with one seed two jobs with the same options make the same I/Os.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ioplan_importer.fio.job_file import Option
from ioplan_importer.fio.jobs import KB_BASE, FioJob
from ioplan_importer.fio.numbers import whole

PLACING = (
    *(KB_BASE, "rw", "rwmixread", "rwmixwrite", "bs", "bsrange", "bssplit", "offset"),
    *("norandommap", "random_distribution", "percentage_random", "blockalign"),
    *("size", "number_ios"),
)
"""The options that decide where I/Os fall; one thread of a job is enough."""
IOS = 1000
LIMIT_S = 60
FORCED = (
    *("ioengine=null", "filename=proof", "randseed=1", f"number_ios={IOS}"),
    *("iodepth=1", "time_based=0"),
)
Trace = list[str]


def trace_of(fio: str, job: FioJob, capacity_bytes: int) -> Trace | None:
    """Lines such as `read 4096 8192`; None where fio does not take the job."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            "[job]",
            *_lines(job, capacity_bytes),
            *FORCED,
            f"filesize={capacity_bytes}",
        ]
        path = Path(folder) / "job.fio"
        path.write_text("\n".join([*lines, "write_iolog=trace"]) + "\n")
        try:
            done = subprocess.run(
                [fio, "--eta=never", path.name],
                cwd=folder,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
            text = (Path(folder) / "trace").read_text()
        except (OSError, subprocess.TimeoutExpired):
            return None
    return _ios(text) if done.returncode == 0 else None


def _lines(job: FioJob, capacity_bytes: int) -> list[str]:
    """The options as they are written; a file's size is what is worked on."""
    options = [job.options[name] for name in PLACING if name in job.options]
    found = [_line(one, capacity_bytes) for one in options]
    if "size" not in job.options and "filesize" in job.options:
        found.append(f"size={job.text('filesize')}")
    return found


def _line(option: Option, capacity_bytes: int) -> str:
    """An option's line; without a device fio knows no shares of one."""
    if option.value is None:
        return option.name
    if option.name in ("offset", "size") and option.value.endswith("%"):
        share = whole(option.value)
        return f"{option.name}={capacity_bytes * share // 100}"
    return f"{option.name}={option.value}"


def _ios(text: str) -> Trace:
    """Without the times, which newer logs have in front."""
    kinds = {"read", "write", "trim"}
    rows = (line.split() for line in text.splitlines())
    return [" ".join(row[-3:]) for row in rows if len(row) >= 4 and row[-3] in kinds]
