"""Commands, options and clauses of earlier versions, with what to use instead."""

from __future__ import annotations

RETIRED_COMMANDS = {
    "answer": "the report's chart of latency against load shows it, and a test with "
    "`seek highest rate … where p99 < 1ms` measures it",
    "history --format bencher": "use `ioplan history --format json`",
    "history --format otava": "use `ioplan history --format json`",
    "journal": "a drive whose power is cut apart from this host's is judged by "
    "`power_control` of the lab file",
    "report --drive": "use `ioplan ls --drive NAME`, and `ioplan history --only "
    "drive=NAME`",
    "report --pdf": "print the HTML report in a browser",
}
"""By what was called, without `ioplan`, such as "report --pdf"."""
RETIRED_KEYS = {
    **dict.fromkeys(
        ("journal", "this_host"),
        "cut the power of the drive alone, by `off` and `on` of power_control",
    ),
    **dict.fromkeys(
        ("scheduler", "worker_port", "store"),
        "hosts take their work from the database that `results` names",
    ),
    "python": "`program` names the ioplan of the host",
}
"""By what a lab file says."""
RETIRED_CLAUSES = {
    "skip when predicted": "`seek` finds a limit without measuring each cell, and "
    "`vary qd in 1..64 doubling` has fewer",
}
"""By what a plan says."""


def instead_of(words: tuple[str, ...], name: str) -> str:
    """A sentence to use after "No such command"; empty for what never was one."""
    advice = RETIRED_COMMANDS.get(" ".join((*words, name)))
    return f" It was removed: {advice}." if advice else ""
