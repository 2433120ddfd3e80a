"""`ioplan import` as people call it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan

from golden import Check, Golden

IMPORTS = Golden("imports")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the cases as files."""
    monkeypatch.chdir(tmp_path)
    for one in IMPORTS.values():
        one.put(tmp_path)


@pytest.mark.parametrize("name", IMPORTS)
@pytest.mark.promise("exit_codes.import", "import.told")
def test_a_file_as_a_plan(name: str, golden: Check) -> None:
    done = ioplan("import", name)
    golden(IMPORTS, name, {"code": done.code, "plan": done.out, "told": done.err})


def test_a_dash_is_standard_output(tmp_path: Path) -> None:
    before = {*tmp_path.iterdir()}
    done = ioplan("import", "matrix.fio", "-o", "-")
    assert (done.code, done.out) == (0, IMPORTS["matrix.fio"].expected["plan"])
    refused = ioplan("import", "matrix.fio", "streams.fio", "-o", "-")
    assert refused.code == 2 and "-o DIR" in refused.err
    assert {*tmp_path.iterdir()} == before


def test_a_plan_is_written_and_checks(tmp_path: Path) -> None:
    plan = tmp_path / "m.ioplan"
    assert ioplan("import", "matrix.fio", "-o", plan).code == 0
    assert ioplan("check", str(plan)).code == 0
    assert ioplan("fmt", "--check", str(plan)).code == 0


def test_a_suite_shares_its_workloads(tmp_path: Path) -> None:
    again = tmp_path / "again.fio"
    again.write_text(IMPORTS["streams.fio"].input.replace("1m\n", "2m\n", 1))
    files = ("streams.fio", "clauses.fio", again)
    done = ioplan("import", *files, "--suite", "acme", "-o", tmp_path / "acme")
    assert done.code == 1, done.err
    plans = sorted(path.name for path in (tmp_path / "acme").iterdir())
    assert plans == [
        f"{n}.ioplan" for n in ("again", "clauses", "streams", "workloads")
    ]
    library = (tmp_path / "acme" / "workloads.ioplan").read_text()
    assert library.count("workload user_and_3_more") == 1
    for name in ("again", "clauses", "streams"):
        plan = tmp_path / "acme" / f"{name}.ioplan"
        assert ioplan("check", str(plan)).code == 0
        assert "workload " not in plan.read_text()


def test_what_cannot_be_imported(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("remember the milk\n")
    done = ioplan("import", str(text))
    assert done.code == 2 and "this is no file that can be imported" in done.err
    several = ioplan("import", str(text), str(text))
    assert several.code == 2
    assert "no such file" in ioplan("import", "nowhere.fio").err.lower()
