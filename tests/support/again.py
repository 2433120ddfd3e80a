"""`--again`: what failed beside other tests runs once more, alone, and is named.

The machine of continuous integration is shared: its CPUs and its disk stall now and then,
which a test that measures time cannot tell from a defect. A defect fails both times. More
than a few failures are one, as is a file that cannot be collected, and nothing runs again.
"""

import subprocess
import sys

import pytest

MOST = 5


def pytest_addoption(parser):
    """Of continuous integration."""
    parser.addoption(
        "--again", action="store_true", help=f"run up to {MOST} failures again, alone"
    )


class Again:
    """The tests that failed, each once, in the controller of pytest-xdist."""

    def __init__(self):
        self.failed = {}
        self.passed_alone = self.not_collected = False

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_collectreport(self, report):
        self.not_collected |= report.failed

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session):
        yield
        few = 0 < len(self.failed) <= MOST and not self.not_collected
        if few and session.exitstatus == 1:
            words = [sys.executable, "-m", "pytest", "-n", "0", *self.failed]
            done = subprocess.run(words, cwd=session.config.rootpath, check=False)
            self.passed_alone = done.returncode == 0
        if self.passed_alone:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter):
        for test in self.failed if self.passed_alone else ():
            terminalreporter.line(f"DISTURBED: {test} passed alone", yellow=True)


def pytest_configure(config):
    """Not in the workers."""
    if config.getoption("--again") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Again(), "tests-again")
