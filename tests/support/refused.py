"""An error by its kind, beside what it says."""

from contextlib import contextmanager

import pytest

from ioplan import ExplainedError


@contextmanager
def refused(kind, text=""):
    """What is done must be refused for this reason, with this text."""
    with pytest.raises(ExplainedError, match=text) as caught:
        yield caught
    assert caught.value.kind is kind, f"{caught.value.kind}: {caught.value}"
