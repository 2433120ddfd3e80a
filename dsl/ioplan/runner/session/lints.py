"""The classic lints of a plan on the target that it runs on."""

from __future__ import annotations

import os
import random
import re
import stat
from collections.abc import Iterable

from ioplan.backends import TargetFacts
from ioplan.language.lints.lints import Lint, lints
from ioplan.language.lints.stored import Parts
from ioplan.language.plan import CheckedPlan
from ioplan.planner.steps import Run

BLOCK_BYTES = 4096
MEMORY_NAME = re.compile(r"(?:ram|zram|nullb)\d+")
SAMPLES, LEAST_EMPTY = 64, 0.5

RunKey = tuple[str, int, tuple[tuple[str, str], ...]]


def lints_on(plan: CheckedPlan, facts: TargetFacts, is_new: bool) -> tuple[Lint, ...]:
    """The lints that the plan does not accept; `is_new` is a target that holds nothing.

    Of reads of what the plan has not written, only those that mostly find nothing.
    """
    seen: dict[Parts, bool] = {}
    found = []
    for one in lints(plan, facts.capacity_bytes, is_new, is_memory(facts)):
        if one.parts and one.parts not in seen:
            seen[one.parts] = is_mostly_empty(facts, one.parts)
        if not one.parts or seen[one.parts]:
            found.append(one)
    return tuple(found)


def is_memory(facts: TargetFacts) -> bool:
    """Whether a device is made of the host's memory: brd, zram, null_blk."""
    name = os.path.basename(os.path.realpath(facts.path))  # noqa: PTH119  no file is meant
    return facts.kind != "file" and bool(MEMORY_NAME.fullmatch(name))


def is_mostly_empty(facts: TargetFacts, parts: Parts) -> bool:
    """Whether most of a file's or device's blocks in these parts are zeros, by samples.

    What cannot be read is not said to be empty.
    """
    try:
        fd = os.open(facts.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
            return False
        empty = sum(not _has_data(fd, at) for at in _places(facts, parts))
        return empty >= SAMPLES * LEAST_EMPTY
    except OSError:
        return False
    finally:
        os.close(fd)


def _has_data(fd: int, at: int) -> bool:
    return any(os.pread(fd, BLOCK_BYTES, at))


def _places(facts: TargetFacts, parts: Parts) -> Iterable[int]:
    """Spread over the parts, the same each time."""
    draw = random.Random(1)
    for number in range(SAMPLES):
        start, end = parts[number % len(parts)]
        share = draw.uniform(start, end) / 100
        yield int(share * facts.capacity_bytes) // BLOCK_BYTES * BLOCK_BYTES


def texts_by_run(found: Iterable[Lint]) -> dict[RunKey, list[str]]:
    """What is wrong with each run."""
    texts: dict[RunKey, list[str]] = {}
    for one in found:
        key = (one.test, id(one.run), tuple(one.cell.items()))
        texts.setdefault(key, []).append(one.text)
    return texts


def run_key(run: Run) -> RunKey:
    """Where `texts_by_run` has a run."""
    return run.test.title, id(run.template), tuple(run.cell_text.items())
