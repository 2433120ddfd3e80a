"""Errors of a lab with several hosts."""

from __future__ import annotations

from functools import partial

from ioplan.core import ClusterFault, ExplainedError


class ClusterError(ExplainedError):
    """The lab's hosts cannot do it; the text says which, why, and what to do."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text, kind)


missing_package = partial(ClusterError, kind=ClusterFault.MISSING_PACKAGE)
