"""A model without pydantic is what pydantic makes of it."""

from __future__ import annotations

from plans import checked

from ioplan.backends import TargetFacts
from ioplan.core.lazy_model import plain
from ioplan.planner.jobs import all_jobs
from ioplan.planner.unfold import unfold

FACTS = TargetFacts(path="/t", kind="file", capacity_bytes=1 << 30, block_bytes=512)
PLAN = """
workload w {
  a = random 4KiB 70/30, qd 4 each, threads 2, zipf 1.1
  b = sequential 128KiB 0/100, rate 1_000 iops, data compressible 50%
}
test "T" { run w for 10s }
test "U" { run random 4KiB 0/100 for 1s }
"""


def test_jobs_are_the_same_without_pydantic() -> None:
    jobs = [job for _, job in all_jobs(unfold(checked(PLAN)), FACTS, read_only=False)]
    assert len(jobs) == 2
    for job in jobs:
        assert plain(job) == job.model_dump(mode="json")
