"""Wheels of ioplan and all that it needs, as they are installed here.

So a host without a network gets exactly what the coordinator has. A wheel is a zip of
the files that are listed in a distribution's RECORD (PyPA, "Recording installed
projects" and "Binary distribution format"); programs are made anew where it is
installed.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from ioplan.core import ClusterFault, install_command
from ioplan_lab.cluster.errors import ClusterError

EXTRA = "lab"
NOT_KEPT = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""What is written anew wherever a wheel is installed."""


def make_wheels(into: Path, given: Sequence[Path] = ()) -> list[Path]:
    """A wheel for each distribution that hosts of a lab need.

    Where one of `given` is of the same version, it is taken as it is. Raises
    ClusterError, OSError.
    """
    known = {_key(*one.name.split("-")[:2]): one for one in given}
    return [
        known.get(_key(one.name, one.version)) or _wheel(one, into)
        for one in needed("ioplan", EXTRA)
    ]


def _key(name: str, version: str) -> tuple[str, str]:
    return re.sub(r"[-_.]+", "-", name).lower(), version


def needed(name: str, *extras: str) -> list[Distribution]:
    """A distribution and all that it needs here, each once."""
    found: dict[str, Distribution] = {}
    waiting = [(name, frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        found[_key(wanted[0], "")[0]] = one = _installed(wanted[0])
        waiting += _requirements(one, wanted[1])
    return list(found.values())


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError as error:
        raise ClusterError(
            f"hosts of a lab need {name}, which is not installed here: "
            f"{install_command('lab')}",
            ClusterFault.MISSING_PACKAGE,
        ) from error


def _requirements(
    one: Distribution, extras: Iterable[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    from packaging.requirements import Requirement  # noqa: PLC0415  dask has it

    for text in one.requires or ():
        wanted = Requirement(text)
        asked = [{"extra": extra} for extra in ("", *extras)]
        if wanted.marker is None or any(map(wanted.marker.evaluate, asked)):
            yield wanted.name, frozenset(wanted.extras)


def _wheel(one: Distribution, into: Path) -> Path:
    files = [file for file in one.files or () if _is_kept(file)]
    info = next((f.parent for f in files if f.name == "METADATA"), None)
    if info is None or _is_editable(one):
        raise ClusterError(
            f"{one.name} {one.version} is not installed from a wheel here; name a "
            f"folder with its wheel: --wheels FOLDER",
            ClusterFault.INSTALL_FAILED,
        )
    name = re.sub(r"[-_.]+", "_", one.name)
    made = into / f"{name}-{one.version}-{_tag(one)}.whl"
    rows = []
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for path in files:
            content = Path(str(path.locate())).read_bytes()
            file.writestr(_entry(str(path)), content)
            rows.append((str(path), _digest(content), len(content)))
        record = f"{info}/RECORD"
        file.writestr(_entry(record), _csv([*rows, (record, "", "")]))
    return made


def _is_kept(file: PurePosixPath) -> bool:
    inside = ".." not in file.parts and not file.is_absolute()
    is_info = file.parent.name.endswith(".dist-info")
    cached = "__pycache__" in file.parts
    return inside and not cached and not (is_info and file.name in NOT_KEPT)


def _is_editable(one: Distribution) -> bool:
    origin = json.loads(one.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _tag(one: Distribution) -> str:
    """That of the wheel's name, out of all that it stands for."""
    lines = (one.read_text("WHEEL") or "").splitlines()
    tags = [line[5:].strip().split("-") for line in lines if line.startswith("Tag: ")]
    parts = zip(*tags, strict=True)
    return "-".join(".".join(dict.fromkeys(part)) for part in parts)


def _entry(name: str) -> zipfile.ZipInfo:
    """A member with equal bytes, whenever it is made; programs stay programs."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
    return entry


def _digest(content: bytes) -> str:
    plain = base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=")
    return f"sha256={plain.decode()}"


def _csv(rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
