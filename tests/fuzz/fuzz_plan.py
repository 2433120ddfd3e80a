"""Coverage-guided fuzzing of the language.

    python tests/fuzz/fuzz_plan.py -max_total_time=360

Starts from all plans and golden cases; libFuzzer's options are passed on. A
finding is left as `crash-…`; once understood it becomes a test in test_fuzz.py.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

with atheris.instrument_imports(include=["ioplan", "fuzz"]):
    from plans import every_plan

    from fuzz.survive import survives

LONGEST = 8192


def seeds() -> list[bytes]:
    """Every plan of the repository."""
    examples = (ROOT / "examples").rglob("*.ioplan")
    return [plan.encode() for plan in every_plan()] + [
        one.read_bytes() for one in examples
    ]


def one(data: bytes) -> None:
    """One input; odd ones also try a setting."""
    text = data.decode("utf-8", "replace")
    settings = {"run_time": text[:20]} if len(data) % 2 else {}
    survives(text, settings)


def main() -> None:
    """Fuzz until libFuzzer's options end it."""
    with tempfile.TemporaryDirectory() as folder:
        for index, seed in enumerate(seeds()):
            (Path(folder) / str(index)).write_bytes(seed)
        arguments = [
            *sys.argv,
            folder,
            f"-max_len={LONGEST}",
            "-timeout=5",
            f"-dict={Path(__file__).parent / 'plan.dict'}",
        ]
        atheris.Setup(arguments, one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
