"""What the markers mean.

Who is neither `slow`, `machine` nor `long` starts no process. Of a test with several
cases that is `long_but_first`, `make test` has the first, and `make test-long` the rest.
"""

import sys

import pytest

MARKERS = ("slow", "machine", "long")
STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
"""Audit events of Python's."""
QUESTIONS = {"--version", "probe"}
"""What a program is asked once, and answers at once."""

WAITING = ("/bin/sh", "-c", 'read -r _; exec "$@"', "sh")
"""What waits beside each open target for the end of its session, and does nothing."""

started = []


def _notice(event, arguments):
    if event in STARTS and not _is_question(arguments):
        started.append(f"{event}: {arguments[:2]}")


def _is_question(arguments):
    words = arguments[1] if len(arguments) > 1 else []
    return len(words) > 1 and (words[1] in QUESTIONS or tuple(words[:4]) == WAITING)


sys.addaudithook(_notice)


def is_marked(item):
    """Whether `make fast` leaves it out."""
    return any(item.get_closest_marker(name) for name in MARKERS)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """What takes its time begins first, so that no worker is left with it at the end."""
    _mark_all_but_first(items)  # before `-m` selects
    yield
    items.sort(key=is_marked, reverse=True)


def _mark_all_but_first(items):
    seen = set()
    for item in items:
        if item.get_closest_marker("long_but_first"):
            test = item.nodeid.partition("[")[0]
            item.add_marker("long" if test in seen else "slow")
            seen.add(test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    started.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call" and started and report.passed and not is_marked(item):
        report.outcome = "failed"
        report.longrepr = f"it starts a process, so mark it slow: {started[0]}"
    return report
