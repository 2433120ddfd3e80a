"""A message that no editor can mean is refused, and the server goes on."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def framed(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


LENGTHS = ("99999999999", "9" * 5000, "-1", "many")


def test_a_length_that_no_message_has_gets_an_error():
    asked: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
    sent = "".join(f"Content-Length: {one}\r\n\r\n" for one in LENGTHS).encode()
    sent += framed(id=1, method="initialize", params=asked)
    sent += framed(id=2, method="shutdown") + framed(method="exit")
    command = [sys.executable, "-m", "ioplan.cli", "lsp"]
    pipes: dict[str, Any] = {"input": sent, "capture_output": True, "timeout": 120}
    done = subprocess.run(command, check=False, **pipes)
    assert done.returncode == 0, done.stderr
    texts = done.stdout.split(b"Content-Length: ")[1:]
    found = [json.loads(one.partition(b"\r\n\r\n")[2]) for one in texts]
    errors = [one["error"]["code"] for one in found if one.get("id", 0) is None]
    assert errors == [-32600] * len(LENGTHS)
    assert "capabilities" in next(one for one in found if one.get("id") == 1)["result"]
