"""Ways in which a drive's state misleads a test, and what is claimed of each."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

from command import ioplan, last_records, plan_file
from msgspec import Struct

EXAMPLES = Path(__file__).parents[2] / "examples" / "sim"
DRIVES = ("client", "datacentre", "crosspoint")
FILL = "write sequential 128KiB, qd 32, 1 pass"
RANDOM = "run random 4KiB 0/100, qd 32"
IN_ORDER = "run sequential 128KiB 0/100, qd 32"
READS = "run random 4KiB 100/0, qd 32"
ROUNDS = (
    "run sequential 1MiB, qd 32, interval 10ms for 400ms vary read in 100%, 0%\n"
    "rounds until steady bandwidth when read == 0%, at most 6"
)


def until(metric, every, most, least=""):
    return f", until steady {metric} every {every}, {least}at most {most}"


def test(precondition, steps):
    head = f"on unsteady continue\nprecondition p {{ {precondition} }}\n"
    return f'{head}test "T" {{ after p {steps} }}\n'


SLOW = until("iops", "200ms", "8 passes")
WAYS = {
    "erased, in order": test(
        "purge", IN_ORDER + until("bandwidth", "10ms", "2 passes")
    ),
    "erased, at random": test("purge", RANDOM + SLOW),
    "erased, and two passes": test(
        "purge", RANDOM + until("iops", "200ms", "8 passes", "at least 2 passes, ")
    ),
    "a small region": test(
        "purge\nwrite sequential 128KiB, qd 32, region 0%..2%, 2 passes\n"
        "write random 4KiB, qd 32, region 0%..2%, 2 passes",
        f"{RANDOM}, region 0%..2%{until('iops', '100ms', '100 passes')}",
    ),
    "a part unwritten": test(
        "purge\nwrite sequential 128KiB, qd 32, region 0%..60%, 1 pass",
        f"{READS} for 2s{until('iops', '200ms', '8 passes')}",
    ),
    "rounds within a cache": test(f"purge {FILL} {FILL}", ROUNDS),
    "rounds after a purge": test("purge", ROUNDS),
    "half full": test(
        "purge\nwrite sequential 128KiB, qd 32, region 0%..50%, 1 pass",
        f"{RANDOM}, region 0%..50%{SLOW}",
    ),
    "trimmed holes": test(
        f"purge {FILL}",
        "run sequential 1MiB 0/100, trim 100%, qd 8, region 50%..100%, 1 pass\n"
        f"{RANDOM}, region 0%..50%{SLOW}",
    ),
    "data that compresses": test(
        f"purge\n{FILL}, data compressible 50%".replace(
            ", 1 pass, data compressible 50%", ", data compressible 50%, 1 pass"
        ),
        f"{RANDOM}, data compressible 50%{SLOW}",
    ),
    "two regions": test(
        f"purge {FILL}\nwrite random 4KiB, qd 32, region 0%..50%, 2 passes",
        f"{RANDOM}, region 50%..100%{SLOW}",
    ),
}
STEADY = {
    "filled, one random pass": (f"purge {FILL} write random 4KiB, qd 32, 1 pass", SLOW),
    "filled, two random passes": (
        f"purge {FILL} write random 4KiB, qd 32, 2 passes",
        SLOW,
    ),
    "filled, three random passes": (
        f"purge {FILL} write random 4KiB, qd 32, 3 passes",
        SLOW,
    ),
    "shaped, and a random pass": (
        "purge write random 4KiB shaped, spare 9%, qd 32\n"
        "write random 4KiB, qd 32, 1 pass",
        SLOW,
    ),
    "filled twice": (f"purge {FILL} {FILL}", SLOW),
    "shaped": ("purge write random 4KiB shaped, spare 9%, qd 32", SLOW),
    "draws alone": ("purge", until("iops", "200ms", "10 passes")),
}


class Claim(Struct, frozen=True):
    """What is said of a tracked value."""

    claim: str
    mean: float
    metric: str

    @property
    def is_steady(self):
        return self.claim == "steady"


def drive_file(folder, name):
    """A drive of the examples in small, with a cache of 8 % where it has one."""
    text = (EXAMPLES / f"{name}.toml").read_text()
    text = re.sub(r'^capacity = ".*"', 'capacity = "512MB"', text, flags=re.M)
    text = text.replace('size = "40GB"', 'size = "40MB"')
    text = re.sub(r'erase_block = "\d+MiB"', 'erase_block = "1MiB"', text)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def compressing(file):
    """A drive that stores what compresses by half in half of its flash, as it does to
    such data: it has that much more spare and cache, and programs half as many pages.
    """
    spec = tomllib.loads(file.read_text())
    spare = float(spec["over_provisioning"].rstrip("%"))
    program = int(re.sub(r"\D", "", spec["flash"]["program"]))
    text = file.read_text().replace('size = "40MB"', 'size = "80MB"')
    text = text.replace(f'"{spare:g}%"', f'"{100 + 2 * spare:g}%"', 1)
    text = text.replace(f'"{program}us"', f'"{program // 2}us"', 1)
    path = file.with_name(f"compressing_{file.name}")
    path.write_text(text)
    return path


def claims(records):
    """The last of each test: rounds go on."""
    found = [one.steady for one in records if one.steady and one.asked.kind == "run"]
    return [Claim(one.claim, one.mean, one.metric) for one in found[-1:] if one]


def on_drive(folder, drive, text, store_path):
    path = plan_file(folder, text)
    done = ioplan("run", path, "--backend", "sim", "--sim", drive, "--quiet")
    assert done.code in (0, 1), done.err
    return last_records(store_path)


def sustained(folder, drive, store_path, text, metric):
    """The rate of the same I/O after a fill and three capacities of it, at last."""
    steps = re.search(r"run .*?qd 32", text.partition('test "T"')[2])
    assert steps
    run = steps[0].replace("sequential 1MiB", "sequential 1MiB 0/100")
    text = test(f"purge {FILL}", f"{run}, 3 passes {run}, 0.5 passes")
    record = on_drive(folder, drive, text, store_path)[-1]
    total = record.total
    return total.iops if metric == "iops" else total.bandwidth_bytes_per_s


def interrupted(plan, *arguments, store):
    """A session that Ctrl-C ends while its test becomes steady, resumed to its end."""
    program = Path(sys.executable).with_name("ioplan")
    call = [program, "run", plan, *arguments, "--json"]
    with subprocess.Popen([*map(str, call)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        for line in run.stdout:
            if '"type": "steady"' in line:
                os.kill(run.pid, signal.SIGINT)
                break
        run.communicate(timeout=60)
    done = ioplan("resume", "last", "--store", store, "--quiet")
    assert done.code in (0, 1), done.err
