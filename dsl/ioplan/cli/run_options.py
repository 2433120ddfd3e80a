"""What `ioplan run` was called with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ioplan.language.plan import FULL


@dataclass(frozen=True)
class Options:
    """What `run` was called with."""

    plan: Path
    store: Path
    target: str | None = None
    create: str | None = None
    backend: str | None = None
    lab: Path | None = None
    options: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    profile: str = FULL
    scale_time: float = 1.0
    overwrite: list[str] = field(default_factory=list)
    allow_approximate: bool = False
    baseline: str | None = None
    fresh: bool = False
    quiet: bool = False
    json: bool = False
    lane: Path | None = None
