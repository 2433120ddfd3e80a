"""Results of a store and of bundles: the file of a bundle is a session's key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.cli.errors import UsageError
from ioplan.cli.stores import results_at
from ioplan.share.bundle import is_bundle, read_bundle
from ioplan.share.contents import restore
from ioplan.store.push import push
from ioplan.store.store import Store

SEVERAL = "show one after ioplan unbundle, or all with ioplan report"


@contextmanager
def results_of(
    place: str | None, keys: Iterable[str], *, single: bool = False
) -> Iterator[tuple[Store, list[str]]]:
    """A store that has all sessions named, and the keys by which it knows them.

    A key is that of a session, a bundle's file, or several with commas between them;
    a `single` one is of one session. Raises StoreError, BundleError, UsageError.
    """
    keys = list(keys)
    named = [word.strip() for key in keys for word in key.split(",")]
    bundles = {word for word in named if is_bundle(word)}
    if not bundles:
        with results_at(place) as store:
            yield store, keys
        return
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as store:
        ids = {word: _restored(word, store) for word in bundles}
        own = [word for word in named if word not in bundles]
        ids |= _pushed(place, own, store) if own else {}
        found = [_replaced(key, ids) for key in keys]
        if single and "," in found[0]:
            raise UsageError(
                f"{keys[0]} has {len(store.sessions())} sessions: {SEVERAL}"
            )
        yield store, found


def _replaced(key: str, ids: dict[str, str]) -> str:
    return ",".join(ids[word.strip()] for word in key.split(","))


def _restored(path: str, store: Store) -> str:
    """A bundle's sessions, now in the store too."""
    found = read_bundle(path)
    restore(found.sessions, store)
    return ",".join(one.session.id for one in found.sessions)


def _pushed(place: str | None, keys: list[str], store: Store) -> dict[str, str]:
    with results_at(place) as mine:
        ids = {key: mine.session(key).id for key in keys}
        for _ in push(mine, store, ids.values()):
            pass
    return ids
