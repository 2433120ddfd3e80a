"""A trace against its model (`ioplan model`), on a simulated drive and on a file.

    .venv/bin/python tests/benchmarks/model_of_trace.py [TRACE [VOLUME]]

Both run on a target of 1 GiB, the trace with `offsets scaled`, in turns. On the
simulated drive it is preconditioned by random writes before each. Without a trace, one
is made: hot places, gamma gaps, 70 % reads. The longest that runs is a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ioplan.trace.prepared import DTYPE, WRITE, Prepared, write

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from command import ioplan

ROUNDS, IOS, SPACE = 3, 60_000, "1GiB"
FILLED = """
precondition filled {
  write sequential 128KiB, 1 pass
  write random 4KiB, 2 passes
}
"""
REPLAY = """
trace web = "a.iotrace"
test "The recorded load" {
  run replay web, offsets scaled for LENGTH
}
"""
MOST_S = 60


def made(path: Path) -> None:
    """The trace that is taken without another."""
    random = np.random.default_rng(1)
    ios = np.zeros(IOS, DTYPE)
    times = np.cumsum(random.gamma(1 / 1.5**2, 1.5**2 / 3_000, IOS) * 1e9)
    ios["time_ns"] = (times - times[0]).astype("u8")
    ios["kind"] = np.where(random.random(IOS) < 0.3, WRITE, 0)
    ios["size"] = random.choice([4096, 8192, 65536], IOS, p=(0.6, 0.3, 0.1))
    ios["offset"] = (random.beta(1, 5, IOS) * 250_000).astype("u8") * 4096
    write(path, [ios])


def plans(folder: Path) -> dict[str, str]:
    """The replay and the model, as texts of plans of one length."""
    span_s = Prepared.open(folder / "a.iotrace").header.span_ns / 1e9
    length = f"{min(MOST_S, max(1, round(span_s)))}s"
    model = ioplan("model", str(folder / "a.iotrace"))
    assert model.code == 0, model.err
    print("\n".join(line for line in model.out.splitlines() if line[:1] == "#"))
    return {"trace": REPLAY.replace("LENGTH", length), "model": model.out}


def figures(plan: Path, backend: str, folder: Path) -> dict[str, float]:
    """Of one run: by direction IOPS, p50 and p99 in us, and the write amplification."""
    words = ["--backend", backend, "--create", SPACE, "--json"]
    words += ["--target", str(folder / "scratch.bin"), "--store", str(folder / "r.db")]
    if "param space" in plan.read_text():
        words += ["--set", f"space={SPACE}"]
    done = ioplan("run", str(plan), *words)
    assert done.of("record"), done.err
    record: dict[str, Any] = done.of("record")[-1]["record"]
    assert record["status"] == "ok", record["message"]
    return dict(_figures(record))


def _figures(record: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for way, found in record["directions"].items():
        if found["latency"]:
            shares = found["latency"]["percentiles"]
            by = {one["percent"]: one["latency_ns"] / 1000 for one in shares}
            yield f"{way} IOPS", found["iops"]
            yield f"{way} p50 (us)", by[50.0]
            yield f"{way} p99 (us)", by[99.0]
    wear = record["wear"]
    if wear and wear["source"] == "simulated" and wear["host_written_bytes"]:
        written = wear["media_written_bytes"] / wear["host_written_bytes"]
        yield "write amplification", written


def compared(backend: str, folder: Path) -> None:
    """A row for each figure: the medians of the rounds, and their ratio."""
    texts, rounds = plans(folder), []
    for number in range(ROUNDS):
        found = {}
        for kind, text in texts.items():
            plan = folder / f"{kind}.ioplan"
            plan.write_text(_prepared(text) if backend == "sim" else text)
            found[kind] = figures(plan, backend, folder)
        rounds.append(found)
        print(f"round {number + 1} on {backend}", file=sys.stderr)
    for name in rounds[0]["trace"]:
        trace, model = (
            median(one[kind][name] for one in rounds) for kind in ("trace", "model")
        )
        print(
            f"| {backend} | {name} | {trace:.4g} | {model:.4g} | {model / trace:.2f} |"
        )


def _prepared(text: str) -> str:
    """The plan with the drive preconditioned before its test."""
    head, test, body = text.partition('test "The recorded load" {')
    return f"{head}{FILLED}{test}\n  after filled{body}"


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        if sys.argv[1:]:
            words = [sys.argv[1], "-o", str(folder / "a.iotrace")]
            volume = ["--volume", sys.argv[2]] if sys.argv[2:] else []
            assert ioplan("trace", "convert", *words, *volume).code == 0
        else:
            made(folder / "a.iotrace")
        print("| target | figure | trace | model | ratio |\n|---|---|---|---|---|")
        for backend in ("sim", "io_uring"):
            compared(backend, folder)


if __name__ == "__main__":
    main()
