"""The plans are right, in layout, published as they are, and can be run."""

import re
from pathlib import Path

import pytest

from ioplan.cli import run

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "ioplan_acme").rglob("*.ioplan"))
PLANS = [path for path in FILES if re.search(r"^test ", path.read_text(), re.M)]


def ioplan(*words):
    assert run([str(word) for word in words]) == 0


def test_they_are_right():
    ioplan("check", *FILES)


def test_they_are_in_layout():
    ioplan("fmt", "--check", *FILES)


def test_table_and_ids_are_published():
    ioplan("suites", "check", ROOT)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_they_can_be_run(plan):
    ioplan("plan", plan, "--profile", "smoke", "--capacity", "64MiB", "--rehearse")
