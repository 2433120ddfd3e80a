"""The link to a journal on another host: who may write, and what arrives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioplan.runner.journal.client import JournalLink
from ioplan.runner.journal.receiver import Receiver, key_at
from ioplan.runner.journal.wire import (
    ANSWER,
    EMPTY,
    FRAME,
    MOST_BYTES,
    WRITE,
    JournalError,
    received,
)
from ioplan.target_entry import JournalPlace

NAME = "ab" * 16


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    folder = tmp_path / "journals"
    folder.mkdir()
    one = Receiver(("127.0.0.1", 0), folder, key_at(tmp_path / "key"))
    with one:
        threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
        yield one
        one.shutdown()


def place(receiver: Receiver, key: Path) -> JournalPlace:
    return JournalPlace(at=f"127.0.0.1:{receiver.server_address[1]}", key=str(key))


@pytest.fixture
def link(receiver: Receiver, tmp_path: Path) -> Iterator[JournalLink]:
    one = JournalLink(place(receiver, tmp_path / "key"), NAME)
    yield one
    one.close()


def test_what_is_written_is_there(
    link: JournalLink, receiver: Receiver, tmp_path: Path
) -> None:
    link.write(40, b"header")
    link.write(1 << 30, b"far away")
    kept = receiver.folder / NAME
    assert kept.stat().st_size == (1 << 30) + 8 and kept.stat().st_mode & 0o77 == 0
    link.fetch(tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_blocks * 512 < 1 << 20, "holes stay holes"
    with (tmp_path / "copy").open("rb") as copy:
        assert copy.read(46) == bytes(40) + b"header"
        copy.seek(1 << 30)
        assert copy.read() == b"far away"
    link.punch(0, 4096)
    link.fetch(tmp_path / "copy")
    with (tmp_path / "copy").open("rb") as copy:
        assert copy.read(4096) == bytes(4096)
    link.empty()
    link.fetch(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == kept.read_bytes() == b""


def test_a_later_link_ends_the_earlier_one(
    link: JournalLink, receiver: Receiver, tmp_path: Path
) -> None:
    """A host that lost its power has left its half open."""
    link.write(0, b"one")
    later = JournalLink(place(receiver, tmp_path / "key"), NAME)
    later.write(3, b"two")
    with pytest.raises(JournalError, match=r"ended the link|reset|Broken pipe"):
        link.write(0, b"lost")
    other = JournalLink(place(receiver, tmp_path / "key"), "cd" * 16)
    other.write(0, b"of another target")
    later.write(6, b"three")
    assert (receiver.folder / NAME).read_bytes() == b"onetwothree"


def test_who_has_another_key_writes_nothing(receiver: Receiver, tmp_path: Path) -> None:
    other = tmp_path / "other"
    key_at(other)
    with pytest.raises(JournalError, match="another key"):
        JournalLink(place(receiver, other), NAME)
    assert not list(receiver.folder.iterdir())


@pytest.mark.parametrize("name", ["../../etc/passwd", "AB" * 16, "", "ab"])
def test_only_names_of_journals_are_files(
    name: str, receiver: Receiver, tmp_path: Path
) -> None:
    with pytest.raises(JournalError):
        JournalLink(place(receiver, tmp_path / "key"), name).write(0, b"x")
    assert not list(receiver.folder.iterdir())


def test_a_receiver_without_the_key_is_not_believed(tmp_path: Path) -> None:
    key_at(tmp_path / "key")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def pretend() -> None:
            one, _ = server.accept()
            one.sendall(bytes(32))
            one.recv(1 << 10)
            one.sendall(bytes(32))

        threading.Thread(target=pretend, daemon=True).start()
        at = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(JournalError, match="another key"):
            JournalLink(JournalPlace(at=at, key=str(tmp_path / "key")), NAME)


def test_frames_may_come_in_any_pieces(link: JournalLink, receiver: Receiver) -> None:
    frames = b"".join(
        FRAME.pack(WRITE, 2, 2 * at, at + 1) + bytes([at, at]) for at in range(50)
    )
    for at in range(0, len(frames), 7):
        link.link.sendall(frames[at : at + 7])
    answered = 0  # one answer may be for several
    while answered < 50:
        errno, _, answered = ANSWER.unpack(received(link.link, ANSWER.size))
        assert errno == 0
    link.number = 50
    link.write(100, b"end")
    expected = b"".join(bytes([at, at]) for at in range(50)) + b"end"
    assert (receiver.folder / NAME).read_bytes() == expected


@pytest.mark.parametrize(
    "frame",
    [FRAME.pack(9, 0, 0, 1), FRAME.pack(WRITE, MOST_BYTES + 1, 0, 1)],
    ids=["a kind that there is not", "too much"],
)
def test_what_is_no_frame_ends_the_link(frame: bytes, link: JournalLink) -> None:
    link.link.sendall(frame)
    with pytest.raises(JournalError):
        link._done(EMPTY)
        link._done(EMPTY)


def test_a_key_has_to_be_there_and_long(receiver: Receiver, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="copy the receiver's"):
        JournalLink(place(receiver, tmp_path / "nowhere"), NAME)
    (tmp_path / "short").write_text("secret")
    with pytest.raises(JournalError, match="less than 32 bytes"):
        JournalLink(place(receiver, tmp_path / "short"), NAME)
    assert (tmp_path / "key").stat().st_mode & 0o77 == 0
