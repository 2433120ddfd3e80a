"""That a target is refused; the text says why and what to do."""

from __future__ import annotations

from ioplan.core.error_kinds import CommandFault, ExplainedError


class TargetError(ExplainedError):
    """A target cannot be used."""

    kind = CommandFault.TARGET


class ConsentError(TargetError):
    """All is well but the user's word: `--overwrite` with this `id` gives it."""

    def __init__(self, text: str, id: str) -> None:
        super().__init__(text)
        self.id = id
