"""`--part 2/4`: the second quarter of the files with tests, and of no file a part.

What a file's tests share is opened by its first. The last line says what was not run.
"""

import argparse
import re
from typing import NamedTuple

import pytest


class Part(NamedTuple):
    """From 1 on, of so many."""

    number: int
    of: int

    def __str__(self):
        return f"{self.number}/{self.of}"

    def take(self, items):
        """The tests of every so many-th file."""
        files = sorted({item.nodeid.partition("::")[0] for item in items})
        chosen = {*files[self.number - 1 :: self.of]}
        return [item for item in items if item.nodeid.partition("::")[0] in chosen]


ALL = Part(1, 1)


def part_of(text):
    """Raises ArgumentTypeError."""
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(f"not a part such as 2/4: {text!r}")
    return Part(int(found[1]), int(found[2]))


def pytest_addoption(parser):
    """Of continuous integration."""
    parser.addoption(
        "--part", type=part_of, default=ALL, help="such a part of the files: 2/4"
    )


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_collection_modifyitems(items, config):
    yield
    items[:] = config.getoption("--part").take(items)
