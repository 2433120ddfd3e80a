"""Where the repository, the tests and their golden files are."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SUPPORT = TESTS / "support"
GOLDEN = TESTS / "golden"
LAB_STORE = GOLDEN / "lab.db.gz"
"""What a lab stored."""
