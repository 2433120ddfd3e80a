"""What results need is made once, for all that are forked from a process."""

from __future__ import annotations

from threading import enumerate as threads

from ioplan.job import events
from ioplan.records import Interval, RunRecord
from ioplan.runner.execute import first_result


def test_all_is_there_before_others_are_forked() -> None:
    first_result.prepare_results()
    assert not [one for one in threads() if one.name == "ioplan first result"]
    assert RunRecord.__pydantic_complete__ and Interval.__pydantic_complete__
    assert events.cache_info().currsize == 1
