"""Charts of writes over time have the same over the bytes written beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan, plan_file
from plans import checked
from report_charts import column

from ioplan.results.report import ChartSpec, document
from ioplan.results.store import Store


def charts(folder: Path, store_path: Path, text: str) -> list[ChartSpec]:
    """Those over time or bytes."""
    plan = plan_file(folder, f'accept "fresh state"\ntest "T" {{ {text} }}')
    done = ioplan("run", plan, "--backend", "sim", "--create", "1GiB")
    assert done.code == 0, done.err
    with Store.open(store_path) as store:
        session = store.session("last")
        plans = {session.id: checked(plan.read_text())}
        made = document(store, [session], plans, "")
    found = [one for section in made.sections for one in section.pictures]
    return [one for one in found if one.frame.column(one.x).unit in ("s", "B")]


WRITES = "run random 4KiB 0/100, qd 8, rate 10_000 iops for 5s"


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (WRITES, ["IOPS over time", "IOPS over bytes written"]),
        (
            f"{WRITES} chart lines iops, mean over time",
            [
                *("IOPS over time", "Mean latency over time"),
                *("IOPS over bytes written", "Mean latency over bytes written"),
            ],
        ),
        (
            f"{WRITES} chart lines iops over time chart lines mean over bytes",
            ["IOPS over time", "Mean latency over bytes written"],
        ),
        (WRITES.replace("0/100", "70/30"), ["IOPS over time"]),
        (WRITES.replace("0/100", "100/0"), ["IOPS over time"]),
        (WRITES.replace("0/100", "0/100, trim 10%"), ["IOPS over time"]),
    ],
    ids=["no chart", "lines", "named", "mixed", "reads", "trims"],
)
def test_writes_alone_are_drawn_over_bytes(
    text: str, titles: list[str], tmp_path: Path, store_path: Path
) -> None:
    found = charts(tmp_path, store_path, text)
    told = [one.title for one in found if "percentiles" not in one.title]
    assert told == titles
    for one in found:
        if one.frame.column(one.x).unit == "B":
            written = column(one, "x")
            assert written == sorted(written)
            assert written[-1] == pytest.approx(5 * 10_000 * 4096, rel=0.01)
