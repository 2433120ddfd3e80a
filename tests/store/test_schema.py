"""The JSON Schema of records."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import pytest
from figures import measurement, record, run
from pydantic import ValidationError
from sessions import session

from ioplan.records import RunRecord, Steady, Verdict, record_schema
from ioplan.results import export
from ioplan.results.store import Store

STEADY = Steady(
    metric="iops",
    values=(1.0, 2.0),
    mean=1.5,
    range_percent=66.7,
    slope_percent=66.7,
    range_limit_percent=20,
    slope_limit_percent=10,
    window=5,
    reached=False,
    why="too few rounds",
)
UNDECIDED = Verdict(
    expectation="p99 < 1 ms", outcome="undecided", actual=None, limit=1e6, unit="ns"
)


def test_it_is_a_schema_with_descriptions_and_no_id() -> None:
    schema = record_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "ioplan run record"
    assert "$id" not in schema
    described = schema["$defs"]["DirectionResult"]["properties"]["iops"]
    assert described["description"] == "ios / measured time"
    assert set(schema["required"]) == set(RunRecord.model_fields)


def test_exported_records_are_valid(tmp_path: Path) -> None:
    out = io.BytesIO()
    with Store.open(tmp_path / "results.db") as store:
        store.begin(session())
        store.add(*run(1))
        judged = record(2, steady=STEADY, verdicts=(UNDECIDED,), warnings=("hot",))
        store.add(judged, measurement(2).detail)
        export(store, "last", "jsonl", out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    validator = jsonschema.Draft202012Validator(record_schema())
    assert [list(validator.iter_errors(line)) for line in lines] == [[], []]
    assert not validator.is_valid(lines[0] | {"surprise": 1})


def test_figures_are_finite() -> None:
    fields = STEADY.model_dump() | {"mean": float("nan")}
    with pytest.raises(ValidationError, match="finite"):
        Steady(**fields)
