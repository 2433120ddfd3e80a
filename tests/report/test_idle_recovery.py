"""What a pause gives back of a drive's cache, against the simulated drive's own state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan, plan_file
from fooled import EXAMPLES, last_records

WRITE = "run sequential 128KiB 0/100, qd 32"


def headlines(folder: Path, first: str, between: str, second: str) -> str:
    steps = f"{first} as first\n{between}\n{second} as again"
    text = f'precondition p {{ purge }}\ntest "T" {{ after p\n{steps}\n'
    text += "headline first.bandwidth\nheadline again.bandwidth }"
    plan = plan_file(folder, f'accept "fresh state"\n{text}')
    done = ioplan("run", plan, "--backend", "sim", "--sim", EXAMPLES / "client.toml")
    assert done.code == 0, done.err
    return " ".join(done.out.partition("Headlines")[2].split())


@pytest.mark.parametrize(("pause_s", "least"), [(15, ""), (30, ""), (120, "at least ")])
def test_a_pause_gives_back_what_the_drive_has_freed(
    pause_s: int, least: str, tmp_path: Path, store_path: Path
) -> None:
    write = f"{WRITE} for 40s"
    told = headlines(tmp_path, write, f"idle {pause_s}s", write)
    found = re.search(r"GB, regained in (.*?) without I/O: (\D*)(\d+) MB/s", told)
    assert found and found[2] == least, told
    free = 1 - float(last_records(store_path)[-1].backend.facts["before_cache_fill"])
    assert float(found[3]) == pytest.approx(free * 40e3 / pause_s, rel=0.03)
    assert told.count("regained") == 1
    assert "2412 MB/s for the first 40.0 GB;" in told


def test_the_run_before_may_be_one_of_many(tmp_path: Path, store_path: Path) -> None:
    """As of a host that writes a little at a time; what is paused is no whole cache."""
    first = (
        f"{WRITE} for 40s as full\nrepeat 4 {{ idle 5s {WRITE} for 6s as little }}\n"
    )
    told = headlines(tmp_path, f"{first}{WRITE} for 2s", "idle 20s", f"{WRITE} for 40s")
    found = re.search(r"; (\d+) MB/s for .*, regained in 20 s without I/O: (\d+)", told)
    assert found and float(found[1]) == pytest.approx(2400, rel=0.05)
    free = 1 - float(last_records(store_path)[-1].backend.facts["before_cache_fill"])
    assert float(found[2]) == pytest.approx(free * 2000, rel=0.05)


@pytest.mark.parametrize(
    ("first", "between", "second"),
    [
        (f"{WRITE} for 40s", "", f"{WRITE} for 40s"),
        (f"{WRITE} for 5s", "idle 30s", f"{WRITE} for 40s"),
        (f"{WRITE} for 40s", "idle 30s", f"{WRITE} for 2s"),
        (f"{WRITE} for 40s", "idle 30s", f"{WRITE} for 38s, warmup 2s"),
        pytest.param(
            *("run random 4KiB 0/100, qd 32 for 9min", "idle 30s", f"{WRITE} for 40s"),
            marks=pytest.mark.long,
        ),
        ("run random 4KiB 100/0, qd 32 for 1s", "idle 30s", f"{WRITE} for 40s"),
    ],
    ids=["no pause", "not used up", "not seen", "warm", "other writes", "reads"],
)
def test_without_evidence_nothing_is_told(
    first: str, between: str, second: str, tmp_path: Path, store_path: Path
) -> None:
    assert "regained" not in headlines(tmp_path, first, between, second)
    assert store_path.exists()
