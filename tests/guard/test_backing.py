"""What is under a loop device, whatever has become of the path it was set up with."""

import pytest

from ioplan.runner import Backing, Device, backing, device_at, identity_of, key_at
from targets import MIB, NEEDS_ROOT, loop_device, tell

pytestmark = NEEDS_ROOT


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "disk.img"
    path.write_bytes(bytes(MIB))
    return path


@pytest.fixture
def loop(image):
    with loop_device(image) as node:
        yield at(node)


def at(node):
    device = device_at(node)
    assert device
    return device


def test_it_is_named_by_what_it_is(loop, image):
    assert backing(loop) == Backing(str(image), key_at(image))


def test_another_name_is_the_same_file(loop, image):
    other = image.with_name("other")
    other.hardlink_to(image)
    image.unlink()
    assert backing(loop) == Backing("", key_at(other))


def test_a_path_of_elsewhere_names_nothing_here(image):
    """The kernel gives the path from the root of a mount that is gone."""
    seen = image.with_name("mnt")
    seen.mkdir()
    tell("mount", "--bind", image.parent, seen)
    try:
        with loop_device(seen / image.name) as node:
            tell("umount", "--lazy", seen)
            assert backing(at(node)) == Backing("", key_at(image))
            assert not identity_of(at(node)).lasting
    finally:
        if seen.is_mount():
            tell("umount", "--lazy", seen)


def test_one_who_may_not_ask_the_kernel_goes_by_the_path(loop, image, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ioplan.runner.devices.identity._status", refuse)
    assert backing(loop) == Backing(str(image), key_at(image))
    image.unlink()
    assert backing(loop) == Backing("", None)


def test_a_device_under_it(loop):
    with loop_device(loop.node) as upper:
        assert backing(at(upper)) == Backing(str(loop.node), loop.key)


def test_what_is_no_loop_device(loop):
    assert backing(Device(loop.folder.parent)) is None
