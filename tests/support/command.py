"""Calls the command line in this process, as a shell would."""

import json
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper

import pytest
from msgspec import Struct

from ioplan.cli import IOPLAN, Group, run
from ioplan.results.store import Store


class Done(Struct, frozen=True):
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind):
        """The JSON lines of one type."""
        return [line for line in self.lines if line["type"] == kind]

    @property
    def records(self):
        """Those of the runs."""
        return [line["record"] for line in self.of("record")]

    @property
    def record(self):
        """That of the only run."""
        (found,) = self.records or pytest.fail(self.err)
        return found


def ioplan(*arguments, stdin=""):
    """Call it; an exception that reaches the caller fails the test."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8", newline="") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", TextIOWrapper(BytesIO(stdin.encode()), "utf-8"))
        with redirect_stdout(out), redirect_stderr(err):
            code = run([str(a) for a in arguments])
    return Done(code, _text(out), _text(err))


def succeed(*arguments, stdin=""):
    """Call it; it has to end well."""
    done = ioplan(*arguments, stdin=stdin)
    assert done.code == 0, done
    return done


def refuse(text, *arguments):
    """Call it; it has to be refused with this text, wherever its lines are broken."""
    done = ioplan(*arguments)
    assert done.code == 2 and _says(done.err, text), done
    return done


def _says(told, text):
    return text in told or text in " ".join(told.split())


def _text(stream):
    stream.seek(0)
    return stream.read()


def program(*words, **more):
    """Run a program, and read what it prints, whatever it comes to."""
    how = {"capture_output": True, "text": True, "check": False}
    return subprocess.run([*map(str, words)], **{**how, **more})  # noqa: PLW1510


def commands(group=IOPLAN, path=""):
    """All commands of ioplan by the words that call them."""
    found = {}
    for entry in group.entries:
        words = f"{path} {entry.name}".strip()
        found |= commands(entry, words) if isinstance(entry, Group) else {words: entry}
    return found


def last_records(store):
    """Those of the store's last session."""
    with Store.open(store) as opened:
        return list(opened.records(opened.session("last").id))


def plan_file(folder, text, name="plan.ioplan"):
    """Write a plan."""
    path = folder / name
    path.write_text(text)
    return path
