"""The whole kit as one class of tests."""

from __future__ import annotations

from ioplan.testing.exactness import Exactness
from ioplan.testing.figures import Figures
from ioplan.testing.load import Load
from ioplan.testing.safety import Safety
from ioplan.testing.speech import Speech


class Conformance(Speech, Load, Figures, Safety, Exactness):
    """Override `backend` and `request`; `content` and `damage` for what is no file."""
