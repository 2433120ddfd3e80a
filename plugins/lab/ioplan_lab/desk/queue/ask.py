"""What a person asks the queue for, checked: the same at a shell and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.core import did_you_mean
from ioplan.language import CheckedPlan
from ioplan.records import RunRequest
from ioplan.runner import Lab
from ioplan.runner.guard import signed_list
from ioplan_lab.cluster.jobs.dispatch import fleet_targets, plan_files
from ioplan_lab.desk.database import stamp
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.entry import Priority, QueueEntry, queueable


def wanted(
    plan: CheckedPlan,
    lab: Lab,
    targets: Sequence[str],
    person: str,
    request: RunRequest | None = None,
    priority: Priority = Priority.NORMAL,
    not_before: str = "",
    consent: str = "",
    origin: str = "",
) -> QueueEntry:
    """Raises DeskError for a target that the lab does not name, ConsentListError."""
    drives = drives_named(lab, targets)
    asked = (request or RunRequest()).model_copy(update={"targets": (*targets,)})
    if consent:
        signed_list(consent, lab, plan)
    return QueueEntry(
        person=person,
        plan=plan.title,
        files=plan_files(plan),
        target=", ".join(dict.fromkeys(targets)),
        drives=tuple(drives),
        request=queueable(asked),
        priority=priority,
        not_before=not_before if not_before > stamp() else "",
        consent=consent,
        origin=origin,
    )


def drives_named(lab: Lab, words: Sequence[str]) -> list[str]:
    """The lab's targets of some names or groups, each once. Raises DeskError."""
    found: dict[str, None] = {}
    for word in words:
        if word not in lab.targets and word not in lab.groups:
            near = did_you_mean(word, [*lab.targets, *lab.groups])
            raise DeskError(f"the lab has no target {word!r}{near}")
        found |= dict.fromkeys(fleet_targets(lab, [word]))
    return list(found)


def priority_named(word: str) -> Priority:
    """Raises DeskError."""
    for one in Priority:
        if one.word == word:
            return one
    known = ", ".join(one.word for one in Priority)
    raise DeskError(f"there is no priority {word!r}; there are: {known}")
