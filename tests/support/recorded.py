"""A trace of drawn I/Os, replayed at a test device."""

import numpy as np
from command import ioplan, plan_file

from ioplan.trace import DTYPE, FLUSH, WRITE, write

MS_NS = 1_000_000
FIELDS = ("kind", "offset", "size")


def recorded(folder, ios=500, mean_gap_ns=2 * MS_NS, kinds=(0.55, 0.35, 0.05, 0.05)):
    """Poisson arrivals; a tenth of the writes has FUA. `kinds` are their shares."""
    random = np.random.default_rng(ios)
    made = np.zeros(ios, DTYPE)
    times = np.cumsum(random.exponential(mean_gap_ns, ios)).astype("u8")
    made["time_ns"] = times - times[0]
    made["kind"] = random.choice(4, ios, p=kinds)
    made["size"] = random.choice([4096, 8192, 65536], ios)
    made["offset"] = random.integers(0, 200, ios) * 4096
    flushes = made["kind"] == FLUSH
    made["size"][flushes] = made["offset"][flushes] = 0
    made["flags"] = (made["kind"] == WRITE) & (random.random(ios) < 0.1)
    write(folder / "web.iotrace", [made])
    return made


def run(device, folder, step, backend="io_uring", *more, **traces):
    """A run of one step, with the trace `web` and perhaps others."""
    names = {"web": "web.iotrace", **traces}
    head = "".join(f'trace {name} = "{file}"\n' for name, file in names.items())
    plan = f'{head}test "A" {{ {step} }}'
    target = ("--target", device.disk, "--overwrite-data", device.disk)
    words = (*target, "--backend", backend, *more, "--json")
    return ioplan("run", plan_file(folder, plan), *words)


def record_of(done):
    """The record of a run that went well."""
    assert done.record["status"] == "ok", done.record["message"]
    return done.record


def keys(ios, *kinds):
    """Those of these kinds, each by what and where it is."""
    some = ios[np.isin(ios["kind"], kinds)]
    return list(zip(*(some[field].tolist() for field in FIELDS), strict=True))
