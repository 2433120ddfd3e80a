"""Telemetry of runs: from samples to records, the store, exports and metrics."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest
from command import ioplan, plan_file
from cpu_witness import Moment, Witnessed, check_cpu, witnessed
from figures import SECOND_NS, record, run, workload
from hypothesis import given
from hypothesis import strategies as st
from made_machine import CPU, heat, nvme, put, rapl, stat
from sessions import session

from ioplan.backends import TargetFacts
from ioplan.job import Progress, Result, Started
from ioplan.language import parse_metric
from ioplan.records import RunDetail, RunRecord, Telemetry, TelemetryPoint
from ioplan.results import export
from ioplan.results.measure import Figure, Sample, figure
from ioplan.results.store import Store
from ioplan.runner import (
    TICKS_PER_S,
    Disk,
    Instruments,
    LabError,
    Tree,
    domains,
    machine_times,
    read_lab,
)
from ioplan.runner.telemetry import instruments as sampler_module
from ioplan.runner.telemetry import sample as samples
from ioplan.runner.telemetry.instruments import Sampler
from ioplan.runner.telemetry.power import Power, power
from ioplan.runner.telemetry.sample import ProgramTimes
from ioplan.runner.telemetry.sensors import Sensors, filled_in
from ioplan.runner.telemetry.summary import covering, points, summary

ID = session().id
JOB = workload()[1]


# from samples to figures


def at(t_s: float, **more: Any) -> samples.Sample:
    return samples.Sample(t_s=t_s, at_s=100 + t_s, **more)


def test_the_storage_stack_is_the_system_without_the_generators_own(
    tmp_path: Path,
) -> None:
    """stack = all CPUs without idle, iowait and steal - others - user time of ours.

    Two CPUs, each busy for half of the time: 10 ticks of 20, 10 times over.
    """
    tree, found, length_s = Tree(tmp_path), [], 200 / TICKS_PER_S
    own = ProgramTimes(1.0, 3.0), ProgramTimes(1.1, 3.3)
    others = ProgramTimes(5.0, 6.0), ProgramTimes(5.3, 6.7)
    for number in range(2):
        ticks = 100 + 10 * number
        put(tmp_path, **{"proc/stat": stat(ticks, 10 * ticks, 100 * ticks)})
        times = {"own": own[number], "others": others[number]}
        found.append(at(number * length_s, machine=machine_times(tree), **times))
    made = summary(found, {})
    assert made and (made.cpus, made.intervals) == (2, 1)
    percent, of = pytest.approx, 100 / length_s
    assert made.system_cpu_percent == percent(100.0)
    assert made.generator_cpu_percent == percent(0.3 * of)
    assert made.generator_user_percent == percent(0.1 * of)
    assert made.others_cpu_percent == percent(0.7 * of)
    assert made.others_user_percent == percent(0.3 * of)
    assert made.stack_cpu_percent == percent(100.0 - 0.1 * of - 0.7 * of)
    assert made.steal_percent == percent(10.0)
    assert made.core_busy_percent == (50.0, 50.0)
    assert made.interrupts_per_s == percent(100 / length_s)
    assert made.context_switches_per_s == percent(1000 / length_s)


def test_the_storage_stack_is_unknown_where_others_are(tmp_path: Path) -> None:
    put(tmp_path, **{"proc/stat": stat(100)})
    machine, own = machine_times(Tree(tmp_path)), ProgramTimes(1.0, 1.0)
    made = summary([at(t, machine=machine, own=own) for t in (0.0, 1.0)], {})
    assert made and made.system_cpu_percent is not None
    assert (made.others_cpu_percent, made.stack_cpu_percent) == (None, None)


@given(st.lists(st.booleans(), min_size=4, max_size=9))
def test_others_that_are_not_read_each_time_are_interpolated(read: list[bool]) -> None:
    """A steady load is the same in each interval, and after the last reading."""
    read[0] = read[2] = True
    steady = [ProgramTimes(2.0 + t, 5.0 + 3 * t) for t in range(len(read))]
    found = [
        at(t, others=one if now else None)
        for t, (one, now) in enumerate(zip(steady, read, strict=True))
    ]
    made = points(filled_in(found), {})
    assert [p.others_user_percent for p in made] == pytest.approx([100] * len(made))
    assert [p.others_cpu_percent for p in made] == pytest.approx([300] * len(made))


def test_intervals_add_up_to_the_run(tmp_path: Path) -> None:
    """A counter's mean over the run is that of its intervals, by their lengths."""
    disk, found = Disk(nvme(tmp_path), is_target=True), []
    for number, t_s in enumerate((0.0, 1.0, 1.5, 4.0)):
        numbers = " ".join(str(number * number * n) for n in range(1, 18))
        put(disk.folder, stat=numbers, inflight=f"{number} 0")
        found.append(at(t_s, disk=disk.counts()))
    made, each = summary(found, {}), points(found, {})
    assert made and [one.t_s for one in each] == [1.0, 1.5, 4.0]
    assert made.device_inflight == 2
    for name in ("device_read_iops", "device_write_bytes_per_s", "device_queue_depth"):
        parts = sum(getattr(one, name) * one.length_s for one in each)
        assert getattr(made, name) * made.covered_s == pytest.approx(parts)


def test_a_queues_time_turns_over_at_32_bits(tmp_path: Path) -> None:
    """At a depth of 1,000, four hours turn it over three times."""
    disk, found = Disk(nvme(tmp_path), is_target=True), []
    for hours in range(5):
        told = 4_000_000_000 + hours * 3_600_000 * 1000
        numbers = ["0"] * 9 + [str(hours * 3_600_000), str(told % 2**32)]
        put(disk.folder, stat=" ".join(numbers), inflight="0 0")
        found.append(at(hours * 3600.0, disk=disk.counts()))
    made, each = summary(found, {}), points(found, {})
    assert made and made.device_queue_depth == pytest.approx(1000)
    assert [one.device_queue_depth for one in each] == pytest.approx([1000] * 4)
    assert made.device_busy_percent == pytest.approx(100)


@pytest.mark.parametrize(
    ("times_s", "kept"),
    [
        ([(0, 0.0), (1, 1.0), (2, 2.0)], 3),
        ([(0, -0.5), (1, 1.0), (2, 2.0)], 2),
        ([(0, -0.5), (1, 1.0)], 2),
        ([(0, 0.0), (0, 0.0)], 1),
        ([], 0),
    ],
)
def test_a_program_that_was_loading_is_not_measured(
    times_s: list[tuple[float, float]], kept: int
) -> None:
    """The first is when a run was begun, then its seconds, each with a clock's."""
    found = [samples.Sample(t_s=t_s, at_s=at_s) for t_s, at_s in times_s]
    assert covering(found) == found[len(found) - kept :]


def test_intervals_that_are_told_all_at_once_are_one() -> None:
    """The third was told late, with the fourth right behind it."""
    times_s = [(0, 0.0), (1, 1.0), (2, 3.0), (3, 3.01), (4, 4.0)]
    found = [samples.Sample(t_s=t_s, at_s=at_s) for t_s, at_s in times_s]
    assert [one.t_s for one in covering(found)] == [0, 1, 2, 4]


def test_fewer_than_two_samples_are_no_telemetry() -> None:
    assert summary([], {}) is None and summary([at(1.0)], {}) is None


SOURCES = {
    "meter": 100.0,
    "power_meter power1": 90.0,
    "ina3221 VDD": 7.0,
    "rapl psys": 50.0,
    "rapl package-0": 30.0,
    "rapl package-0 dram": 4.0,
    "rapl package-0 core": 20.0,
}


@pytest.mark.parametrize(
    ("without", "source", "watts"),
    [
        (0, "meter", 100.0),
        (1, "power_meter power1", 90.0),
        (2, "rapl psys", 50.0),
        (4, "rapl package-0 + rapl package-0 dram", 34.0),
        (5, "rapl package-0 dram", 4.0),
        (6, "", None),
    ],
)
def test_what_is_nearest_to_the_whole_machine_counts(
    without: int, source: str, watts: float | None
) -> None:
    found = Power(dict(list(SOURCES.items())[without:]))
    assert (found.source, found.watts) == (source, watts)


def test_energy_over_the_run_becomes_watts(tmp_path: Path) -> None:
    tree, found = Tree(tmp_path), []
    for t_s, energy in ((0.0, 999_000_000), (1.0, 10_000_000), (2.0, 40_000_000)):
        rapl(tmp_path, package=energy)
        known = {one.name: one for one in domains(tree)}
        energies = {name: one.now_uj() for name, one in known.items()}
        found.append(at(t_s, energy_uj=energies, watts={"ina VDD": 3.0 + t_s}))
    assert power(found, known).by_source == {
        "ina VDD": 4.5,
        "rapl package-0": pytest.approx((11 + 30) / 2),
    }


# the sampler


KTHREADD = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 1 9 0 0 20 0 1 0 24"


def sensors(root: Path) -> Sensors:
    """Of a made-up machine that has everything."""
    put(
        root,
        **{"proc/stat": stat(100), f"{CPU}/cpu0/cpufreq/scaling_cur_freq": 2_000_000},
    )
    put(root, **{"proc/2/stat": KTHREADD})
    rapl(root, package=1_000_000, dram=0)
    put(root, **{"sys/class/hwmon/hwmon0/name": "power_meter"})
    put(root, **{"sys/class/hwmon/hwmon0/power1_average": 250_000_000})
    return Sensors(Tree(root), Disk(nvme(root), is_target=True))


def interval(second: int, warmup: bool = False) -> Progress:
    t_ns = second * SECOND_NS
    return Progress(t_ns=t_ns, interval_ns=SECOND_NS, warmup=warmup, streams=())


def taken(sampler: Sampler, *events: Any) -> list[float]:
    sampler.start()
    for event in events:
        sampler.on_event(event)
    sampler.close()
    return [one.t_s for one in sampler.samples]


STARTED, RESULT = Started(mode="x"), Result(run_ns=3 * SECOND_NS, streams=())


def test_samples_lie_beside_the_series(tmp_path: Path) -> None:
    warm = JOB.model_copy(update={"warmup_ns": SECOND_NS})
    one, two = interval(1), interval(2)
    made = Sampler(sensors(tmp_path), JOB)
    assert taken(made, STARTED, one, two, RESULT) == [0, 1, 2]
    made = Sampler(made.sensors, warm)
    warmups = (interval(1, warmup=True), interval(2, warmup=True))
    assert taken(made, STARTED, *warmups, one, two, RESULT) == [0, 1, 2]
    assert taken(Sampler(made.sensors, JOB), STARTED, RESULT) == [0, 3]
    assert taken(Sampler(made.sensors, warm), STARTED) == []


@pytest.mark.promise("figures.unmeasured")
def test_what_is_absent_is_said_with_a_reason(tmp_path: Path) -> None:
    absent = Sensors(Tree(tmp_path), None).unavailable()
    assert [text.partition(" (")[0] for text in absent] == [
        "power",
        "temperature",
        "stack_cpu",
        "CPU frequency",
        "the device's queue",
    ]
    assert "name a meter in the lab" in absent[0]
    assert len(Sensors(Tree(tmp_path), None, metered=True).unavailable()) == 4


class Hanging(Sensors):
    """A drive that hangs holds whoever asks for its temperature."""

    hung, free = Event(), Event()

    def sample(self, t_s: float, *more: Any) -> samples.Sample:
        if t_s > 1:
            self.hung.set()
            self.free.wait()
        return super().sample(t_s, *more)


def test_a_drive_that_hangs_holds_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler_module, "END_S", 0.2)
    made = Sampler(Hanging(Tree(tmp_path), None), JOB)
    try:
        assert taken(made, STARTED, *map(interval, (1, 2, 3)), RESULT) == [0, 1]
        assert made.sensors.hung.is_set()  # type: ignore[attr-defined]
        assert "hangs" in made.problem
    finally:
        Hanging.free.set()
    made.thread.join()


def test_an_odd_machine_ends_no_run(tmp_path: Path) -> None:
    put(tmp_path, **{"proc/stat": "cpu what is this that has no numbers at all"})
    made = Sampler(Sensors(Tree(tmp_path), None), JOB)
    assert taken(made, STARTED, interval(1)) == []
    assert made.problem.startswith("ValueError")


def test_a_run_on_a_made_up_machine(tmp_path: Path) -> None:
    made = Sampler(sensors(tmp_path), JOB)
    made.start()
    for second, celsius in enumerate((40.0, 50.0, 75.0)):
        heat(tmp_path, celsius)
        rapl(tmp_path, package=second * 1_000_000)
        made.on_event(interval(second) if second else STARTED)
        while len(made.samples) <= second:
            assert made.thread.is_alive()
    made.close()
    assert not made.sensors.unavailable()
    found = summary(made.samples, made.sensors.readable)
    assert found and found.temperature_max_celsius == 75.0
    assert found.temperature_celsius == pytest.approx((50.0 + 75.0) / 2)
    assert found.frequency_mhz == 2000.0 and found.core_frequency_mhz == (2000.0,)
    assert (found.watts, found.watts_source) == (250.0, "power_meter power1")
    assert found.watts_by_source["rapl package-0"] > 0
    assert "rapl package-0 dram" in found.watts_by_source


# the store


TELEMETRY = Telemetry(covered_s=3.0, intervals=3, watts=42.5, stack_cpu_percent=12.0)
POINTS = tuple(TelemetryPoint(t_s=t, length_s=1.0, watts=40.0 + t) for t in (1, 2))


def with_telemetry(seq: int) -> tuple[RunRecord, RunDetail]:
    made, detail = run(seq, telemetry=TELEMETRY)
    return made, detail.model_copy(update={"telemetry": POINTS})


def test_the_store_keeps_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "results.db") as store:
        store.begin(session())
        store.add(*run(1))
        store.add(*with_telemetry(2))
        without, new = store.records(ID)
        assert without.telemetry is None and new.telemetry == TELEMETRY
        assert store.detail(ID, 1).telemetry == ()
        kept = with_telemetry(2)[1].model_copy(update={"intervals": b""})
        assert store.detail(ID, 2) == kept  # the intervals are read apart


def test_exports_have_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "results.db") as store:
        store.begin(session())
        store.add(*with_telemetry(1))
        total, *others = rows(store, series=False)
        assert (total["watts"], total["stack_cpu_percent"]) == ("42.5", "12.0")
        assert {row["watts"] for row in others} == {""}
        series = rows(store, series=True)
        assert [row["watts"] for row in series] == ["41.0", "42.0", ""]


def rows(store: Store, series: bool) -> list[dict[str, str]]:
    out = io.BytesIO()
    export(store, ID, "csv", out, series=series)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


# metrics


def of(**more: Any) -> Sample:
    found = Telemetry.model_validate({"covered_s": 3.0, "intervals": 3, **more})
    return Sample(record(1, telemetry=found), RunDetail())


def value(name: str, *found: Sample) -> Figure:
    return figure(parse_metric(name), found)


def test_metrics_of_runs() -> None:
    one = of(watts=40.0, system_cpu_percent=80.0, stack_cpu_percent=20.0)
    two = of(watts=50.0, system_cpu_percent=60.0, stack_cpu_percent=40.0)
    iops = one.record.total.iops
    assert value("watts", one, two) == Figure(45.0)
    assert value("system_cpu", one, two) == Figure(70.0)
    assert value("iops_per_watt", one).value == pytest.approx(iops / 40)
    bandwidth = one.record.total.bandwidth_bytes_per_s
    assert value("bandwidth_per_watt", one).value == pytest.approx(bandwidth / 40)
    assert value("iops_per_system_cpu", one).value == pytest.approx(iops / 80)
    assert value("iops_per_stack_cpu", one, two).value == pytest.approx(iops / 30)


def test_the_hottest_counts() -> None:
    found = [of(temperature_max_celsius=t) for t in (50.0, 61.0, 55.0)]
    assert value("temperature", *found) == Figure(61.0)


def test_what_was_measured_in_some_runs_only_is_no_figure() -> None:
    why = Figure(None, "nothing measured it")
    assert value("watts", of(watts=40.0), of()) == why
    assert value("temperature", of(temperature_max_celsius=1.0), of()) == why
    assert value("iops_per_watt", of()) == value("bandwidth_per_watt", of()) == why
    assert value("stack_cpu", Sample(record(1), RunDetail())) == why
    assert value("iops_per_stack_cpu", of(stack_cpu_percent=0.0)).value is None


# the lab


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('power = "meter"', "power"),
        ("power = { command = [] }", "power.command"),
        ('power = { command = "meter --watts" }', "power.command"),
        ('power = { commands = ["meter"] }', "power.commands"),
    ],
)
def test_a_wrong_meter_is_refused(tmp_path: Path, text: str, said: str) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(text)
    with pytest.raises(LabError, match=f"lab.toml:1: {said}:"):
        read_lab(lab)


# real runs

PLAN = """
test "Reads" {
  run random 4KiB 100/0, qd 4 for 1200ms, warmup 200ms
  expect watts < 50
}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "lab.toml"
    path.write_text('power = { command = ["sh", "-c", "echo 42.5"] }\n')
    return path


def arguments(folder: Path, *more: str | Path) -> tuple[str | Path, ...]:
    plan = plan_file(folder, PLAN)
    target = ("--target", folder / "scratch", "--create", "32MiB")
    return ("run", plan, *target, *more, "--json")


BUSY = """
import os
zeros, buffer = open("/dev/zero", "rb", buffering=0), bytearray(1 << 20)
while sum(os.times()[:2]) < 20:
    zeros.readinto(buffer)
    sum(range(5000))
"""


@contextmanager
def _busy_program() -> Iterator[None]:
    """In user mode and in the kernel, for 20 s of CPU time at most; no child of ours."""
    shell = ["sh", "-c", 'nice -n19 "$@" >/dev/null 2>&1 & echo $!', "sh"]
    command = [*shell, sys.executable, "-c", BUSY]
    pid = int(subprocess.run(command, check=True, capture_output=True).stdout)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)


class Measured(NamedTuple):
    witnessed: Witnessed
    record: RunRecord
    detail: RunDetail


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, lab: Path) -> Measured:
    """A run of the engine, with the lab's meter, while another program is busy."""
    folder = tmp_path_factory.mktemp("measured")
    path = folder / "results.db"
    with _busy_program():
        run = witnessed(*arguments(folder, "--lab", lab, "--store", path))
    assert run.done.code == 0, run.done.err
    with Store.open(path) as store:
        (found,) = store.records(store.session("last").id)
        detail = store.detail(found.session, found.seq)
    return Measured(run, found, detail)


@pytest.mark.slow
def test_a_real_run(measured: Measured) -> None:
    """Its figures agree with the engine's own, and with other clocks of the kernel."""
    (_, moments, children_s), found, detail = measured
    made = found.telemetry
    gap_s = max(after.at_s - before.at_s for before, after in pairwise(moments))
    # a first interval that was told late is left out, and a stall is waited for
    assert made
    assert -2 * gap_s <= made.covered_s - found.run_s <= 0.5 * found.run_s + gap_s
    # a loaded machine may tell several intervals at once
    assert {one.t_s for one in detail.telemetry} <= {one.t_s for one in detail.series}
    assert made.intervals == len(detail.telemetry) >= 2
    assert (made.watts, made.watts_source) == (42.5, "meter")
    assert (found.verdicts[0].outcome, found.verdicts[0].actual) == ("held", 42.5)
    generator, system = made.generator_cpu_percent, made.system_cpu_percent
    assert generator is not None and system is not None
    check_cpu(generator, made.covered_s, moments)
    assert found.cpu_percent
    engine_s = found.cpu_percent / 100 * found.run_s
    assert 0.5 * children_s - 0.1 <= engine_s <= children_s, (
        "warm-up and start are more"
    )
    assert made.cpus and system <= 100 * made.cpus + 12


@pytest.mark.parametrize("percent", [0, 27, 45, 48.8, 71.6])
def test_a_wrong_cpu_time_is_refused(percent: float) -> None:
    """That of nobody, or of more or less than the generator; twice as much."""
    moments = [Moment(t, 0.358 * t, 0.358 * t + 0.001) for t in (10.0, 10.3, 11.3)]
    check_cpu(35.8, 1.0, moments)
    with pytest.raises(AssertionError, match="<="):
        check_cpu(percent, 1.0, moments)


@pytest.mark.slow
def test_another_program_is_no_part_of_the_storage_stack(measured: Measured) -> None:
    made = measured.record.telemetry
    assert made and made.system_cpu_percent and made.generator_user_percent is not None
    assert made.others_cpu_percent is not None and made.stack_cpu_percent is not None
    in_kernel = made.others_cpu_percent - (made.others_user_percent or 0)
    assert in_kernel > 5 and made.others_cpu_percent > 20, "the program was seen"
    left = made.system_cpu_percent - made.generator_user_percent
    assert made.stack_cpu_percent <= max(0, left - made.others_cpu_percent) + 0.1


@pytest.mark.slow
def test_the_kernel_counts_the_same_reads(measured: Measured) -> None:
    found = measured.record
    made = found.telemetry
    assert made
    if made.device_read_iops is None:
        pytest.skip("LEFT OUT: the test's folder is on no block device seen in /sys")
    # others may read as well; a file in memory reads nothing of its disk
    slowest = min(
        one.ios.get("read", 0) / one.length_s for one in measured.detail.series
    )
    assert made.device_read_iops > 0.6 * slowest
    assert made.device_busy_percent is not None and made.device_busy_percent > 0


@pytest.mark.slow
def test_the_host_is_described(measured: Measured) -> None:
    found, done = measured.record, measured.witnessed.done
    assert {"mitigations", "cpus_allowed", "numa_nodes"} <= set(found.host)
    assert found.host["target"]["file_system"]
    assert not any(text.startswith("power") for text in found.host["not_measured"])
    notes = [line["text"] for line in done.of("note")]
    said = [text for text in notes if text.startswith("not measured: ")]
    assert len(said) == bool(found.host["not_measured"])


@pytest.mark.slow
@pytest.mark.long
def test_a_broken_meter_is_a_warning(tmp_path: Path, store_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text('power = { command = ["/no/such/meter"] }\n')
    (found,) = ioplan(*arguments(tmp_path, "--lab", lab)).of("record")
    assert any("/no/such/meter" in text for text in found["record"]["warnings"])


def test_virtual_time_has_no_telemetry(tmp_path: Path, store_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN.replace("expect watts < 50\n", ""))
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--json")
    assert done.code == 0 and not done.of("note")
    with Store.open(store_path) as store:
        (found,) = store.records(store.session("last").id)
        assert found.telemetry is None and "target" not in found.host
        assert store.detail(found.session, found.seq).telemetry == ()


def test_a_file_that_is_no_target_is_never_asked_for_smart(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    facts = TargetFacts(path=str(file), kind="file", capacity_bytes=1, block_bytes=512)
    assert Instruments(facts).smart is None
