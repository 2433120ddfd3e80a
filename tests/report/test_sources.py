"""What a picture names when it leaves its report."""

from __future__ import annotations

from plans import checked
from run_data import record, session

from ioplan.results.report.source import Source, source, workload


def test_a_source_names_drive_firmware_date_session_and_tool() -> None:
    one = session(started_at="2026-11-21T05:45:12Z")
    target = {"identity": {"model": "SSD 1", "firmware": "F7"}}
    found = source("SSD 1", one, [record(1).model_copy(update={"target": target})])
    assert found == Source(
        label="SSD 1",
        drive="SSD 1",
        firmware="F7",
        date="2026-11-21",
        session=one.id,
        tool=f"ioplan {one.ioplan}, {record(1).backend.name} "
        f"{record(1).backend.version}",
        simulated=True,
    )


def test_a_workload_is_in_the_words_of_the_plan_with_its_values() -> None:
    plan = checked(
        """param t = 2s
param deep = 8
workload oltp = random 8KiB 70/30
test "A" {
  run    random 4KiB 100/0,  qd deep for t  # comment
  repeat 2 { run oltp, qd deep for t }
  run    random 4KiB 100/0, align size, qd n for t
  vary   n in 1, 2
}
"""
    )
    (test,) = plan.tests
    assert workload(test) == (
        "random 4KiB 100/0, qd 8 for 2s; oltp, qd 8 for 2s; "
        "random 4KiB 100/0, align size, qd n for 2s"
    )
    assert workload(None) == ""
