"""Calls the command line in this process, as a shell would."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from ioplan.cli.app import app


@dataclass(frozen=True)
class Done:
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The JSON lines of one type."""
        return [line for line in self.lines if line["type"] == kind]


def ioplan(*arguments: str | Path) -> Done:
    """Call it; an exception that reaches the caller fails the test."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def plan_file(folder: Path, text: str, name: str = "plan.ioplan") -> Path:
    """Write a plan."""
    path = folder / name
    path.write_text(text)
    return path
