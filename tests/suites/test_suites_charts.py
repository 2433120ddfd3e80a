"""The charts that the methods ask for and that nothing else draws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import succeed
from figures import record
from sessions import session
from suite_rows import PLANS, plan_of

from ioplan import metric_text
from ioplan.language import Test
from ioplan.records import RunDetail, Telemetry
from ioplan.results.report import ChartSpec, Reader, chart, pictures, points, spec
from ioplan.results.store import Store


def suite_test(suite: str, title: str) -> Test:
    return next(one for one in plan_of(PLANS[suite]).tests if one.title == title)


def drawn(store: Store, id: str, test: Test) -> list[ChartSpec]:
    return list(pictures(test, points({"A": list(store.records(id))}), Reader(store)))


def test_saturation_shows_latency_over_bytes_written(store_path: Path) -> None:
    done = succeed(
        *("run", "pts/pts_write_saturation", "--profile", "smoke", "--json"),
        *("--backend", "sim", "--create", "256MiB"),
    )
    test = suite_test("pts/pts_write_saturation", "D4 write saturation")
    with Store.open(store_path) as store:
        found = drawn(store, done.of("session")[0]["id"], test)
    over_bytes = [one for one in found if one.frame.column(one.x).unit == "B"]
    assert [one.frame.column(one.y).unit for one in over_bytes] == ["1/s", "ns"]
    assert all(one.frame.rows for one in over_bytes)


@pytest.fixture
def metered(tmp_path: Path) -> Iterator[Store]:
    """Two runs at 40 W."""
    with Store.open(tmp_path / "metered.db") as store:
        store.begin(session())
        said = Telemetry(covered_s=3, intervals=3, watts=40.0)
        for seq in (1, 2):
            made = record(seq, cell={"qd": f"{seq}"})
            store.add(made.model_copy(update={"telemetry": said}), RunDetail())
        yield store


def test_sequential_writes_show_throughput_per_watt(metered: Store) -> None:
    test = suite_test("reviews/p3700", "A8 power, sequential write")
    table, *_ = drawn(metered, session().id, test)
    heads = {head.title: head for head in table.frame.columns}
    head = heads["throughput per watt"]
    at = table.frame.columns.index(head)
    one = next(iter(metered.records(session().id)))
    expected = one.total.bandwidth_bytes_per_s / 40
    assert head.unit == "B/s per W"
    assert table.frame.rows[0][at] == pytest.approx(expected)
    assert metric_text(5e7, head.unit) == "50.0 MB/s per W"


def test_throughput_per_watt_has_an_axis_of_its_own(metered: Store) -> None:
    asked = chart("lines", ("bandwidth_per_watt",), ("qd",))
    test = Test(title="demo", charts=(asked,), axes=())
    picture, *_ = drawn(metered, session().id, test)
    made = spec(picture)
    assert made and made["encoding"]["y"]["axis"]["title"] == "MB/s per watt"
    assert picture.title.startswith("Throughput per watt")


def test_what_was_not_measured_is_no_chart(tmp_path: Path) -> None:
    asked = chart("lines", ("bandwidth_per_watt",), ("qd",))
    test = Test(title="demo", charts=(asked,), axes=())
    with Store.open(tmp_path / "plain.db") as store:
        store.begin(session())
        store.add(record(1, cell={"qd": "1"}), RunDetail())
        assert drawn(store, session().id, test) == []
