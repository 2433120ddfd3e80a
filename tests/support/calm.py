"""Tests that are measurements, and name what they need of the machine."""

from functools import wraps

from ioplan_testing import calmly


def needs_idle_cpu(ms):
    """Each attempt begins once a CPU was idle so long, in a folder of its own."""

    def marked(test):
        @wraps(test)
        def measured(**fixtures):
            calmly(lambda number: test(**_own(fixtures, number)), ms)

        return measured

    return marked


def _own(fixtures, number):
    whole = fixtures.get("tmp_path")
    if whole is None:
        return fixtures
    folder = whole / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}
