"""The version of ioplan that runs."""

from __future__ import annotations

from ioplan.core.installed import listed_version, version_of

FROM_SOURCE = "0+source"
"""Where ioplan is imported from the source tree, and not installed."""

__version__ = version_of("ioplan") or listed_version("ioplan") or FROM_SOURCE
