"""What `ioplan run` was called with."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ioplan.language.plan import FULL


class Options(Struct, frozen=True):
    """What `run` was called with."""

    plan: Path
    store: Path
    tests: list[str] = []
    listed: bool = False
    target: str | None = None
    create: str | None = None
    backend: str | None = None
    lab: Path | None = None
    options: list[str] = []
    settings: list[str] = []
    profile: str = FULL
    scale_time: float = 1.0
    overwrite: list[str] = []
    overwrite_from: Path | None = None
    overwrite_data: list[str] = []
    allow: list[str] = []
    allow_approximate: bool = False
    only_exact: bool = False
    baseline: str | None = None
    tags: list[str] = []
    note: str = ""
    person: str = ""
    fresh: bool = False
    quiet: bool = False
    json: bool = False
    lane: Path | None = None
    job: str | None = None
