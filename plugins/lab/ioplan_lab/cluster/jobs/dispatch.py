"""From a target or group of a lab to a job with a lane for each target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ioplan.backends import LabTarget
from ioplan.core import ClusterFault, needed
from ioplan.language import CheckedPlan
from ioplan.records import RunRequest, new_session_id
from ioplan.runner import Lab, expanded, for_host, read_lab
from ioplan_lab.cluster.errors import ClusterError, missing_package
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.cluster.jobs.lane import LaneCall
from ioplan_lab.cluster.jobs.lane_folder import lanes_root
from ioplan_lab.cluster.jobs.traces import offer

FOLDER = "plan"


def plan_files(plan: CheckedPlan) -> dict[str, str]:
    """The plan and the files that it uses: texts by path, the plan's first.

    They are found there as they are here: beside the plan.
    """
    used = {f"{FOLDER}/{name}": text for name, text in plan.files.items()}
    return {f"{FOLDER}/{Path(plan.file).name}": plan.text} | used


def fleet_targets(lab: Lab, words: Sequence[str]) -> list[str]:
    """The targets that the words after `--target` stand for, each once.

    What is no name of the lab is a path of this host, or an address of a backend.
    """
    return list(dict.fromkeys(_named(lab, word) for word in expanded(lab, words)))


def target_entry(lab: Lab, name: str) -> LabTarget:
    """What the lab says of a target; of others only the path is known."""
    return lab.targets.get(name) or LabTarget(path=name)


def _named(lab: Lab, word: str) -> str:
    """A path that holds from a lane's folder; a name or an address stays one."""
    path = Path(word)
    named = word in lab.targets or (":" in word and not path.exists())
    return word if named else str(path.absolute())


def new_job(
    plan: CheckedPlan,
    lab_file: Path | None,
    words: Sequence[str],
    request: Callable[[str], RunRequest],
    store: Path,
    id: str = "",
) -> Job:
    """A job with a lane for each target; `store` is for those of this host.

    `request` says what is asked of a target.

    The lab was checked before. Raises ClusterError, OSError.
    """
    lab = read_lab(lab_file)
    id, files = id or new_session_id(), plan_files(plan)
    offer(files.values(), lanes_root(str(store)))
    labs: dict[str | None, str] = {None: lab_file.read_text() if lab_file else ""}
    calls = []
    for number, target in enumerate(fleet_targets(lab, words), 1):
        entry = target_entry(lab, target)
        _check_path(target, entry)
        if entry.host not in labs:
            labs[entry.host] = lab_text(for_host(lab, str(entry.host)))
        host = lab.hosts.get(entry.host or "")
        lock = (f"lock {entry.lock}",) if entry.lock else ()
        call = LaneCall(
            job=id,
            session=f"{id}-{number:03}",
            target=target,
            host=entry.host or "",
            plan=next(iter(files)),
            files=files,
            lab=labs[entry.host],
            request=request(target),
            locks=(target, *lock),
            store=host.store if host else str(store.absolute()),
            title=plan.title,
            where=", ".join(words),
            drive=entry.serial or entry.wwid or entry.backing_file or "",
            results=lab.results,
        )
        calls.append(call)
    scheduler = _scheduler_for(lab, calls)
    return Job(
        id=id,
        plan=plan.title,
        where=", ".join(words),
        scheduler=scheduler,
        results=lab.results,
        delivery_s=lab.delivery_s,
        calls=tuple(calls),
    )


def _check_path(name: str, entry: LabTarget) -> None:
    """Each lane has a folder of its own; only an address of a backend has a colon."""
    path = entry.path or "/"
    if not path.startswith("/") and ":" not in path:
        raise ClusterError(
            f"the lab's target {name!r} has the relative path {path!r}, which is "
            f"another file in each lane's folder; write the absolute path",
            ClusterFault.RELATIVE_PATH,
        )


def _scheduler_for(lab: Lab, calls: Sequence[LaneCall]) -> str | None:
    if not any(call.host for call in calls):
        return None
    if not all(call.host for call in calls):
        local = next(call.target for call in calls if not call.host)
        raise ClusterError(
            f"some targets are on hosts of the lab, and {local} is on none; give it a "
            f"host, or run it by itself",
            ClusterFault.MIXED_HOSTS,
        )
    if lab.scheduler is None:
        raise ClusterError(
            "the lab has hosts but no scheduler; add at its beginning for "
            'example scheduler = "tls://10.0.0.1:8786", and run `ioplan lab up` there',
            ClusterFault.NO_SCHEDULER,
        )
    return lab.scheduler


def lab_text(lab: Lab) -> str:
    """As a lab file."""
    with needed("lanes on other hosts need", "lab", missing_package):
        import tomli_w  # noqa: PLC0415
    values = lab.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return tomli_w.dumps(values)
