"""What was measured by what, and where: another setup tells nothing of its noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ioplan.records.record import RunRecord

# What a session has set on its host, as a record's `host` has it under `prepared`.


def prepared_texts(host: Mapping[str, Any]) -> Iterator[str]:
    """Each setting, such as `governor performance (was powersave)`."""
    prepared = host.get("prepared")
    for key, setting in prepared.items() if isinstance(prepared, dict) else ():
        if not isinstance(setting, dict):
            continue  # a store that was passed on may say anything
        if why := setting.get("not_set"):
            yield f"{key} is not set: {why}"
        else:
            of = f" of {setting['of']}" if "of" in setting else ""
            yield f"{key}{of} {setting.get('set')} (was {setting.get('before')})"


BLOCK_LAYER = (
    *("scheduler", "write_cache", "nr_requests", "rq_affinity", "nomerges"),
    *("wbt_lat_usec", "file_system", "mount_options"),
)
"""Facts of the target's queue and mount that change how its figures scatter."""


class Setup(Struct, frozen=True):
    """A target, by which backend, on which host, through which block layer."""

    drive: str
    model: str
    size: tuple[int, int]
    backend: tuple[str, str]
    host: str
    block_layer: tuple[str, ...]
    simulated: bool

    @property
    def text(self) -> str:
        """The drive and the backend."""
        return f"drive {self.drive.lstrip(':')}, backend {self.backend[0]}"


def setup_of(run: RunRecord) -> Setup:
    """The setup of a run."""
    target, backend = run.target, run.backend
    layer = dict(run.host.get("target") or {})
    return Setup(
        drive=drive_of(run),
        model=model_of(run),
        size=(target.get("capacity_bytes") or 0, target.get("block_bytes") or 0),
        backend=(backend.name, backend.mode),
        host=str(run.host.get("hostname", "")),
        block_layer=tuple(str(layer.get(name, "")) for name in BLOCK_LAYER),
        simulated=target.get("kind") == "simulated",
    )


def drive_of(run: RunRecord) -> str:
    """Which drive it ran on: model and serial number, or a path on its host."""
    if serial := identity_of(run).get("serial"):
        return f"{model_of(run)} {serial}".strip()
    return f"{run.host.get('hostname', '')}:{run.target.get('path', '')}"


def model_of(run: RunRecord) -> str:
    """The drive's model; empty of a file."""
    return str(identity_of(run).get("model") or "")


def identity_of(run: RunRecord) -> dict[str, object]:
    """What the target's label says."""
    return dict(run.target.get("identity") or {})
