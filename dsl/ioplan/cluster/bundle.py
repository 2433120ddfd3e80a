"""A plan with all that it uses, as text that can be sent elsewhere."""

from __future__ import annotations

from pathlib import Path

from ioplan.language.findings import Findings
from ioplan.language.module import Loader, installed_plans, library_roots, read_text
from ioplan.language.source import Source

FOLDER = "plan"


def bundle(plan: Path) -> dict[str, str]:
    """Texts by path: the plan first. Suites that come with ioplan are everywhere.

    The plan was checked before. Raises OSError.
    """
    path = plan.resolve()
    found = {f"{FOLDER}/{path.name}": read_text(path)}
    loader = Loader(library_roots(path), Findings())
    loader.module(Source(str(plan), read_text(path)), path)
    for used, module in loader.loaded.items():
        if not used.is_relative_to(installed_plans().resolve()):
            name = used.relative_to(path.parent)
            found[f"{FOLDER}/{name}"] = module.source.text
    return found
