"""Exports agree with the store."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from figures import SESSION_ID as ID
from figures import measurement, record, run, without_io
from sessions import put

from ioplan import ExplainedError
from ioplan.language import SteadyRule, parse_metric
from ioplan.records import RunDetail, RunRecord
from ioplan.results import export
from ioplan.results.measure import Figure, assess
from ioplan.results.report import document
from ioplan.results.store import Store

NASTY = 'a,"b"\nc\rd; =1+1 é'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "results.db") as opened:
        other = run(2, cell={"qd": "8", "note": NASTY})
        put(opened, run(1), other, without_io(3, cell={"qd": "16"}))
        yield opened


def exported(store: Store, format: str, **options: Any) -> bytes:
    out = io.BytesIO()
    export(store, "last", format, out, **options)
    return out.getvalue()


def from_csv(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def from_parquet(data: bytes) -> list[dict[str, Any]]:
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    return [
        {k: v for k, v in row.items() if v is not None} for row in table.to_pylist()
    ]


def as_csv(row: dict[str, Any]) -> dict[str, str]:
    """What the cells of a row look like; an absent value is empty."""
    words = {True: "true", False: "false", None: ""}
    return {
        name: words[value] if isinstance(value, bool) or value is None else str(value)
        for name, value in row.items()
    }


@pytest.mark.parametrize("series", [False, True])
@pytest.mark.promise("figures.export")
def test_csv_and_parquet_have_the_same_rows(store: Store, series: bool) -> None:
    found = from_csv(exported(store, "csv", series=series))
    wanted = [
        as_csv(row) for row in from_parquet(exported(store, "parquet", series=series))
    ]
    assert [
        {k: row[k] for k in want} for row, want in zip(found, wanted, strict=True)
    ] == wanted
    assert all(len(row) == len(found[0]) and None not in row for row in found)


@pytest.mark.promise("figures.export")
def test_a_series_has_what_the_intervals_have(store: Store) -> None:
    rows = from_parquet(exported(store, "parquet", series=True))
    points = [
        (seq, point) for seq in (1, 2, 3) for point in store.detail(ID, seq).series
    ]
    assert len(rows) == 6
    for row, (seq, point) in zip(rows, points, strict=True):
        assert (row["seq"], row["t_s"], row["length_s"]) == (seq, point.t_s, 1.0)
        for direction in ("read", "write"):
            assert row[f"{direction}_ios"] == point.ios[direction]
            assert row[f"{direction}_bytes"] == point.bytes[direction]
        for name in ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns"):
            assert row[name.replace("p99_9", "p99.9")] == getattr(point, name)
    lines = exported(store, "jsonl", series=True).splitlines()
    document = json.loads(exported(store, "json", series=True))
    assert [json.loads(line) for line in lines] == document["series"] == rows


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_streams_add_up_to_the_runs(store: Store, format: str) -> None:
    """Three intervals of two directions in each of two runs; the third has no counts."""
    data = exported(store, format, series=True, streams=True)
    rows = from_csv(data) if format == "csv" else from_parquet(data)
    places = [(int(row["seq"]), float(row["t_s"]), row["scope"]) for row in rows]
    times, scopes = (1.0, 2.0, 3.0), ("read", "write")
    assert places == [(seq, t, one) for seq in (1, 2) for t in times for one in scopes]
    for one in list(store.records(ID))[:2]:
        for scope, told in one.directions.items():
            own = [r for r in rows if (int(r["seq"]), r["scope"]) == (one.seq, scope)]
            assert sum(int(row["ios"]) for row in own) == told.ios
            assert sum(int(row["bytes"]) for row in own) == told.bytes
            assert told.latency
            assert max(int(row["max_ns"]) for row in own) == told.latency.max_ns
            for row in own:
                assert (
                    float(row["p50_ns"]) <= float(row["p99_ns"]) <= int(row["max_ns"])
                )


def test_streams_without_series_are_refused(store: Store) -> None:
    with pytest.raises(ExplainedError, match="add --series"):
        exported(store, "csv", streams=True)


def test_rows_agree_with_the_records(store: Store) -> None:
    rows = from_parquet(exported(store, "parquet"))
    assert [(r["seq"], r["scope"]) for r in rows] == [
        (1, "total"), (1, "read"), (1, "write"),
        (2, "total"), (2, "read"), (2, "write"),
        (3, "total"),
    ]  # fmt: skip
    first, write, failed = rows[0], rows[2], rows[6]
    one = next(store.records(ID))
    latency = one.total.latency
    assert latency is not None
    assert first["iops"] == one.total.iops
    assert first["p99_ns"] == latency.percentiles[3].latency_ns
    assert first["p50_supported"] and not first["p99.999_supported"]
    assert first["p99.999_ns"] == latency.percentiles[6].latency_ns
    assert write["ios"] == one.directions["write"].ios
    assert failed["ios"] == 0 and "mean_ns" not in failed


STEADY = SteadyRule(metric=parse_metric("iops"), window=3, range_percent=1000)


@pytest.fixture
def rounds(tmp_path: Path) -> Iterator[Store]:
    """Five rounds of two cells, and round 4 of one of them done once more."""
    with Store.open(tmp_path / "rounds.db") as store:
        values: list[Figure] = []
        turns = [(n, qd) for n in range(1, 6) for qd in ("4", "8")]
        made = [record(20, cell={}, test="alone")]
        for seq, (number, qd) in enumerate([*turns, (4, "8")], start=1):
            asked = {"cell": {"qd": qd}, "run_id": f"{number} {qd}", "round": number}
            one = record(seq, measurement(seq), **asked)
            if qd == "4":
                values.append(Figure(one.total.iops))
                one = one.model_copy(update={"steady": assess(STEADY, values)})
            made.append(one)
        put(store, *made)
        yield store


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_row_says_its_round_and_whether_figures_are_of_it(
    rounds: Store, format: str
) -> None:
    data = exported(rounds, format)
    found = from_csv(data) if format == "csv" else from_parquet(data)
    rows = [row for row in found if row["scope"] == "total"]
    inside = {
        int(row["round"]) for row in rows if str(row.get("in_window")).lower() == "true"
    }
    before = {
        int(row["round"])
        for row in rows
        if str(row.get("in_window")).lower() == "false"
    }
    assert (inside, before) == ({3, 4, 5}, {1, 2})
    replaced = [row for row in rows if str(row["current"]).lower() == "false"]
    assert [(int(row["seq"]), int(row["round"])) for row in replaced] == [(8, 4)]
    (alone,) = [row for row in rows if row["test"] == "alone"]
    assert not alone.get("in_window") and str(alone["current"]).lower() == "true"


def test_json_has_the_window_of_each_test_in_rounds(rounds: Store) -> None:
    whole = json.loads(exported(rounds, "json"))
    assert whole["windows"] == {
        "demo": {"first": 3, "last": 5, "steady": True, "own": {}}
    }


def test_the_figures_of_the_marked_rows_are_those_of_the_report(rounds: Store) -> None:
    rows = [
        row
        for row in from_parquet(exported(rounds, "parquet"))
        if row["scope"] == "total" and row["test"] == "demo"
    ]
    sections = document(rounds, [rounds.session(ID)], {}, "").sections
    wholes = (r for r in sections[0].runs.records() if r["scope"] == "all")
    shown = {row["d0"]: row for row in wholes}
    for qd in ("4", "8"):
        counted = [
            r for r in rows if r["cell.qd"] == qd and r["in_window"] and r["current"]
        ]
        assert len(counted) == 3 == shown[qd]["runs"]
        run_s = sum(row["run_s"] for row in counted)
        assert shown[qd]["iops"] == pytest.approx(
            sum(r["ios"] for r in counted) / run_s
        )
        assert shown[qd]["rounds"] == "3–5 steady"


def test_csv_has_lines_for_unix_and_quotes_what_needs_it(store: Store) -> None:
    data = exported(store, "csv")
    assert b"\r\n" not in data
    assert from_csv(data)[3]["cell.note"] == NASTY
    header = data.splitlines()[0].decode().split(",")
    assert header[:2] == ["session", "seq"]
    assert {"cell.qd", "cell.bs", "cell.note", "p99.999_supported"} <= set(header)


def test_parquet_has_types(store: Store) -> None:
    data = io.BytesIO(exported(store, "parquet"))
    schema = pyarrow.parquet.read_schema(data)
    kinds = {name: str(schema.field(name).type) for name in schema.names}
    assert kinds["seq"] == "int64" and kinds["iops"] == "double"
    assert kinds["p99.9_supported"] == "bool" and kinds["cell.qd"] == "string"


def test_json_is_one_document(store: Store) -> None:
    document = json.loads(exported(store, "json", detail=True))
    assert document["session"]["id"] == ID
    runs = [RunRecord.model_validate(one) for one in document["runs"]]
    assert runs == list(store.records(ID))
    for detail in document["details"]:
        seq = detail.pop("seq")
        assert RunDetail.model_validate(detail) == store.detail(ID, seq)
    assert "details" not in json.loads(exported(store, "json"))


def test_jsonl_is_a_record_a_line(store: Store) -> None:
    lines = exported(store, "jsonl").splitlines()
    runs = [RunRecord.model_validate_json(line) for line in lines]
    assert runs == list(store.records(ID))


@pytest.mark.parametrize("format", ["json", "jsonl", "csv", "parquet"])
@pytest.mark.parametrize("series", [False, True])
def test_an_empty_session_can_be_exported(
    tmp_path: Path, format: str, series: bool
) -> None:
    with Store.open(tmp_path / "empty.db") as store:
        put(store)
        data = exported(store, format, series=series)
    assert data or format == "jsonl"
    if format == "parquet":
        assert from_parquet(data) == []


def test_an_unknown_format_is_named(store: Store) -> None:
    with pytest.raises(ExplainedError, match="did you mean 'parquet'"):
        exported(store, "parket")
    with pytest.raises(ExplainedError, match="json only"):
        exported(store, "csv", detail=True)


def test_without_pyarrow_the_extra_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExplainedError, match=r"pip install 'ioplan\[parquet\]'"):
        exported(store, "parquet")
