"""Inside the machine: settings of real NVMe drives, set for a session and put back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from guest import namespace, sh

from ioplan.runner import HostError, HostSettings, Tree, disk_of, prepared_host
from ioplan.runner.telemetry.smart import Smart, volatile_write_cache
from ioplan.runner.telemetry.topology import interrupts

TREE = Tree()


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def node() -> Path:
    return namespace("VMLAB-PLAIN")


def test_a_queue_is_set_and_put_back(node):
    disk = disk_of(TREE, str(node))
    assert disk
    settings = HostSettings(scheduler="mq-deadline", nomerges=2)
    files = [disk.folder / "queue" / name for name in ("scheduler", "nomerges")]
    before = [file.read_text() for file in files]
    with prepared_host("s", settings, disk, pytest.fail) as found:
        assert found["scheduler"] == {"before": "none", "set": "mq-deadline"}
        assert "[mq-deadline]" in files[0].read_text() and files[1].read_text() == "2\n"
    assert [file.read_text() for file in files] == before


def test_interrupts_that_cannot_be_moved_are_refused_and_stay(node):
    """The kernel binds those of queues; nor is there a CPU 1 in this machine."""
    disk = disk_of(TREE, str(node))
    assert disk and interrupts(disk.whole)
    lists = [f"/proc/irq/{n}/smp_affinity_list" for n in interrupts(disk.whole)]
    before = [Path(file).read_text() for file in lists]
    with pytest.raises(HostError, match="the kernel itself binds the queues"):
        prepared_host("s", HostSettings(irq_affinity="1"), disk, print).__enter__()
    assert [Path(file).read_text() for file in lists] == before


def set_cache(node: Path, value: str) -> None:
    controller = str(node).rpartition("n")[0]
    sh("nvme", "set-feature", controller, "--feature-id=6", f"--value={value}")


@pytest.fixture
def cache(node) -> Iterator[None]:
    yield
    set_cache(node, "1")


@pytest.mark.usefixtures("cache")
def test_the_drive_says_whether_its_write_cache_is_on(node):
    disk = disk_of(TREE, str(node))
    for value, state in (("0", "disabled"), ("1", "enabled")):
        set_cache(node, value)
        assert volatile_write_cache(TREE, disk, Smart(str(node))) == state
