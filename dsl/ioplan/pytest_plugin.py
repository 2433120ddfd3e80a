"""A plan as a test of pytest: `@pytest.mark.ioplan_plan(PLAN, …)`.

The words of the marker are those of `ioplan.run`. The test fails with the lines of
the expectations that did not hold; `ioplan_session` is the session, for more to ask.
Results are kept for the time of the tests, unless the marker names a store.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import ioplan

MARKER = "ioplan_plan"
FIXTURE = "ioplan_session"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"{MARKER}(plan, **options): run it by ioplan.run; all must hold"
    )


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """A marked test has the session, whether it names the fixture or not."""
    for item in items:
        names = getattr(item, "fixturenames", None)
        if item.get_closest_marker(MARKER) and names is not None:
            names[:] = dict.fromkeys((*names, FIXTURE))


@pytest.fixture
def ioplan_session(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The session of the marker's plan, all of whose expectations held.

    The plan's path is that of the test's folder, if a file is there.
    """
    marker = request.node.get_closest_marker(MARKER)
    if marker is None or len(marker.args) != 1:
        pytest.fail(f"{FIXTURE} needs a marker: @pytest.mark.{MARKER}('plan.ioplan')")
    plan = marker.args[0]
    beside = request.path.parent / str(plan) if "\n" not in str(plan) else None
    if beside and beside.is_file():
        plan = beside
    options = {"store": tmp_path / "results.db", **marker.kwargs}
    try:
        session = ioplan.run(plan, **options)
    except (ioplan.PlanError, ioplan.ExplainedError) as error:
        pytest.fail(str(error), pytrace=False)
    if not session.held:
        pytest.fail(f"{session.model.plan}:\n{session.why}", pytrace=False)
    return session
