"""What a host reports of its devices: the guard's survey, and the health of drives."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.runner.guard.survey import Surveyed, survey
from ioplan.runner.lab.lab import Lab
from ioplan.runner.telemetry.smart import Smart


def reported(lab: Lab) -> Iterator[Surveyed]:
    """As `survey`, with the SMART logs of the NVMe drives that the lab names.

    A log takes some milliseconds, and is empty where this user may not read it.
    """
    for one in survey(lab):
        if one.name and one.identity and one.identity.kernel.startswith("nvme"):
            log = Smart(one.path).smart_log()
            yield one.model_copy(update={"smart": log})
        else:
            yield one
