"""The clock of the host is set while a session runs: its durations stay true."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest
from command import ioplan, plan_file
from hour_ahead import hour_ahead
from started import started

pytestmark = pytest.mark.slow

SPAN = ("started_at", "ended_at")
PLAN = """test "T" {
  run random 4KiB 100/0, qd 2 for 300ms
  vary qd in 1, 2, 4
}"""


@pytest.mark.parametrize("back", [True, False], ids=["back", "ahead"])
@pytest.mark.promise("figures.clock")
def test_times_of_a_session_stay_as_far_apart_as_they_were(
    back: bool, tmp_path: Path, store_path: Path
) -> None:
    flag = tmp_path / "flag"
    environment = hour_ahead(tmp_path, flag)
    if back:
        flag.touch()
    plan, target = plan_file(tmp_path, PLAN), tmp_path / "scratch"
    began_s = time.monotonic()
    call = (plan, "--target", target, "--create", "1MiB")
    with started(*call, **environment) as session:
        session.until("step", 2)
        flag.unlink() if back else flag.touch()
        assert session.end() == 0, session.said
    took_s = time.monotonic() - began_s
    (listed,) = ioplan("ls", "--format", "jsonl").lines
    assert 0.9 <= listed["duration_s"] <= took_s
    runs = ioplan("export", "last", "--format", "jsonl").lines
    times = [datetime.fromisoformat(one[at]) for one in runs for at in SPAN]
    assert len(runs) == 3 and times == sorted(times)
    assert (times[-1] - times[0]).total_seconds() <= took_s
