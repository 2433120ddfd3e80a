"""The version of ioplan that runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ioplan.core.installed import version_of


def _of_metadata() -> str:
    try:
        return version("ioplan")
    except PackageNotFoundError:  # imported from the source tree, not installed
        return "0+source"


__version__ = version_of("ioplan") or _of_metadata()
