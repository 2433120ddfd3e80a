"""Cases of a table, of which some have a mark."""

import pytest


def marked(cases, mark, *names):
    """All of them as parameters; those of these names have the mark."""
    return [pytest.param(one, marks=[mark] * (one in names)) for one in cases]
