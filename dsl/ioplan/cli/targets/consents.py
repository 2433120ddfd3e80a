"""What `--overwrite-from` permits, as if each drive were named with `--overwrite`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioplan.cli.run_options import RunCall
from ioplan.language.plan import CheckedPlan
from ioplan.records.run_request import RunRequest
from ioplan.runner.guard.consent_list.read import read_list
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import read_lab

if TYPE_CHECKING:
    from ioplan.runner.guard.consent_list.drives import ConsentedDrive


def with_listed(call: RunCall, plan: CheckedPlan) -> RunRequest:
    """The request with the words of the list for its target.

    Raises ConsentListError.
    """
    asked = call.request
    if not call.overwrite_from:
        return asked
    lab = read_lab(asked.lab)
    words = listed_words(listed_drives(call, lab, plan), lab, asked.target or "")
    return asked.model_copy(update={"overwrite": (*asked.overwrite, *words)})


def listed_drives(
    call: RunCall, lab: Lab, plan: CheckedPlan
) -> tuple[ConsentedDrive, ...]:
    """The drives of the list; none without one. Raises ConsentListError."""
    if not call.overwrite_from:
        return ()
    return read_list(call.overwrite_from, lab, plan).drives


def listed_words(
    drives: tuple[ConsentedDrive, ...], lab: Lab, target: str
) -> list[str]:
    """The IDs of those that a target may be: 300 drives are not in every record."""
    entry = lab.targets.get(target)
    return [one.id for one in drives if one.is_entry(entry)]
