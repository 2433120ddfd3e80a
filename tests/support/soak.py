"""Runs the tests of drawn examples for a time: `make soak SECONDS=600`.

    python tests/support/soak.py SECONDS [OPTION OF PYTEST]...

It is called in the root of the clone. In `make test` these tests draw the same examples
each time; here each round draws its own. What fails is written into its test as an
`@example`, for a commit; the exit code is 1 then.
"""

import random
import subprocess
import sys
import time
from pathlib import Path

PATCHES = Path(".hypothesis/patches")


def one_round(seconds, options):
    """Draw once, until all tests have run or the time is over; pytest's exit code."""
    seed = random.randrange(1 << 32)
    print(f"soak: {seconds:.0f} s left, --hypothesis-seed={seed}", flush=True)
    # in one process: Hypothesis makes no patch in the workers of pytest-xdist
    words = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "hypothesis"]
    words += ["--hypothesis-profile=soak", f"--hypothesis-seed={seed}"]
    words += [f"--seconds={seconds}", *options]
    return subprocess.run(words, check=False).returncode


def kept(before):
    """Whether what failed stands in the tests now."""
    patches = sorted(set(PATCHES.glob("*.patch")) - before)
    for patch in patches:
        subprocess.run(["git", "apply", patch], check=True)
        print(f"soak: kept as @example, see git diff: {patch.name}")
    return bool(patches)


def main(seconds, options):
    """Rounds until the time is over or something fails."""
    end, before, rounds = time.monotonic() + seconds, set(PATCHES.glob("*.patch")), 0
    while (left := end - time.monotonic()) > 1:
        if one_round(left, options):
            print("soak: FAILED" + ("" if kept(before) else "; no patch was made"))
            return 1
        rounds += 1
    print(f"soak: nothing found in {rounds} rounds; the last one may be incomplete")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
