"""`show --metric`: figures by the names that expectations use."""

import pytest
from command import ioplan, plan_file, refuse, succeed

pytestmark = pytest.mark.usefixtures("rough_sim")
PLAN = """
test "Burst" {
  run random 8KiB 0/100, burst 1s of 2_000 iops as busy, then 4s of 100 iops for 10s,
      interval 1s
  vary qd in 4, 8
}
"""


def test_each_cell_has_what_is_asked(tmp_path, store_path):
    """The rates of the seconds are known: 2,000 in two of ten, else 100."""
    plan = plan_file(tmp_path, PLAN)
    assert ioplan("run", plan, "--backend", "sim", "--create", "64MiB").code == 0
    share = "intervals of iops above 1000 iops"
    call = ("show", "last", "--metric", share, "--metric", "worst_second.iops")
    whole = succeed(*call)
    for qd in (4, 8):
        assert f"qd {qd}: intervals of iops above 1_000 iops: 20 %" in whole.out
        assert f"qd {qd}: worst_second.iops: 100" in whole.out
    part = ioplan(*call, "--during", "0s..4s")
    assert "qd 4: intervals of iops above 1_000 iops: 25 %" in part.out
    none = ioplan(*call, "--during", "1h..2h")
    assert "no interval in" in none.out


def test_what_is_no_metric_is_refused(tmp_path, store_path):
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 100ms }')
    assert ioplan("run", plan, "--backend", "sim", "--create", "64MiB").code == 0
    refuse("--metric: unsupported percentile", "show", "last", "--metric", "p9x9")
    done = ioplan("show", "last", "--metric", "p99", "--format", "json")
    assert done.code == 2 and "--metric is of what is shown" in done.err
