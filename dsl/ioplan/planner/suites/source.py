"""The source of a package of suites: a folder with a pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from ioplan.core.units import digits, time_text
from ioplan.language.bind.matrix import Matrix
from ioplan.language.checker.check import check_file
from ioplan.language.search.packages import GROUP, Package, SuiteError
from ioplan.planner.estimate import Estimator
from ioplan.planner.suites.suite import Collection, Suite, suites_of
from ioplan.planner.unfolding import unfold

PYPROJECT, README = "pyproject.toml", "README.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEADINGS = ("plan", "test", "cells", "time", "drive writes")
TB = 10**12


def source_of(folder: Path) -> Collection:
    """The one suite that a source is of. Raises SuiteError and OSError."""
    try:
        project = tomllib.loads((folder / PYPROJECT).read_text("utf-8"))["project"]
        ((name, module),) = project["entry-points"][GROUP].items()
        version = str(project["version"])
    except (
        *(KeyError, ValueError, TypeError, AttributeError, RecursionError),
    ) as error:
        raise SuiteError(
            f"{folder / PYPROJECT} is of no suite: it needs project.version, and in "
            f'[project.entry-points."{GROUP}"] one line such as acme = "ioplan_acme"'
        ) from error
    Package.check_words(str(name), str(module))
    for place in (folder, folder / "src"):
        if (plans := place.joinpath(*str(module).split("."))).is_dir():
            return Collection(name, version, f"source {folder}", plans)
    raise SuiteError(
        f"{folder} has no folder for {module!r}, which its entry point names"
    )


def cost_table(collection: Collection) -> str:
    """A row a test, in Markdown: what it does and costs on 1 TB, in full."""
    rows = [row for suite in suites_of(collection) for row in _rows(suite)]
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(suite: Suite) -> Iterator[tuple[str, ...]]:
    if not suite.is_plan:
        return
    estimator = Estimator(TB)
    for test, steps in groupby(unfold(check_file(suite.path)), lambda one: one.test):
        cost = estimator.total(list(steps))
        cells = sum(1 for _ in Matrix(test.axes, test.skip).cells())
        writes = digits(round(cost.written_bytes / TB, 2))
        title = test.title.replace("|", "\\|")
        yield f"`{suite.name}`", title, str(cells), time_text(cost.run_s), writes


def with_table(readme: str, table: str) -> str:
    """A README with the table where it says so; as it is where it has no place."""
    return TABLE.sub(lambda _: table, readme, count=1)


def readme_of(folder: Path) -> str:
    """Its text; empty without one."""
    path = folder / README
    return path.read_text("utf-8") if path.is_file() else ""
