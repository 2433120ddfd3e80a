"""What programs that read fio's JSON made of ours is still true of today's.

PerfKitBenchmarker 946ea3176 (its `linux_packages.fio.ParseResults`) and fio-plot cfc6a6f6e
(its `fiolib.jsonparsing`) have read what is recorded, and had our figures.
"""

import json

import pytest
from command import ioplan
from test_fio_command import shape

from golden import Golden

RECORDED = Golden("fio_readers")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["both", "job"])
def test_what_is_printed_today_has_the_recorded_form(name, tmp_path, monkeypatch):
    """So that those programs read it as they read what was recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "r.db"))
    (tmp_path / "job.fio").write_text(RECORDED[name].input["job"])
    done = ioplan("fio", "job.fio", "--output-format=json")
    assert done.code == 0, done.err
    today, then = json.loads(done.out), RECORDED[name].input["printed"]
    assert [shape(one) for one in today["jobs"]] == [shape(o) for o in then["jobs"]]
    assert today.keys() == then.keys()
