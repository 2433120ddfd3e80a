"""The last line of `make test`: how it went, how many, how long, and what was left out."""

import time
from collections import Counter

import pytest
from left_out import WORD
from parts import ALL

INSTALL = "{:,} left out: `make test-tools` installs what they need"
SPDK, BY_HAND = "SPDK", "{:,} left out that need SPDK, built by hand"
SHORT = "not long"
"""What `make test` selects."""
NAMED = 3
NOT_RUN = ". Not run: `make test-long`, `make test-vm`"


class Closing:
    """Outcomes by test, in the controller of pytest-xdist."""

    def __init__(self, selected, part=ALL):
        self.not_run = NOT_RUN if selected == SHORT else ""
        if part.of > 1:
            self.not_run += f". Part {part} of the files: the others were not run"
        self.begun_s = time.monotonic()
        self.outcomes = {}
        self.left_out = Counter()

    def pytest_runtest_logreport(self, report):
        if report.failed or report.when == "call" or report.skipped:
            self.outcomes[report.nodeid] = report.outcome
        if report.skipped:
            _, found, reason = str(report.longrepr).partition(WORD)
            self.left_out[BY_HAND if SPDK in reason else INSTALL] += bool(found)

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[report.nodeid] = report.outcome

    def sentence(self, code, seconds):
        """The line; `code` is pytest's exit code after failures were run again."""
        found = list(self.outcomes.values())
        failed, passed = found.count("failed"), found.count("passed")
        took = f"in {seconds // 60:.0f} min {seconds % 60:.0f} s"
        counts = sorted(self.left_out.items())
        left = "".join(f"; {text.format(count)}" for text, count in counts if count)
        left += self.not_run
        if code == pytest.ExitCode.OK:
            again = f", {failed:,} of them when run again alone" if failed else ""
            return f"PASSED: {passed + failed:,} tests{again}, {took}{left}."
        total = f"{failed:,} of {passed + failed:,} tests"
        return f"FAILED: {self._what_failed(code)}; {total}, {took}{left}."

    def _what_failed(self, code):
        """The names of the first tests that failed; without any, why pytest failed."""
        names = [name for name, one in self.outcomes.items() if one == "failed"]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        if names:
            return ", ".join(names[:NAMED]) + more
        if code == pytest.ExitCode.TESTS_FAILED:
            return "a test may not be left out here (--complete), or a worker ended"
        return pytest.ExitCode(code).name.lower().replace("_", " ")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config):
        seconds = time.monotonic() - self.begun_s
        print(self.sentence(self.code, seconds), flush=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session):
        yield
        self.code = int(session.exitstatus)


def pytest_configure(config):
    """With `--again`, as `make test` calls it, and not in the workers."""
    if config.getoption("--again") and not hasattr(config, "workerinput"):
        closing = Closing(config.getoption("-m"), config.getoption("--part"))
        config.pluginmanager.register(closing, "tests-closing")
