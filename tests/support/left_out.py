"""What a machine lacks is said loudly, and with `--complete` it is a failure.

Such a test is skipped, and its reason begins with `LEFT OUT:`. Only SPDK may be missing
anywhere: it is built for one machine.
"""

from collections import Counter

import pytest

WORD = "LEFT OUT: "
MAY_BE_MISSING = "IOPLAN_SPDK_DIR"


def pytest_addoption(parser):
    """Of continuous integration."""
    parser.addoption(
        "--complete", action="store_true", help="fail if anything but SPDK is left out"
    )


class LeftOut:
    """The reasons, each with how many tests it has cost."""

    def __init__(self):
        self.reasons = Counter()

    def pytest_collectreport(self, report):
        self._note(report)

    def pytest_runtest_logreport(self, report):
        self._note(report)

    def _note(self, report):
        if report.skipped and isinstance(report.longrepr, tuple):
            _, found, reason = report.longrepr[2].partition(WORD)
            self.reasons[reason] += bool(found)

    @property
    def missing(self):
        """What must not be left out, where all has to be there."""
        return [reason for reason in +self.reasons if MAY_BE_MISSING not in reason]

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session):
        yield
        if self.missing and session.config.getoption("--complete"):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter, config):
        for reason, count in self.reasons.most_common():
            if count:
                terminalreporter.line(f"{WORD}{count} tests: {reason}", yellow=True)
        if self.missing and config.getoption("--complete"):
            terminalreporter.line("all of this has to be there: --complete", red=True)


def pytest_configure(config):
    """Workers of pytest-xdist tell their controller."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftOut(), "tests-left-out")
