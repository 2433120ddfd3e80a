"""A lab file's word on a power meter outside the machine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ioplan.lab.entry import Words
from ioplan.model import Model


class PowerMeter(Model):
    """`command`, a program and its words, prints the watts of now and ends."""

    command: Annotated[tuple[Words, ...], Field(min_length=1)]
