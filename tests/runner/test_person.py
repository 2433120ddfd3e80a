"""Who started a session."""

from __future__ import annotations

import os

import pytest

from ioplan.runner import login_name


@pytest.mark.parametrize("user, found", [(0, "ada"), (1000, "eve")])
def test_under_sudo_it_is_the_caller(
    user: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is not root may say anything there."""
    monkeypatch.setenv("SUDO_USER", "ada")
    monkeypatch.setenv("LOGNAME", "eve")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert login_name() == found
