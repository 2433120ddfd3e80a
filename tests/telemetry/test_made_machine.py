"""What instruments tell of a made-up machine: each figure by arithmetic."""

import os
from threading import Event
from typing import Any

import pytest
from instruments import Machine, facts_of, interval, process
from made_machine import CPU, DISK, PCI, heat, nvme, rapl, stat

from ioplan.job import SECOND_NS, Result, Started
from ioplan.runner import TICKS_PER_S, Tree, host_facts

KERNEL_THREAD = 0x00200000
STAT = "proc/stat"
about = pytest.approx


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


# CPU time


def test_the_storage_stack_is_the_system_without_the_generators_own(machine):
    """stack = all CPUs without idle, iowait and steal - others - user time of ours.

    Two CPUs, each busy for half of the time: 10 ticks of 20, 10 times over. Ours are this
    process and a child; kernel threads are no programs.
    """
    own, root, length_s = os.getpid(), machine.root, 200 / TICKS_PER_S
    machine.put(**{f"proc/{own}/task/{own}/children": "41 "})
    process(root, 2, 900, 900, 900, 900, flags=KERNEL_THREAD | 64)
    with machine.run() as run:
        for number in range(2):
            ticks = 100 + 10 * number
            process(root, own, 50 + 5 * number, 100 + 10 * number, 0, 0)
            process(root, 41, 0, 0, 50 + 5 * number, 100 + 10 * number)
            process(
                root, 50, 300 + 10 * number, 50, 200 + 20 * number, 50 + 40 * number
            )
            now = {STAT: stat(ticks, 10 * ticks, 100 * ticks)}
            run.moment(number * length_s, **now)
    made, of = run.means, 100 / length_s / TICKS_PER_S
    assert (made.cpus, made.intervals, made.covered_s) == (2, 1, about(length_s))
    assert made.system_cpu_percent == about(100.0)
    assert made.generator_cpu_percent == about(30 * of)
    assert made.generator_user_percent == about(10 * of)
    assert made.others_cpu_percent == about(70 * of)
    assert made.others_user_percent == about(30 * of)
    assert made.stack_cpu_percent == about(100.0 - 80 * of)
    assert made.steal_percent == about(10.0)
    assert made.core_busy_percent == (50.0, 50.0)
    assert made.interrupts_per_s == about(100 / length_s)
    assert made.context_switches_per_s == about(1000 / length_s)


def test_where_others_are_hidden_the_storage_stack_is_unknown(machine):
    """No kernel thread is seen: they are in another namespace."""
    process(machine.root, os.getpid(), 1, 1, 1, 1)
    with machine.run() as run:
        for t_s in (0, 1):
            run.moment(t_s, **{STAT: stat(100)})
    assert run.means.system_cpu_percent is not None
    assert (run.means.others_cpu_percent, run.means.stack_cpu_percent) == (None, None)


@pytest.mark.parametrize("read", ["1010", "1111", "1010001", "110100"])
def test_others_that_are_not_read_each_time_are_interpolated(read, machine):
    """A steady load is the same in each interval, and after the last reading."""
    process(machine.root, 2, 0, 0, 0, 0, flags=KERNEL_THREAD)
    with machine.run() as run:
        others = run.run.sampler.sensors.others
        for t_s, now in enumerate(read):
            process(machine.root, 50, t_s * TICKS_PER_S, t_s * 2 * TICKS_PER_S, 0, 0)
            others.next_s = 0.0 if now == "1" else 1e9
            run.moment(t_s)
    count = len(read) - 1
    assert [p.others_user_percent for p in run.points] == about([100] * count)
    assert [p.others_cpu_percent for p in run.points] == about([300] * count)


def test_a_child_that_ends_between_two_rows_is_counted(machine, monkeypatch):
    """It is waited for when its parent's row was read, and its own was not."""
    own, text = os.getpid(), Tree.text
    machine.put(**{f"proc/{own}/task/{own}/children": "41 "})

    def reaping(tree, path):
        if path == "proc/41/stat":
            process(machine.root, own, 10, 0, 300, 0)
            return ""
        return text(tree, path)

    with machine.run() as run:
        process(machine.root, own, 10, 0, 0, 0)
        process(machine.root, 41, 0, 0, 0, 0)
        run.moment(0)
        monkeypatch.setattr(Tree, "text", reaping)
        run.moment(3)
    assert run.means.generator_cpu_percent == about(300 / TICKS_PER_S / 3 * 100)


# which moments count


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ([(0, 0.0), (1, 1.0), (2, 2.0)], [1, 2]),
        # a program was loading before its first event
        ([(0, -0.5), (1, 1.0), (2, 2.0)], [2]),
        ([(0, -0.5), (1, 1.0)], [1]),
        # the third was told late, with the fourth right behind it
        ([(0, 0.0), (1, 1.0), (2, 3.0), (3, 3.01), (4, 4.0)], [1, 2, 4]),
        ([(0, 0.0)], []),
    ],
)
def test_intervals_are_as_long_as_they_say(told, counted, machine):
    with machine.run() as run:
        for t_s, at_s in told:
            run.moment(t_s, at_s)
    assert [one.t_s for one in run.points] == counted
    assert (run.means is None) == (not counted)


def test_moments_lie_beside_the_series_behind_the_warm_up(machine):
    result = Result(run_ns=3 * SECOND_NS, streams=())
    one, two, started = interval(1), interval(2), Started(mode="x")
    warm = (interval(1, warmup=True), interval(2, warmup=True))
    for warmup_ns, events, expected in (
        (0, (started, one, two, result), [0, 1, 2]),
        (SECOND_NS, (started, *warm, one, two, result), [0, 1, 2]),
        (0, (started, result), [0, 3]),
        (SECOND_NS, (started,), []),
    ):
        with machine.run(warmup_ns=warmup_ns) as run:
            for event in events:
                run.run.on_event(event)
        assert [sample.t_s for sample in run.run.sampler.samples] == expected


# the disk


def test_intervals_add_up_to_the_run(machine):
    """A counter's mean over the run is that of its intervals, by their lengths."""
    nvme(machine.root)
    machine.has_disk()
    with machine.run() as run:
        for number, t_s in enumerate((0.0, 1.0, 1.5, 4.0)):
            told = " ".join(str(number * number * n) for n in range(1, 18))
            run.moment(t_s, **{f"{DISK}/stat": told, f"{DISK}/inflight": f"{number} 0"})
    assert [one.t_s for one in run.points] == [1.0, 1.5, 4.0]
    assert run.means.device_inflight == 2
    assert run.means.device_read_iops == about(9 * 1 / 4)
    assert run.means.device_read_bytes_per_s == about(9 * 3 * 512 / 4)
    assert run.means.device_write_iops == about(9 * 5 / 4)
    for name in ("device_read_iops", "device_write_bytes_per_s", "device_queue_depth"):
        parts = sum(getattr(one, name) * one.length_s for one in run.points)
        assert getattr(run.means, name) * run.means.covered_s == about(parts)


def test_a_queues_time_turns_over_at_32_bits(machine):
    """At a depth of 1,000, four hours turn it over three times."""
    nvme(machine.root)
    machine.has_disk()
    with machine.run() as run:
        for hours in range(5):
            queued = 4_000_000_000 + hours * 3_600_000 * 1000
            told = ["0"] * 9 + [str(hours * 3_600_000), str(queued % 2**32)]
            run.moment(hours * 3600, **{f"{DISK}/stat": " ".join(told)})
    assert run.means.device_queue_depth == about(1000)
    assert [one.device_queue_depth for one in run.points] == about([1000] * 4)
    assert run.means.device_busy_percent == about(100)


# power and heat

HWMON = "sys/class/hwmon/hwmon"
SOURCES: list[tuple[str, dict[str, Any]]] = [
    ("power_meter power1", {f"{HWMON}0/name": "power_meter", f"{HWMON}0/power1_average": 90_000_000}),
    ("ina3221 VDD", {f"{HWMON}1/name": "ina3221", f"{HWMON}1/power1_label": "VDD", f"{HWMON}1/power1_input": 7_000_000}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sensors", "domains", "source", "watts"),
    [
        (SOURCES, {"psys": 50}, "power_meter power1", 90.0),
        (SOURCES[1:], {"psys": 50, "package": 30}, "rapl psys", 50.0),
        ([], {"package": 30, "dram": 4, "core": 20}, "rapl package-0 + rapl package-0 dram", 34.0),
        ([], {"core": 20}, "", None),
        ([], {}, "", None),
    ],
)  # fmt: skip
def test_what_is_nearest_to_the_whole_machine_counts(
    sensors, domains, source, watts, machine
):
    """Of energy, whose counters turn over, too."""
    for _, files in sensors:
        machine.put(**files)
    before = dict.fromkeys(domains, 999_000_000)
    rapl(machine.root, **before)
    with machine.run() as run:
        run.moment(0)
        for t_s in (1, 2):
            now = {n: (before[n] + w * t_s * 10**6) % 10**9 for n, w in domains.items()}
            rapl(machine.root, **now)
            run.moment(t_s)
    assert (run.means.watts_source, run.means.watts) == (source, watts and about(watts))
    assert len(run.means.watts_by_source) == len(sensors) + len(domains)
    assert run.points[0].watts == (watts and about(watts))


def test_temperatures_and_frequencies(machine):
    """CPUs are in their order: 2 is before 10."""
    nvme(machine.root)
    machine.has_disk()
    for number in range(12):
        name = f"{CPU}/cpu{number}/cpufreq/scaling_cur_freq"
        machine.put(**{name: 1_000_000 + number * 1000})
    with machine.run() as run:
        for t_s, celsius in enumerate((40.0, -3.0, 75.0)):
            heat(machine.root, celsius)
            run.moment(t_s)
    made = run.means
    assert made.temperature_max_celsius == 75.0
    assert made.temperature_celsius == about(36.0)
    assert made.core_frequency_mhz == tuple(1000.0 + n for n in range(12))
    assert (made.frequency_mhz, made.frequency_min_mhz) == (about(1005.5), 1000.0)


def test_a_temperature_where_older_kernels_have_it(machine):
    machine.put(**{"sys/block/sda/device/hwmon/hwmon1/temp1_input": 30000})
    machine.has_disk("sys/block/sda")
    with machine.run() as run:
        for t_s in (0, 1):
            run.moment(t_s)
    assert run.means.temperature_celsius == 30.0


THROTTLES = f"{CPU}/cpu{{}}/thermal_throttle/core_throttle_count"


@pytest.mark.parametrize(
    ("celsius", "steal", "throttles", "said"),
    [
        (69.0, 0, 0, ""),
        (70.0, 0, 0, "reached 70 °C"),
        (20.0, 30, 0, "hypervisor stole 30 %"),
        (20.0, 0, 1, "3 times"),
    ],
)
def test_a_run_that_heat_or_a_hypervisor_has_slowed_down_says_so(
    celsius, steal, throttles, said, machine
):
    nvme(machine.root, celsius)
    machine.has_disk()
    now = {THROTTLES.format(n): 2 for n in range(3)}
    machine.put(**now)
    with machine.run() as run:
        for t_s in (0, 1):
            stolen = t_s * steal * TICKS_PER_S // 100
            run.moment(t_s, **{STAT: f"cpu 0 0 0 0 0 0 0 {stolen} 0 0"})
        machine.put(**{name: 2 + throttles for name in now})
    assert len(run.warnings) == bool(said) and said in "".join(run.warnings)
    assert run.means.cpu_throttles == 3 * throttles


# what is not there, odd, or hangs


@pytest.mark.promise("figures.unmeasured")
def test_what_is_absent_is_said_with_a_reason_and_has_no_figure(machine):
    absent = machine.instruments().unavailable()
    assert [text.partition(" (")[0] for text in absent] == [
        *("power", "temperature", "stack_cpu", "CPU frequency", "the device's queue")
    ]
    assert "name a meter in the lab" in absent[0]
    assert len(machine.instruments("meter").unavailable()) == 4
    with machine.run() as run:
        for t_s in (0, 1):
            run.moment(t_s)
    told = run.means.model_dump(exclude_defaults=True)
    assert told.keys() == {"covered_s", "intervals"}
    assert host_facts(facts_of(machine.target), tree=Tree(machine.root))["target"] == {}


def test_a_machine_that_has_everything_lacks_nothing(machine):
    nvme(machine.root)
    machine.has_disk()
    rapl(machine.root, package=1)
    process(machine.root, 2, 0, 0, 0, 0, flags=KERNEL_THREAD)
    machine.put(**{f"{CPU}/cpu0/cpufreq/scaling_cur_freq": 2_000_000})
    assert machine.instruments().unavailable() == ()


def test_an_odd_machine_ends_no_run(machine):
    with machine.run() as run:
        run.moment(0, **{STAT: "cpu what is this that has no numbers at all"})
        run.moment(1)
    (told,) = run.warnings
    assert told.startswith("telemetry ended before the run: ValueError")


def test_a_drive_that_hangs_holds_no_run(machine, monkeypatch):
    """It holds whoever asks for its temperature."""
    monkeypatch.setattr("ioplan.runner.telemetry.instruments.END_S", 0.2)
    hung, free = Event(), Event()
    with machine.run() as run:
        sensors = run.run.sampler.sensors
        sample = sensors.sample

        def hanging(t_s, *more):
            if t_s > 1:
                hung.set()
                free.wait()
            return sample(t_s, *more)

        monkeypatch.setattr(sensors, "sample", hanging)
        for t_s in (0, 1):
            run.moment(t_s)
        for t_s in (2, 3):
            run.run.on_event(interval(t_s))
        assert hung.wait(10)
    assert [one.t_s for one in run.points] == [1] and "hangs" in run.warnings[0]
    free.set()
    run.run.sampler.thread.join()


# facts of the host


def host(machine, **files):
    """With an NVMe drive on node 1, whose link is as fast and as wide as it can be."""
    nvme(machine.root)
    link = {"current_link_width": "4", "current_link_speed": "16.0 GT/s PCIe"}
    machine.put(**{f"{PCI}/{name}": text for name, text in link.items()})
    for node, cpus in {"0": "0-3", "1": "4-7"}.items():
        machine.put(**{f"sys/devices/system/node/node{node}/cpulist": cpus})
    governor = f"{CPU}/cpu0/cpufreq/scaling_governor"
    machine.put(**{governor: "performance"} | files)
    return host_facts(facts_of(machine.target), tree=Tree(machine.root))


GOVERNOR = f"{CPU}/cpu1/cpufreq/scaling_governor"


@pytest.mark.parametrize(
    ("files", "cpus", "said"),
    [
        ({}, [4, 5], ""),
        ({GOVERNOR: "powersave"}, [4, 5], "powersave"),
        ({}, [3], "numactl --cpunodebind=1"),
        ({}, [3, 4], ""),
        ({f"{PCI}/current_link_width": "2"}, [4], "2 lanes of 4"),
        ({f"{PCI}/current_link_speed": "8.0 GT/s PCIe"}, [4], "8.0 GT/s PCIe of 16.0 GT/s"),
        ({f"{PCI}/current_link_speed": "Unknown", f"{PCI}/max_link_speed": "Unknown"}, [4], ""),
    ],
)  # fmt: skip
def test_what_distorts_is_said(files, cpus, said, machine, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(cpus))
    machine.has_disk()
    found = host(machine, **files)["warnings"]
    assert len(found) == bool(said) and said in "".join(found)
