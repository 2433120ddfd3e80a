"""Runs a program in which io_uring_setup fails with EPERM, as containers do it.

A seccomp filter of four instructions: no root, no tracer.
"""

import ctypes
import os
import struct
import sys

LOAD_NUMBER = (0x20, 0, 0, 0)
IO_URING_SETUP = 425
IS_SETUP = (0x15, 0, 1, IO_URING_SETUP)
FAIL_EPERM = (0x06, 0, 0, 0x00050000 | 1)
ALLOW = (0x06, 0, 0, 0x7FFF0000)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def forbid():
    """From here on, and in all that is executed."""
    code = b"".join(
        struct.pack("HBBI", *line)
        for line in (LOAD_NUMBER, IS_SETUP, FAIL_EPERM, ALLOW)
    )
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(4, code)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    forbid()
    os.execv(sys.argv[1], sys.argv[1:])
