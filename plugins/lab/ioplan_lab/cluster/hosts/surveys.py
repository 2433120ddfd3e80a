"""What `ioplan targets` says on the hosts of a lab, with the names that the lab has.

A host has no lab file of its own, so its part of this one is sent to it each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import TypeAdapter

from ioplan.runner import Lab, LabHost, for_host, reported
from ioplan.runner.guard import Surveyed
from ioplan_lab.cluster.hosts.lifecycle import Faults, on_each_host
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.ssh import run_there
from ioplan_lab.cluster.jobs.dispatch import lab_text

SURVEY_S = 120
SCRIPT = """\
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 077
cat > "$folder/lab.toml"
"$0" -m "$1" targets --json --lab "$folder/lab.toml"
"""
HERE = ""
"""The name of this host, where the lab has targets of it."""
ROWS = TypeAdapter(list[Surveyed])
Surveys = dict[str, list[Surveyed]]
"""By host."""


def surveys(
    lab: Lab, programs: Programs, hosts: Iterable[str]
) -> tuple[Surveys, Faults]:
    """What is on these hosts, and those that could not be asked. Raises ClusterError.

    The lab's names of drives are in it.
    """
    wanted = list(hosts)
    found: Surveys = {HERE: list(reported(lab))} if HERE in wanted else {}

    def ask(name: str, host: LabHost) -> None:
        words = ["sh", "-c", SCRIPT, host.python, programs.cli]
        text = lab_text(for_host(lab, name)).encode()
        said = run_there(name, host, words, text, SURVEY_S)
        found[name] = ROWS.validate_python(json.loads(said))

    named = {name: host for name, host in lab.hosts.items() if name in wanted}
    faults = on_each_host(lab.model_copy(update={"hosts": named}), ask)
    return {name: found[name] for name in wanted if name in found}, faults
