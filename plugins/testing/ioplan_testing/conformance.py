"""All the tests of the kit together, as a backend's own test class inherits them."""

from __future__ import annotations

from ioplan_testing.test_events import Events
from ioplan_testing.test_features import Features
from ioplan_testing.test_load import Load
from ioplan_testing.test_safety import Safety
from ioplan_testing.test_witness import Witness
from ioplan_testing.test_words import Words


class Conformance(Words, Load, Events, Safety, Features, Witness):
    """Override `backend` and `request`; `content` and `damage` for what is no file."""
