"""A text with its errors: whatever it says, each feature answers."""

from __future__ import annotations

from pathlib import Path

import paths
import pytest
from written import written

from golden import Golden
from ioplan import PlanError
from ioplan.language import Source, check, installed_plans
from ioplan_editor import (
    Document,
    Workspace,
    completions,
    definition,
    folds,
    hover,
    outline,
    references,
    signature,
    tokens,
)

LANGUAGE = Golden("language")
EXAMPLES = sorted((paths.ROOT / "examples").rglob("*.ioplan"))


@pytest.mark.parametrize(
    "plan", [*[*LANGUAGE][::3], *EXAMPLES[::3]], ids=lambda plan: Path(plan).stem
)
def test_every_feature_answers_for_a_plan(plan: str | Path, tmp_path: Path) -> None:
    path = plan if isinstance(plan, Path) else LANGUAGE[plan].put(tmp_path, ".ioplan")
    text = path.read_bytes().decode()
    document = Document(path, text)
    for offset in range(0, len(text) + 1, len(text) // 2 + 1):
        completions(document, offset)
        hover(document, offset)
        signature(document, offset)
        definition(document, offset)
    for feature in (outline, folds, tokens):
        list(feature(document))
    said = [one.message for one in document.examined.errors]
    assert sorted(said) == sorted(_said(Source(path.name, text), path))


def _said(source: Source, path: Path) -> list[str]:
    """What the checker says."""
    try:
        check(source, (path.parent, installed_plans()), path=path, library=True)
    except PlanError as error:
        return [one.message for one in error.diagnostics]
    return []


def test_an_error_in_a_file_on_the_screen_is_told_of_that_file(tmp_path: Path) -> None:
    library = tmp_path / "lib.ioplan"
    library.write_text("workload w = random 4KiB 100/0\n")
    files = Workspace()
    text = 'use "lib.ioplan"\ntest "T" { run w for 1s }\n'
    assert not Document(tmp_path / "plan.ioplan", text, files).diagnostics
    files.open(library, "workload w = random 4kb 100/0\n")
    document = Document(tmp_path / "plan.ioplan", text, files)
    (found,) = document.diagnostics
    assert "4kb" in found.span.text
    assert document.path_of(found.span.source) == library


def test_sound_tests_are_known_beside_wrong_ones() -> None:
    document, _ = written(
        'test "A" { run random 4KiB 100/0 for 1s }\ntest "B" { run nothing for 1s }\n'
    )
    assert document.plan and [test.title for test in document.plan.tests] == ["A"]


def test_references_of_a_library(tmp_path: Path) -> None:
    lib, plan = tmp_path / "lib.ioplan", tmp_path / "plan.ioplan"
    lib.write_text("param n = 8\nworkload w = random 4KiB 100/0, qd n\n")
    plan.write_text(
        'use "lib.ioplan" as l\ntest "T" { run l.w for 1s vary l.n in 1, 2 }\n'
    )
    files = Workspace()
    document = files.document(plan)
    at = document.text.index("l.n") + 2
    found = [(path.name, span.start) for path, span in references(document, at)]
    assert {("lib.ioplan", 6), ("lib.ioplan", 47), ("plan.ioplan", at)} == {*found}
    from_library = references(files.document(lib), 6)
    assert len(from_library) == 3
    assert not files.document(lib).diagnostics, "a library needs no test"
    place = definition(document, at)
    assert place and (place[0], place[1].text) == (lib, "n")
