"""`ioplan import` as people call it."""

from __future__ import annotations

from pathlib import Path

import paths
import pytest
from command import ioplan

GOLDEN = paths.GOLDEN / "import"


@pytest.mark.parametrize(
    ("name", "code"), [("matrix", 0), ("bad", 1), ("no_sections", 2), ("unclosed", 2)]
)
@pytest.mark.promise("exit_codes.import")
def test_the_exit_code_tells_how_much_was_said(name: str, code: int) -> None:
    done = ioplan("import", str(GOLDEN / f"{name}.fio"))
    assert done.code == code
    assert done.out == (GOLDEN / f"{name}.ioplan").read_text()
    assert done.err.strip().startswith((GOLDEN / f"{name}.told").read_text()[:20])


def test_a_dash_is_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ioplan("import", str(GOLDEN / "matrix.fio"), "-o", "-")
    assert (done.code, done.out) == (0, (GOLDEN / "matrix.ioplan").read_text())
    several = [str(GOLDEN / f"{name}.fio") for name in ("matrix", "streams")]
    refused = ioplan("import", *several, "-o", "-")
    assert refused.code == 2 and "-o DIR" in refused.err
    assert not list(tmp_path.iterdir())


def test_a_plan_is_written_and_checks(tmp_path: Path) -> None:
    plan = tmp_path / "m.ioplan"
    assert ioplan("import", str(GOLDEN / "matrix.fio"), "-o", str(plan)).code == 0
    assert ioplan("check", str(plan)).code == 0
    assert ioplan("fmt", "--check", str(plan)).code == 0


def test_a_suite_shares_its_workloads(tmp_path: Path) -> None:
    again = tmp_path / "again.fio"
    again.write_text((GOLDEN / "streams.fio").read_text().replace("1m\n", "2m\n", 1))
    files = [str(GOLDEN / "streams.fio"), str(GOLDEN / "clauses.fio"), str(again)]
    done = ioplan("import", *files, "--suite", "acme", "-o", str(tmp_path / "acme"))
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
