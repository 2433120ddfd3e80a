"""The SQL of examples/lab/postgres: who may do what, and what is removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import run
from paths import ROOT
from postgres import needs_postgres, postgres, psql
from sessions import put

from ioplan.results.store import Store, push

SQL = ROOT / "examples/lab/postgres"
OLD_ID = "20200101-000000-old"
OLD, NEW = "2020-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"


@pytest.mark.long
@needs_postgres
def test_roles_and_retention_do_what_they_say(tmp_path: Path) -> None:
    import psycopg

    ended = {OLD_ID: OLD, "20200101-000000-kept": OLD, "2999-new": NEW}
    with postgres() as address:
        for _ in range(2):
            psql(address, SQL / "roles.sql")
        lab = address.replace("ioplan@", "lab@")
        guest = address.replace("ioplan@", "lab_read@")
        with Store.open(tmp_path / "a.db") as local, Store.at(lab) as shared:
            for id, end in ended.items():
                tags = ("keep",) if "kept" in id else ()
                put(local, run(1), id=id, tags=tags)
                local.finish(id, "ok", end)
            list(push(local, shared))
        psql(lab, SQL / "retention.sql", "-v", "days=730")
        with Store.at(guest) as shared:
            assert {one.id for one in shared.sessions()} == {*ended} - {OLD_ID}
            assert [shared.count(one.id) for one in shared.sessions()] == [1, 1]
        with (
            psycopg.connect(guest) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("DELETE FROM session")
