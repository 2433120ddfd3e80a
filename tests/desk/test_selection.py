"""Drives by what they are: `--on`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ioplan, plan_file
from desks import chosen, desk_in, hosts_report, queued, stored, tag
from figures import run
from sessions import session

from ioplan.records import Drive, Telemetry
from ioplan.results.store import Store
from ioplan.runner import Identity
from ioplan.runner.guard import Surveyed
from ioplan_lab import Desk, DeskError, Drives

PLAN = 'test "T" { run random 4KiB 100/0 for 200ms }'


@pytest.fixture(scope="module")
def lab_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Five drives: d4 is reserved by somebody else, and d5 out of service."""
    folder = tmp_path_factory.mktemp("drives")
    lab, lives = folder / "lab.toml", {1: 5, 3: 30, 4: 5, 5: 5}
    text = 'scheduler = "tls://127.0.0.1:8786"\n[hosts.h1]\n'
    for number in range(1, 6):
        text += f'[targets.d{number}]\nhost = "h1"\npath = "/dev/d{number}"\n'
    lab.write_text(text + '[groups]\nall = ["d*"]\nqual = ["d*"]\n')
    with desk_in(folder, lab) as desk:
        rows = []
        for number in range(1, 6):
            model = "Other" if number == 3 else "ACME 9100"
            tag(desk, f"d{number}", "fast", f"t{number}")
            known = Identity(kernel="x", model=model)
            more = {
                "firmware": f"2.{number}",
                "size_bytes": number * 10**12,
                "verdict": "writable",
            }
            rows.append(Surveyed(name=f"d{number}", identity=known, **more))
            if number in lives:
                drive = Drive(lab_name=f"d{number}", model=model)
                log = {"percent_used": lives[number]}
                id = f"20261121-05000{number}-aaaa"
                stored(desk, id, "2026-11-21T05:00:00Z", drive, log, host_name="h1")
        hosts_report(desk, "h1", *rows)
        Drives(desk.database).take_out(["d5"], "ada", "dead")
        queued(desk, "d4")
        assert desk.queue.take("desk")
        yield desk


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("model 'ACME 9100'", "d1 d2 d4"),
        ("model acme*, firmware 2.*, life < 20 %", "d1 d4"),
        ("1 x model 'ACME 9100', firmware 2.*, life < 20 %", "d1"),
        ("2 x model ACME 9100", "d1 d2"),
        ('life >= 5%, life <= 30 %, model "o*"', "d3"),
        ("size > 2 TB, size <= 4TB", "d3 d4"),
        ("group qual, host h1, drive d[12]", "d1 d2"),
        ("tag:t2", "d2"),
        ("1 x tag:fast, model other", "d3"),
        ("tag t4", "d4"),
    ],
)
def test_what_is_taken(lab_desk: Desk, text: str, names: str) -> None:
    assert chosen(lab_desk, text) == names.split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3 x model ACME*", "3 wanted, 4 drives match, 2 of them can be taken: d4 is busy"),
        ("drive d5", "1 wanted, 1 drive match, 0 of them can be taken: d5 is out of"),
        ("model ACMEE*", "of models there are: ACME 9100, Other"),
        ("drive d2, life < 50 %", "the life of 1 drive is not known"),
        ("serial S*", "of serials there are: none is known"),
        ("colour red", "drives have no 'colour'"),
        ("model < 3", "model needs a text"),
        ("life 20 %", "life needs <, >"),
        ("life < 20", "life is in percent"),
        ("size > 3s", "size is for example 1TB"),
        ("size > many", "size: "),
        ("0 x model A", "0 drives are none"),
        ("8 x ", "'nothing' is no condition"),
        ("model 'A", "is no condition; write for example 8 x model"),
    ],
)  # fmt: skip
def test_what_is_refused(lab_desk: Desk, text: str, said: str) -> None:
    with pytest.raises(DeskError, match=re.escape(said)):
        chosen(lab_desk, text)


@pytest.mark.slow
@pytest.mark.long
def test_a_plan_runs_on_drives_that_are_named_by_what_they_are(
    tmp_path: Path, store_path: Path
) -> None:
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, PLAN)
    lines = ['backend = "sim"']
    for number in (1, 2, 3):
        lines += [f"[targets.d{number}]", f'path = "/sim/{number}"', 'model = "ACME"']
    lab.write_text("\n".join([*lines, '[groups]\nqual = ["d2", "d3"]\n']))
    with Store.open(store_path) as store:
        for number, life in ((1, 10), (2, 40), (3, 15)):
            id = f"20261121-05000{number}-aaaa"
            known = Drive(lab_name=f"d{number}", model="ACME", firmware="2.0")
            store.begin(session(id=id, drive=known))
            smart = Telemetry(
                covered_s=1, intervals=1, smart_after={"percent_used": life}
            )
            store.add(*run(1, session=id, telemetry=smart))
            store.finish(id, "ok", "2026-11-21T05:46:12Z")
    words = ("--lab", lab, "--create", "1GiB", "--on")
    done = ioplan("run", plan, *words, "2 x model ACME, firmware 2.*, life < 20 %")
    assert done.code == 0, done.err
    assert "on d1, d3" in done.err
    jobs = [json.loads(one) for one in ioplan("jobs", "--json").out.splitlines()]
    assert [(one["where"], one["lanes"]) for one in jobs] == [("d1, d3", {"ok": 2})]
    added = ioplan("lab", "queue", "add", plan, "--lab", lab, "--on", "1 x group qual")
    assert added.code == 0 and "on d2" in added.err
    none = ioplan("run", plan, *words, "model Other")
    assert none.code == 2 and "of models there are: ACME" in none.err
    both = ioplan("run", plan, *words, "model ACME", "--target", "d1")
    assert both.code == 2 and "not both" in both.err
    neither = ioplan("lab", "queue", "add", plan, "--lab", lab)
    assert neither.code == 2 and "add --target" in neither.err
