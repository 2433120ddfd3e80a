"""Errors of the desk, as a person reads them."""

from __future__ import annotations

from functools import partial

from ioplan.core import CommandFault, ExplainedError


class DeskError(ExplainedError):
    """The desk cannot do it; the text says why, and what to do.

    `status` is HTTP's number for it.
    """

    kind = CommandFault.USAGE
    status = 400


class Refused(DeskError):
    """This person may not do it, or not so."""

    status = 403


class Missing(DeskError):
    """There is no such thing."""

    status = 404


class TooLarge(DeskError):
    """More was sent than is taken."""

    status = 413


class TooSlow(DeskError):
    """What was sent did not come in time."""

    status = 408


usage_error = partial(ExplainedError, kind=CommandFault.USAGE)
"""What the desk itself lacks is an error of the call, and of nobody's request."""
