"""What fio says when SPDK's plugin is at fault, for a person."""

from __future__ import annotations

import re

from ioplan.job import Failure
from ioplan_spdk.bdevperf.exits import KNOWN_MESSAGES

REBUILD = (
    "fio and plugin must be of one version: build SPDK --with-fio=the source of "
    "fio {0}, or name the fitting fio with --option fio="
)
VERSION_MISMATCHES = (
    (
        r"bad ioops version (\d+) \(want (\d+)\)",
        "the plugin was built for another fio: its interface is {0}, and that of fio "
        "{version} is {1}; ",
    ),
    (
        r"symbol lookup error: \S+ undefined symbol: (\S+)",
        "the plugin was built for another fio: fio {version} has no {0}; ",
    ),
)
UNLOADED = r"engine spdk_bdev not (?:loadable|found)"
MORE = "with more memory, for example --option memory_mib=1024: of too little SPDK dies"
FAULTS = (
    (
        r"Unable to find bdev with name (\S+)",
        "missing-target",
        "SPDK has no device {0}; look at its configuration",
    ),
    (
        r"Parsing JSON configuration failed|STARTUP RPCs failed",
        "bad-job",
        "SPDK refuses its configuration",
    ),
    (
        r"must set thread=1",
        "bad-job",
        "the plugin wants threads",
    ),
)


def version_mismatch(messages: str, version: str) -> str:
    """Why fio does not take the plugin; empty if nothing says so."""
    for pattern, text in VERSION_MISMATCHES:
        if found := re.search(pattern, messages):
            start = text.format(*found.groups(), version=version)
            return start + REBUILD.format(version)
    if re.search(UNLOADED, messages):
        return f"fio {version} does not load the plugin; " + REBUILD.format(version)
    return ""


def explained(failure: Failure, messages: str, version: str) -> Failure:
    """A failure with SPDK's own reason, where it gave one."""
    if found := version_mismatch(messages, version):
        return Failure(cause="bad-backend", message=found)
    for pattern, text in KNOWN_MESSAGES:
        if match := re.search(pattern, messages):
            reason = text.format(*match.groups())
            return _with(failure, failure.cause, reason)
    for pattern, cause, text in FAULTS:
        if match := re.search(pattern, messages):
            return _with(failure, cause, text.format(*match.groups()))
    if failure.cause == "backend-died":
        return failure.model_copy(update={"message": f"{failure.message} {MORE}"})
    return failure


def _with(failure: Failure, cause: str, reason: str) -> Failure:
    return Failure(cause=cause, message=f"SPDK in fio: {reason}; {failure.message}")
