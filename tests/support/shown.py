"""What `ioplan show` prints of a plan that has run on the simulated drive."""

from __future__ import annotations

from pathlib import Path

from command import ioplan, plan_file


def shown(folder: Path, text: str) -> str:
    done = ioplan("run", plan_file(folder, text), "--backend", "sim", "--quiet")
    assert done.code == 0, done.err
    found = ioplan("show").out
    assert max(map(len, found.splitlines()[1:])) <= 80
    assert "\x1b" not in found
    return found
