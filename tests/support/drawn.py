"""Drawn examples: the same in each `make test`, others in each round of `make soak`."""

import random
import time

import hypothesis
import pytest

# How long one example takes says more about the machine than about the code.
hypothesis.settings.register_profile(
    "ioplan", deadline=None, derandomize=True, database=None, max_examples=50
)
hypothesis.settings.register_profile(
    "soak", deadline=None, derandomize=False, print_blob=True
)
hypothesis.settings.load_profile("ioplan")


def pytest_addoption(parser):
    """Of the soak."""
    parser.addoption(
        "--seconds", type=float, help="run tests in a drawn order, for so long"
    )


class Budget:
    """Ends the session when its time is over."""

    def __init__(self, seconds):
        self.end_s = time.monotonic() + seconds
        self.failed = False

    def pytest_collection_modifyitems(self, items):
        random.shuffle(items)

    def pytest_runtest_logreport(self, report):
        self.failed |= report.failed

    def pytest_runtest_logfinish(self, nodeid):
        if time.monotonic() > self.end_s:
            text = f"the time is over, {nodeid} was the last"
            pytest.exit(text, returncode=int(self.failed))


def pytest_configure(config):
    """Only where a time is given."""
    if seconds := config.getoption("--seconds"):
        config.pluginmanager.register(Budget(seconds), "tests-budget")
