"""A store's file that is removed, replaced or emptied while a session writes to it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command import plan_file
from figures import record
from refused import refused
from sessions import put, session
from started import started

from ioplan import StoreFault
from ioplan.records import RunDetail
from ioplan.results.store import Store, StoreError

RUNS = """test "Reads" {
  vary qd in 1, 2, 4, 8
  run random 4KiB 100/0 for 400ms
}"""


def remove(path: Path) -> None:
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()


def remove_only_it(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other.db")
    Store.open(other).close()
    other.replace(path)


def restore_a_copy(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copyfile(path, copy)
    copy.replace(path)


LOSSES = [remove, remove_only_it, replace, restore_a_copy]


@pytest.mark.parametrize("lose", LOSSES)
def test_what_it_held_is_written_anew(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    path = tmp_path / "results.db"
    with Store.open(path) as store:
        put(store, record(1))
        lose(path)
        with refused(StoreFault.STORE_LOST, "was removed or replaced") as caught:
            store.add(record(2), RunDetail())
        store.finish(record(1).session, "failed", "2026-01-01T00:00:00Z")
    found = re.search(r"\S+-rescued-\S+\.db", str(caught.value))
    assert found
    with Store.open(found[0]) as copy:
        assert [one.seq for one in copy.records(record(1).session)] == [1, 2]
        assert copy.session("last").status == "failed"


def test_a_file_that_was_emptied_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with Store.open(path) as store:
        store.begin(session())
        os.truncate(path, 0)
        with pytest.raises(StoreError):
            store.add(record(1), RunDetail())


@pytest.mark.slow
@pytest.mark.long
def test_a_session_ends_with_3_and_says_where_they_are(tmp_path: Path) -> None:
    path, scratch = tmp_path / "results.db", tmp_path / "scratch"
    plan = plan_file(tmp_path, RUNS)
    words = (plan, "--store", path, "--target", scratch, "--create", "8MiB")
    with started(*words) as run:
        run.until("record")
        remove(path)
        code = run.end()
    assert code == 3, run.said
    found = re.search(r"\S+-rescued-\S+\.db", run.said)
    assert found, run.said
    with Store.open(found[0]) as copy:
        kept = list(copy.records(copy.session("last").id))
    assert len(kept) == 2 and all(one.status == "ok" for one in kept)
