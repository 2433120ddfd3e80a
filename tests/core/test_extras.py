"""What a call says where the library of an extra is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from ioplan import ClusterFault, CommandFault, ExplainedError
from ioplan.cli import Command
from ioplan.cli.app import call_command
from ioplan_lab.cluster.adopt.lab_entries import with_entries
from ioplan_lab.desk.schedules.schedule import next_time


@pytest.mark.parametrize(
    ("package", "call", "text", "kind"),
    [
        (
            "cronsim",
            lambda: next_time("0 2 * * *", "UTC", "2026-01-01T00:00:00.000+00:00"),
            ("schedules need cronsim", "serve"),
            CommandFault.USAGE,
        ),
        (
            "tomlkit",
            lambda: with_entries("", "hosts", {"h1": {"user": "root"}}),
            ("a lab file is changed with tomlkit", "lab"),
            ClusterFault.MISSING_PACKAGE,
        ),
        (
            "sched",
            lambda: call_command(Command("up", "", "sched:scheduler", extra="lab"), {}),
            ("`ioplan up` needs sched", "lab"),
            CommandFault.USAGE,
        ),
    ],
)
def test_the_command_that_installs_it(
    package: str,
    call: Callable[[], object],
    text: tuple[str, str],
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExplainedError) as error:
        call()
    what, extra = text
    pip = f"{sys.executable} -m pip install 'ioplan[{extra}]'"  # where ioplan is
    assert (str(error.value), error.value.kind) == (f"{what}: {pip}", kind)
