"""An error by its kind, beside what it says."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ioplan import ExplainedError
from ioplan.core.error_kinds import Kind


@contextmanager
def refused(
    kind: Kind, text: str = ""
) -> Iterator[pytest.ExceptionInfo[ExplainedError]]:
    """What is done must be refused for this reason, with this text."""
    with pytest.raises(ExplainedError, match=text) as caught:
        yield caught
    assert caught.value.kind is kind, f"{caught.value.kind}: {caught.value}"
