"""`errors allowed`: the faults of a scripted device, as a record has them."""

import pytest
from command import ioplan, last_records, plan_file, succeed

from targets import Stall

EVERY_TENTH = [{"error": "EIO", "every": 10, "nth": 10}]


def run(device, folder, clause, length="1s"):
    """A run of reads with this clause."""
    plan = f'test "A" {{ run random 4KiB 100/0, qd 4{clause} for {length} }}'
    target = ("--target", device.disk, "--backend", "io_uring", "--json")
    return ioplan("run", plan_file(folder, plan), *target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clause", "says"),
    [
        ("", "I/Os failed"),
        (", errors allowed up to 5", ": 6 I/Os failed"),
        (", errors allowed up to 5%", "main may have 5 % and has "),
    ],
)
def test_more_errors_than_allowed_fail_the_run(clause, says, device, tmp_path):
    done = run(device(fault=EVERY_TENTH), tmp_path, clause)
    record = done.record
    assert done.code != 0 and record["status"] == "failed"
    assert says in record["message"], record["message"]


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("clause", ["", " up to 15%", " up to 1_000_000"])
@pytest.mark.promise("figures.errors_apart")
def test_allowed_errors_are_counted_by_errno(clause, device, tmp_path):
    """And their latencies are not those of the reads."""
    slow = [{"shape": "fixed", "value": "2ms"}]
    made = device(fault=EVERY_TENTH, latency=slow)
    done = run(made, tmp_path, f", errors allowed{clause}")
    assert done.code == 0, done.out
    record = done.record
    read = record["directions"]["read"]
    errors = record["backend"]["facts"]["errors"]
    assert errors["main"]["EIO"]["ios"] == read["errors"]
    assert read["errors"] == pytest.approx(read["ios"] / 9, abs=2)
    assert errors["main"]["EIO"]["mean_ns"] >= 2_000_000
    assert any("main:" in one and "EIO" in one for one in record["warnings"])


@pytest.mark.slow
def test_what_failed_is_issued_again(device, tmp_path):
    """Each attempt arrives at the device; the I/O counts once, and took as long as both."""
    slow = [{"shape": "fixed", "value": "2ms"}]
    made = device(fault=EVERY_TENTH, latency=slow)
    done = run(made, tmp_path, ", retry 2")
    assert done.code == 0, done.out
    record = done.record
    read = record["directions"]["read"]
    attempts = record["backend"]["facts"]["retried"]["main"]["EIO"]
    assert not read["errors"] and "errors" not in record["backend"]["facts"]
    assert attempts == pytest.approx((read["ios"] + attempts) / 10, abs=2)
    points = {p["percent"]: p["latency_ns"] for p in read["latency"]["percentiles"]}
    assert points[50] < 3_900_000 and points[95] > 4_000_000
    (said,) = [one for one in record["warnings"] if "repeated" in one]
    assert f"main: {attempts} EIO" in said


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("retries", [1, 3])
def test_what_fails_each_time_has_failed(retries, device, tmp_path):
    made = device(fault=[{"error": "EIO", "range": ["0B", "1MiB"], "every": 1}])
    done = run(made, tmp_path, f", errors allowed, retry {retries}")
    record = done.record
    facts, errors = record["backend"]["facts"], record["directions"]["read"]["errors"]
    assert errors and facts["errors"]["main"]["EIO"]["ios"] == errors
    assert facts["retried"]["main"]["EIO"] == pytest.approx(retries * errors, abs=12)


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize(
    "clause", [", qd 4, rate 500 iops", ", qd 4, pause 1ms", ", qd 2 each, threads 2"]
)
def test_a_repeated_io_leaves_the_rest_as_it_was(clause, mode, device, tmp_path):
    """No arrival, pause or I/O of a limit is lost by it, in either mode."""
    made = device(fault=EVERY_TENTH)
    plan = f'test "A" {{ run random 4KiB 100/0{clause}, retry 3 for 4MiB }}'
    target = ("--target", made.disk, "--backend", "io_uring", "--json")
    done = succeed("run", plan_file(tmp_path, plan), *target)
    record = done.record
    read = record["directions"]["read"]
    assert record["backend"]["mode"] == mode
    assert (read["ios"], read["errors"]) == (1024, 0)


WAITS = {
    "longer than is said": (", hang 3s", 12, False),
    "longer than is usual": ("", 40, False),
    "as is said": (", hang 2min", 40, True),
}


@pytest.mark.long
@pytest.mark.parametrize("name", WAITS)
def test_an_io_is_waited_for_as_long_as_the_plan_says(name, device, tmp_path):
    """30 s unless it says so; a run that was waited for has the whole wait in its gap."""
    clause, stall_s, waited = WAITS[name]
    made = device()
    stall = Stall(made, stall_s)
    stall.thread.start()
    done = run(made, tmp_path, f", rate 200 iops{clause}", f"{stall_s + 4}s")
    stall.thread.join()
    record = done.record
    assert (record["status"] == "ok") is waited, record["message"]
    if waited:
        assert record["streams"][0]["gap_ns"] / 1e9 > stall_s - 1
    else:
        assert record["cause"] in ("hung", "silent"), record["cause"]


REPEATED = """on failure continue
test "One cell" {
  repeat 2 { run random 4KiB 100/0, qd 4 for 300ms }
  expect max < 5s
  expect errors == 0
}
"""


@pytest.mark.slow
def test_a_repeat_that_failed_leaves_its_cell_undecided(device, tmp_path, store_path):
    """Also to `compare`; what is judged after a resume takes the place of that."""
    slow = [{"shape": "fixed", "value": "1ms"}]
    # The guard's own reads come one by one.
    fault = [{"error": "EIO", "depth": [2, 16], "nth": 100, "times": 1}]
    once = device(fault=fault, latency=slow)
    target = ("--target", once.disk, "--backend", "io_uring")
    plan = plan_file(tmp_path, REPEATED)

    def verdicts():
        runs = last_records(store_path)
        return [(one.outcome, one.why) for run in runs for one in run.verdicts]

    done = ioplan("run", plan, *target)
    assert done.code == 3, done.err
    assert verdicts() == [("undecided", "1 of 2 runs failed")] * 2
    assert "undecided: expect errors == 0: 0 (1 of 2 runs failed)" in done.out
    resumed = succeed("resume", "last")
    assert verdicts() == [("held", "")] * 2
    assert "all 2 expectations passed" in resumed.out
    first = last_records(store_path)[0].session
    again = device(fault=fault, latency=slow)
    assert ioplan("run", plan, "--target", again.disk, *target[2:]).code == 3
    compared = ioplan("compare", first, "last")
    assert compared.code == 1, compared.out
    assert "NEW failed: " in compared.out
