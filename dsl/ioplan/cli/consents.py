"""What `--overwrite-from` permits, as if each drive were named with `--overwrite`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ioplan.cli.run_options import Options
from ioplan.guard.consent_list.read import read_list
from ioplan.lab.lab import Lab
from ioplan.lab.lab_file import read_lab
from ioplan.language.plan import CheckedPlan

if TYPE_CHECKING:
    from ioplan.guard.consent_list.drives import ConsentedDrive


def with_listed(options: Options, plan: CheckedPlan) -> Options:
    """With the words of the list for this target. Raises ConsentListError."""
    if not options.overwrite_from:
        return options
    lab = read_lab(options.lab)
    words = listed_words(listed_drives(options, lab, plan), lab, options.target or "")
    return replace(options, overwrite=[*options.overwrite, *words])


def listed_drives(
    options: Options, lab: Lab, plan: CheckedPlan
) -> tuple[ConsentedDrive, ...]:
    """The drives of the list; none without one. Raises ConsentListError."""
    if not options.overwrite_from:
        return ()
    return read_list(options.overwrite_from, lab, plan).drives


def listed_words(
    drives: tuple[ConsentedDrive, ...], lab: Lab, target: str
) -> list[str]:
    """The IDs of those that a target may be: 300 drives are not in every record."""
    entry = lab.targets.get(target)
    return [one.id for one in drives if one.is_entry(entry)]
