"""What sessions are called, and how axes become numbers, colours and panels."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from run_data import (
    record,
    session,
)

from ioplan.records import RunRecord
from ioplan.results.report import Datum, framed, points
from ioplan.results.report.charts.axis import in_order, numbers, scale_of
from ioplan.results.report.source import labels
from ioplan.workload import Workload

words = st.sampled_from(["", "A", "B", "A, B"])


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
def test_each_session_has_a_label_of_its_own(drives: list[tuple[str, ...]]) -> None:
    sessions = [
        session(id=f"20261121-05451{n}-k3f{n}", backend=backend or "sim")
        for n, (_, _, backend) in enumerate(drives)
    ]
    targets = [{"identity": {"model": m, "firmware": f}} for m, f, _ in drives]
    found = labels(sessions, targets)
    assert len(set(found)) == len(found) or "A, B" in str(drives)
    assert all(found)


def test_a_label_says_no_more_than_it_must() -> None:
    target: dict[str, Any] = {"identity": {"model": "M", "firmware": "F1"}}
    other: dict[str, Any] = {"identity": {"model": "M", "firmware": "F2"}}
    alone: dict[str, Any] = {"identity": {"model": "N", "firmware": "F1"}}
    three = [session(id=f"20261121-054512-aaa{n}") for n in range(3)]
    assert labels(three, [target, other, alone]) == ["M, F1", "M, F2", "N"]
    assert labels(three[:1], [target]) == ["M"]
    assert labels(three[:2], [target, target]) == ["M, aaa0", "M, aaa1"]


def test_axes_are_numbers_where_all_values_are() -> None:
    assert numbers(["4KiB", "1MiB"]) == ({"4KiB": 4096, "1MiB": 1 << 20}, "size")
    assert numbers(["size", "512B"]) is None
    assert numbers(["4KiB", "8"]) is None
    assert in_order(["128", "16", "2", "16"]) == ("2", "16", "128")
    assert in_order(["oltp", "email"]) == ("oltp", "email")
    assert scale_of([1, 2, 4]) == "log"
    assert scale_of([0, 50, 100]) == "linear"
    assert scale_of([10, 20, 30]) == "linear"


def test_dimensions_become_colour_dash_and_panel() -> None:
    data = [
        Datum({"session": s, "qd": qd, "read": read, "metric": m}, (1.0,))
        for s in ("A", "B")
        for qd in ("1", "2", "4", "8")
        for read in ("0%", "100%")
        for m in ("mean", "p99")
    ]
    frame, given_to = framed(data, (), per=("qd",))
    titles = {c.key: c.title for c in frame.columns}
    assert titles[given_to.color] == "queue depth"
    assert titles[given_to.panel] == "session"
    assert titles[given_to.dash] == "figure"
    assert titles[given_to.pick] == "read share"
    frame, given_to = framed(data[:2], ())
    assert [c.title for c in frame.columns] == ["figure"]
    assert given_to.color == "d0"


def test_axes_that_move_together_are_one() -> None:
    data = [Datum({"threads": t, "qd": t, "size": s}, ()) for t in "12" for s in "48"]
    frame, _ = framed(data, ())
    assert [c.title for c in frame.columns] == ["threads", "block size"]
    assert frame.columns[0].order == ("1 (queue depth 1)", "2 (queue depth 2)")


def test_a_step_has_its_name_or_its_number_and_what_it_does() -> None:
    def run(step: int, name: str = "", **stream: Any) -> RunRecord:
        made = record(step + 1, cell={})
        load = made.asked.workload
        streams = tuple(one.model_copy(update=stream) for one in load.streams)
        changed = {"step": step, "name": name, "workload": Workload(streams=streams)}
        asked = made.asked.model_copy(update=changed)
        return made.model_copy(update={"asked": asked})

    def shown(*runs: RunRecord) -> list[str]:
        return [one.dimensions.get("step", "") for one in points({"": runs})]

    reads = {"pattern": "random", "read_percent": 100.0}
    writes = {"pattern": "sequential", "read_percent": 0.0}
    assert shown(run(0, **reads)) == [""]
    assert shown(run(0, **reads), run(1, **writes)) == [
        "1 random reads",
        "2 sequential writes",
    ]
    assert shown(run(0, "before", **reads), run(1, read_percent=70.0)) == [
        "before",
        "2 random mix",
    ]
    varied = (run(0, **reads), run(0, **writes), run(1, trim_percent=100.0))
    assert shown(*varied) == ["1", "2 random trims"]  # one name for all its cells
