"""Two sides compared, by the command line."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from ioplan.results.compare.comparison import Comparison
from ioplan.results.store.database import is_address
from ioplan_lab.desk.calls import Calls, said
from ioplan_lab.desk.errors import DeskError

LIMIT_S = 120.0


async def compared(
    calls: Calls, place: str, base: Sequence[str], new: Sequence[str]
) -> Comparison:
    """Sessions by their ids; `place` is the store's. Raises DeskError."""
    words = ["compare", ",".join(base), ",".join(new), "--format", "json"]
    if not is_address(place):
        words += ["--store", place]
    environment = {"IOPLAN_STORE": place}
    done = await calls.call(words, limit_s=LIMIT_S, environment=environment)
    try:
        return Comparison.model_validate_json(done.out)
    except ValidationError:
        raise DeskError(said(done)) from None
