"""What `ioplan run` was called with."""

from __future__ import annotations

from pathlib import Path

from ioplan.core.value import Value, fresh
from ioplan.language.plan import FULL


class Options(Value):
    """What `run` was called with."""

    plan: Path
    store: Path
    tests: list[str] = fresh(list)
    listed: bool = False
    target: str | None = None
    create: str | None = None
    backend: str | None = None
    lab: Path | None = None
    options: list[str] = fresh(list)
    settings: list[str] = fresh(list)
    profile: str = FULL
    scale_time: float = 1.0
    overwrite: list[str] = fresh(list)
    overwrite_from: Path | None = None
    overwrite_data: list[str] = fresh(list)
    allow: list[str] = fresh(list)
    allow_approximate: bool = False
    only_exact: bool = False
    baseline: str | None = None
    tags: list[str] = fresh(list)
    note: str = ""
    person: str = ""
    fresh: bool = False
    quiet: bool = False
    json: bool = False
    lane: Path | None = None
    job: str | None = None
