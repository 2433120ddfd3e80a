"""Putting back what was there before sessions, unless somebody has changed it since."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from ioplan.runner.host.ledger import Holder, Kept, LedgerFile
from ioplan.runner.host.sysfs import HostError, current, write
from ioplan.runner.telemetry.procfs import Tree


def put_back(
    ledger: LedgerFile,
    tree: Tree,
    on_note: Callable[[str], None],
    *,
    gone: Holder | None = None,
    but: Container[str] = (),
) -> None:
    """All that no living session wants; `gone` is the one that ends now.

    `but` are files that are about to be set anew. What cannot be put back stays in the
    ledger. Raises HostError.
    """
    due: dict[str, Kept] = {}
    before = dict(ledger.settings)
    for name, kept in before.items():
        holders = kept.left_by(gone)
        ledger.settings[name] = kept.model_copy(update={"holders": holders})
        if not holders and name not in but:
            due[name] = kept
    now = {name: current(tree, name) for name in due}  # before one changes another
    for name, kept in due.items():
        for text in _one(name, kept, now[name], ledger, tree):
            on_note(text)
    if ledger.settings != before:
        ledger.save()


def _one(
    name: str, kept: Kept, now: str | None, ledger: LedgerFile, tree: Tree
) -> Iterator[str]:
    """Sentences on what was not put back, and on what another's session left."""
    if now not in (kept.set, kept.before, None):
        yield (
            f"/{name} is {now}, which was set by someone else in the meantime; it is "
            f"not restored (it was {kept.before} before the session, which set "
            f"{kept.set})"
        )
    elif now == kept.set and now != kept.before:
        try:
            write(tree, name, kept.before)
        except (OSError, HostError) as error:
            yield _not_put_back(name, kept.before, error)
            return  # `ioplan lab restore` may do it later
        if not all(one.is_alive for one in kept.holders):
            was = f"left by a killed session: {now}"
            yield f"/{name} is {kept.before} again; {was}"
        yield from _forgotten(kept.lost, tree)
    del ledger.settings[name]


def _forgotten(lost: dict[str, str], tree: Tree) -> Iterator[str]:
    """What the kernel has reset with a setting."""
    for name, text in lost.items():
        if (now := current(tree, name)) is None or now == text:
            continue
        try:
            write(tree, name, text)
        except (OSError, HostError) as error:
            yield _not_put_back(name, text, error)


def _not_put_back(name: str, text: str, error: Exception) -> str:
    why = getattr(error, "strerror", None) or error
    return f"/{name} cannot be set back to {text}: {why}"
