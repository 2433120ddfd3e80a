"""Results of a store and of bundles: the file of a bundle is a session's key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.cli.display.output import print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import results_at, shared_results
from ioplan.core.error_kinds import StoreFault
from ioplan.results.share.bundle import is_bundle, read_bundle, restore
from ioplan.results.store.errors import StoreError
from ioplan.results.store.pushing import push
from ioplan.results.store.store import Store, default_path

SEVERAL = "show one of them by its id, or all with ioplan report"


@contextmanager
def results_of(
    place: str | None, keys: Iterable[str], *, single: bool = False
) -> Iterator[tuple[Store, list[str]]]:
    """A store that has all sessions named, and their ids, with commas between several.

    A key is that of a session or of a job, a bundle's file, or several with commas
    between them; a `single` one is of one session. Raises StoreError, BundleError,
    UsageError, LabError.
    """
    keys = list(keys)
    named = [word.strip() for key in keys for word in key.split(",")]
    bundles = {word for word in named if is_bundle(word)}
    own = [word for word in named if word not in bundles]
    with ExitStack() as stack:
        if bundles:
            folder = stack.enter_context(TemporaryDirectory())
            store = stack.enter_context(Store.open(Path(folder) / "all.db"))
            ids = {word: _restored(word, store) for word in bundles}
            ids |= _pushed(place, own, store) if own else {}
        else:
            store, ids = _having(place, own, stack)
        found = [_replaced(key, ids) for key in keys]
        if single and "," in found[0]:
            count = found[0].count(",") + 1
            raise UsageError(f"{keys[0]} has {count} sessions: {SEVERAL}")
        yield store, found


def _replaced(key: str, ids: dict[str, str]) -> str:
    return ",".join(ids[word.strip()] for word in key.split(","))


def _having(
    place: str | None, words: Sequence[str], stack: ExitStack
) -> tuple[Store, dict[str, str]]:
    """The store that has them: where that is the lab's and has them not yet, this
    host's own."""
    store = stack.enter_context(results_at(place))
    try:
        return store, _ids(store, words)
    except StoreError as error:
        own = default_path()
        if (
            error.kind != StoreFault.NO_SESSION
            or not shared_results(place)
            or not own.exists()
        ):
            raise
        store = stack.enter_context(Store.to_read(own))
        with suppress(StoreError):
            ids = _ids(store, words)
            print_message(f"note: not there yet; from this host's {store.where}")
            return store, ids
        raise


def _ids(store: Store, words: Sequence[str]) -> dict[str, str]:
    return {word: ",".join(store.ids_of(word)) for word in words}


def _restored(path: str, store: Store) -> str:
    """A bundle's sessions, now in the store too."""
    found = read_bundle(path)
    restore(found.sessions, store)
    return ",".join(one.session.id for one in found.sessions)


def _pushed(place: str | None, words: Sequence[str], store: Store) -> dict[str, str]:
    with ExitStack() as stack:
        mine, ids = _having(place, words, stack)
        every = [id for some in ids.values() for id in some.split(",")]
        for _ in push(mine, store, every):
            pass
    return ids
