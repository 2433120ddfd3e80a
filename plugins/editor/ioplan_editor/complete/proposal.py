"""Something that may be written at a place."""

from __future__ import annotations

from msgspec import Struct

from ioplan.language.statement_table import HOLE


class Completion(Struct, frozen=True):
    """One proposal; `template` has editors' holes, and replaces the word.

    With `comma`, one has to stand behind what comes before.
    """

    label: str
    sort: str
    template: str
    about: str = ""
    detail: str = ""
    comma: bool = False

    @property
    def text(self) -> str:
        """The template with its examples."""
        return HOLE.sub(lambda hole: hole[1] or "", self.template)
