"""A connection that outlives its machine must not reach the next one."""

from __future__ import annotations

import os
import socket

import pytest
from serial_link import HEAD, Carrier

MOST_S = 0.3


def test_what_arrives_after_a_machine_has_died_goes_nowhere() -> None:
    here, journal = _pair()
    machine, end = socket.socketpair()
    number = end.fileno()
    Carrier(number, lambda: here)
    machine.sendall(HEAD.pack(0, 0))
    journal.sendall(b"taken")
    assert machine.recv(100) == HEAD.pack(0, 5) + b"taken"
    next_machine, next_end = socket.socketpair()
    end.shutdown(socket.SHUT_RDWR)
    end.close()
    os.dup2(next_end.fileno(), number)
    try:
        journal.sendall(b"late")
        journal.close()
        next_machine.settimeout(MOST_S)
        with pytest.raises(TimeoutError):
            next_machine.recv(100)
    finally:
        os.close(number)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far, _ = listening.accept()
    return near, far
