"""Steps with names: their metrics, judged beside each other."""

from __future__ import annotations

from bench import Bench, steady_at

STEPS = """test "T" {
  run    random 4KiB 100/0 for 1s as before
  run    random 4KiB 0/100 for 1s as later
  vary   qd in 1, 2
  expect later.iops >= 90% of before.iops
  expect before.iops >= 100
}"""


def test_a_step_is_compared_with_another_of_its_cell(bench: Bench) -> None:
    bench.go(STEPS, steady_at(100, 95, 100, 80))
    found = [[one.outcome for one in r.verdicts] for r in bench.records]
    assert found == [["held"], ["held"], ["held"], ["failed"]]
    assert [one.asked.name for one in bench.records] == ["before", "later"] * 2
    assert bench.records[1].verdicts[0].limit == 90
