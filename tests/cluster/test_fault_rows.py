"""Some rows of the table of faults in docs/labs.md.

`python tests/cluster/lab_faults.py` does all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from fault_rows.rows import FAULTS, row
from fault_rows.scene import fault_lab
from netlab import NEEDS_NETNS, NetLab
from test_netlab import up

pytestmark = [
    *NEEDS_NETNS,
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("cc"), reason="LEFT OUT: needs a C compiler"),
]
ROWS = (
    "drive jobs killed",
    "PostgreSQL stopped, 10 s",
    "PostgreSQL's password changed",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetLab]:
    with fault_lab(tmp_path_factory.mktemp("faults")) as made:
        yield made


@pytest.mark.parametrize("fault", ROWS)
@pytest.mark.promise("labs.faults")
def test_each_cell_is_stored_once_and_status_counts_it(lab: NetLab, fault: str) -> None:
    """The row itself demands it."""
    assert " of " in row(lab, lab.folder, FAULTS[fault])
    up(lab)
