"""Calls the command line in this process, as a shell would."""

import json
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from ioplan.cli import IOPLAN, Command, Group, run
from ioplan.records import RunRecord
from ioplan.results.store import Store


class Done(Struct, frozen=True):
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

    @property
    def records(self) -> list[dict[str, Any]]:
        """Those of the runs."""
        return [line["record"] for line in self.of("record")]

    @property
    def record(self) -> dict[str, Any]:
        """That of the only run."""
        (found,) = self.records or pytest.fail(self.err)
        return found


def ioplan(*arguments: str | Path, stdin: str = "") -> Done:
    """Call it; an exception that reaches the caller fails the test."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8", newline="") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", TextIOWrapper(BytesIO(stdin.encode()), "utf-8"))
        with redirect_stdout(out), redirect_stderr(err):
            code = run([str(a) for a in arguments])
    return Done(code, _text(out), _text(err))


def succeed(*arguments: str | Path, stdin: str = "") -> Done:
    """Call it; it has to end well."""
    done = ioplan(*arguments, stdin=stdin)
    assert done.code == 0, done
    return done


def refuse(text: str, *arguments: str | Path) -> Done:
    """Call it; it has to be refused with this text, wherever its lines are broken."""
    done = ioplan(*arguments)
    assert done.code == 2 and _says(done.err, text), done
    return done


def _says(told: str, text: str) -> bool:
    return text in told or text in " ".join(told.split())


def _text(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def program(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program, and read what it prints, whatever it comes to."""
    how: dict[str, Any] = {"capture_output": True, "text": True, "check": False}
    return subprocess.run([*map(str, words)], **{**how, **more})  # noqa: PLW1510


def commands(group: Group = IOPLAN, path: str = "") -> dict[str, Command]:
    """All commands of ioplan by the words that call them."""
    found: dict[str, Command] = {}
    for entry in group.entries:
        words = f"{path} {entry.name}".strip()
        found |= commands(entry, words) if isinstance(entry, Group) else {words: entry}
    return found


def last_records(store: Path) -> list[RunRecord]:
    """Those of the store's last session."""
    with Store.open(store) as opened:
        return list(opened.records(opened.session("last").id))


def plan_file(folder: Path, text: str, name: str = "plan.ioplan") -> Path:
    """Write a plan."""
    path = folder / name
    path.write_text(text)
    return path
