"""Which suites each backend does as they are, by its gaps: nothing need be installed."""

from typing import Any, NamedTuple

import paths
import pytest
from command import last_records, succeed
from figures import record
from fio_jobs import NEEDS_FIO
from generated import check_part
from sessions import session
from suite_rows import PLANS, TB, plan_of

from ioplan import metric_text
from ioplan.backends import TargetFacts, find
from ioplan.language import Test
from ioplan.language.clause_table import slot
from ioplan.records import RunDetail, Telemetry
from ioplan.results.report import Reader, chart, pictures, points, spec
from ioplan.results.store import Store
from ioplan.runner.prepare.fit_report import fits_of

DOCUMENT = paths.ROOT / "docs" / "suites.md"
ABSENT = "/nowhere"
FACTS = {"kind": "block", "capacity_bytes": TB // 4096 * 4096, "block_bytes": 512}


class Column(NamedTuple):
    """A backend with options, and a drive that it can have."""

    heading: str
    backend: str
    options: dict[str, Any]
    path: str


NVME, PCIE = "/dev/nvme0n1", "nvme:pcie:0000:01:00.0"
PROGRAMS = {"path": ABSENT, "plugin": ABSENT, "fio": ABSENT}
"""Named and not there: what is installed here shall not matter."""
COLUMNS = (
    Column("`io_uring`", "io_uring", {}, NVME),
    Column("`fio`", "fio", {"version": "3.33"}, NVME),
    Column("`spdk`", "spdk", PROGRAMS, PCIE),
    Column("… bdevperf", "spdk", {"driver": "bdevperf", "path": ABSENT}, PCIE),
    Column("… fio plug-in", "spdk", {"driver": "fio", "fio": ABSENT}, PCIE),
    Column("`sim`", "sim", {}, "sim"),
)


@pytest.fixture(scope="module")
def fits():
    """By suite and heading, those of its tests."""
    plans = {name: plan_of(suite) for name, suite in PLANS.items()}
    return {
        (name, column.heading): fits_of(
            plan,
            find(column.backend),
            TargetFacts(path=column.path, **FACTS),
            column.options,
        )
        for name, plan in plans.items()
        for column in COLUMNS
    }


def runs_as_it_is(fit):
    return fit.grade in ("exact", "near")


@pytest.mark.long
def test_the_tables_of_backends_are_current(fits, renew):
    check_part(DOCUMENT, "suites by backend", suites_table(fits), renew)
    check_part(DOCUMENT, "inexact clauses", clauses_table(fits), renew)


def suites_table(fits):
    """How many tests of each suite run as they are."""
    names = [column.heading for column in COLUMNS]
    rows = [["suite", "tests", *names], ["---"] * (len(COLUMNS) + 2)]
    for suite in PLANS:
        counts = [_count(fits[suite, heading]) for heading in names]
        rows.append([f"`{suite}`", str(len(fits[suite, names[0]])), *counts])
    whole = [
        sum(all(map(runs_as_it_is, fits[suite, name])) for suite in PLANS)
        for name in names
    ]
    rows.append(["**suites whole**", "", *(f"{n} of {len(PLANS)}" for n in whole)])
    return _markdown(rows)


def _count(fits):
    runs = sum(map(runs_as_it_is, fits))
    near = sum(fit.grade == "near" for fit in fits)
    shown = "all" if runs == len(fits) else str(runs)
    return shown + f", {near} with a warning" * bool(near)


def clauses_table(fits):
    """Each clause that is not exact, why, what is done instead, and in which tests."""
    rows = [["backend", "clause", "reason", "instead", "tests"], ["---"] * 5]
    for column in COLUMNS:
        for gap, titles in _by_reason(fits, column.heading).items():
            instead = gap.instead or "nothing"
            instead += " (a warning only)" * gap.mild
            tests = ", ".join(titles) if len(titles) <= 3 else f"{len(titles)} tests"
            rows.append(
                [column.heading, f"`{slot(gap.field)}`", gap.reason, instead, tests]
            )
    return _markdown(rows)


def _by_reason(fits, heading):
    """A gap of each reason, and the tests that have it."""
    first = {}
    titles = {}
    for fit, gap in _gaps(fits, heading):
        known = first.setdefault((gap.field, gap.reason), gap)
        titles.setdefault(known, {})[fit.test.title] = None
    return {gap: list(those) for gap, those in titles.items()}


def _gaps(fits, heading):
    for (_, column), those in fits.items():
        if column == heading:
            yield from ((fit, gap) for fit in those for gap in fit.gaps)


def _markdown(rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


@pytest.mark.long_but_first
@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize("backend", ["io_uring", "fio", "sim"])
def test_the_first_look_runs_on_each_backend_without_a_flag(
    tmp_path, store_path, backend
):
    """What fio does not measure exactly is left out, and told."""
    words = ("--backend", backend, "--target", tmp_path / "t.bin", "--create", "16MiB")
    done = succeed("run", "quick/laptop", "--profile", "smoke", *words)
    tests = {one.asked.test for one in last_records(store_path)}
    rated = "Latency at a steady rate"
    assert ({"Small reads", "Large reads"} <= tests) and (rated in tests) == (
        backend != "fio"
    )
    assert (f"skipped: {rated}" in done.out + done.err) == (backend == "fio")
    succeed("plan", "quick/laptop", "--backend", backend, "--capacity", "1TB")


# charts that the methods ask for and that nothing else draws


def suite_test(suite, title):
    return next(one for one in plan_of(PLANS[suite]).tests if one.title == title)


def drawn(store, id, test):
    return list(pictures(test, points({"A": list(store.records(id))}), Reader(store)))


def test_saturation_shows_latency_over_bytes_written(store_path):
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
def metered(tmp_path):
    """Two runs at 40 W."""
    with Store.open(tmp_path / "metered.db") as store:
        store.begin(session())
        said = Telemetry(covered_s=3, intervals=3, watts=40.0)
        for seq in (1, 2):
            made = record(seq, cell={"qd": f"{seq}"})
            store.add(made.model_copy(update={"telemetry": said}), RunDetail())
        yield store


def test_sequential_writes_show_throughput_per_watt(metered):
    test = suite_test("reviews/p3700", "A8 power, sequential write")
    charts = drawn(metered, session().id, test)
    table = next(chart for chart in charts if chart.kind == "table")
    heads = {head.title: head for head in table.frame.columns}
    head = heads["throughput per watt"]
    at = table.frame.columns.index(head)
    one = next(iter(metered.records(session().id)))
    expected = one.total.bandwidth_bytes_per_s / 40
    assert head.unit == "B/s per W"
    assert table.frame.rows[0][at] == pytest.approx(expected)
    assert metric_text(5e7, head.unit) == "50.0 MB/s per W"


def test_throughput_per_watt_has_an_axis_of_its_own(metered):
    asked = chart("lines", ("bandwidth_per_watt",), ("qd",))
    test = Test(title="demo", charts=(asked,), axes=())
    charts = drawn(metered, session().id, test)
    picture = next(chart for chart in charts if "watt" in chart.title)
    made = spec(picture)
    assert made and made["encoding"]["y"]["axis"]["title"] == "throughput per watt"
    assert picture.title.startswith("Throughput per watt")


def test_what_was_not_measured_is_no_chart(tmp_path):
    asked = chart("lines", ("bandwidth_per_watt",), ("qd",))
    test = Test(title="demo", charts=(asked,), axes=())
    with Store.open(tmp_path / "plain.db") as store:
        store.begin(session())
        store.add(record(1, cell={"qd": "1"}), RunDetail())
        assert drawn(store, session().id, test) == []
