"""Stands in for bdevperf: plays one recorded transcript, byte by byte.

    play_bdevperf.py FILE MANNER -z -r SOCKET …

FILE has what was recorded: `stdout`, `stderr`, the exit `code`, and `rpc`, a dialogue.
A request is answered with what was recorded for the same method and parameters, in
order, the last one again and again. Times are PLAY_SPEED times shorter.

MANNER: `dialogue`; `start` ends before there is a socket; `test` hangs up when a
test is asked for, and ends as recorded; `hang` never answers a test, and ignores
SIGTERM, as a dead NVMe target makes bdevperf do.
"""

import base64
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

SPEED = float(os.environ.get("PLAY_SPEED", "20"))
LOOK_S = 0.02
"""How often signals are looked for: after SIGSTOP any thread may get them."""
ERROR = re.compile(r'"code": (-?\d+),\s*"message": "([^"]*)"')
SAME_EVERYWHERE = {
    "bdev_reset_iostat": True,
    "bdev_enable_histogram": True,
    "spdk_get_version": {"version": "SPDK v24.09.1-pre"},
}
"""What every dialogue that asks for it was answered."""


class Play:
    def __init__(self, recorded, manner):
        self.recorded, self.manner = recorded, manner
        self.entries = recorded.get("rpc", [])
        self.told = {}
        self.stands_on = {}
        self.is_printed = self.is_over = False
        self.ending = threading.Event()
        self.lock = threading.Lock()
        self.over = threading.Event()

    def note(self, start):
        return any(str(e.get("note", "")).startswith(start) for e in self.entries)

    def end(self):
        """Print what is left to print, and end as recorded."""
        self.print()
        with self.lock:
            code = self.recorded.get("code", 1)
            if code < 0:
                signal.signal(-code, signal.SIG_DFL) if code != -9 else None
                os.kill(os.getpid(), -code)
            os._exit(code)

    def print(self):
        """What was printed by then, once for each test."""
        with self.lock:
            if not self.is_printed:
                sys.stdout.buffer.write(self.recorded.get("stdout", "").encode())
                sys.stdout.flush()
            self.is_printed = True

    def answer(self, request):
        """The recorded reply; None hangs up."""
        method, params = request["method"], request.get("params")
        if method == "perform_tests" and self.manner == "hang":
            threading.Event().wait()
        if method == "perform_tests" and self.manner == "test":
            return None
        if method.endswith("_delete") and params["name"] in self.stands_on.values():
            return {"error": {"code": -16, "message": "Device or resource busy"}}
        self.stack(method, params or {})
        entry = self.next(method, params)
        if entry is None:
            return self.unrecorded(method, params)
        self.wait(entry, method)
        if method == "perform_tests" and not self.ending.is_set():
            self.print()
        if "exception" not in entry:
            return {"result": entry["result"]}
        found = ERROR.search(entry["exception"])
        if not found:
            return None
        return {"error": {"code": int(found[1]), "message": found[2]}}

    def stack(self, method, params):
        """What stands on what: a device goes after those above it."""
        if method.endswith("_create") and "base_bdev_name" in params:
            self.stands_on[params["name"]] = params["base_bdev_name"]
        if method.endswith("_delete"):
            self.stands_on.pop(params["name"], None)

    def wait(self, entry, method):
        if method == "perform_tests":
            self.is_printed = self.is_over = False
        took = (entry["t_done"] - entry["t"]) / SPEED
        if method == "perform_tests" and self.note("signal SIGTERM"):
            self.ending.wait()
        else:
            time.sleep(took)

    def next(self, method, params):
        found = [e for e in self.entries if self.same(e, method, params)]
        found = self.of_now(method, found)
        key = f"{method} {json.dumps(params, sort_keys=True)}"
        with self.lock:
            at = self.told.get(key, 0)
            self.told[key] = at + 1
        return found[min(at, len(found) - 1)] if found else None

    def of_now(self, method, found):
        """What was recorded before the one test had ended, or after: however seldom or
        late it is asked, no reply comes from the other side of the end."""
        tests = [e for e in self.entries if e.get("method") == "perform_tests"]
        if len(tests) != 1 or method == "perform_tests":
            return found
        end_s = tests[0]["t_done"]
        of_now = [e for e in found if (e["t"] >= end_s) is self.is_over]
        if method == "bdev_get_histogram" and self.is_over and not of_now:
            return [self.emptied(one) for one in found[-1:]]
        return of_now or found[-1:]

    @staticmethod
    def emptied(entry):
        """A histogram is gone with its test."""
        if "result" not in entry:
            return entry
        counts = len(base64.b64decode(entry["result"]["histogram"]))
        nothing = base64.b64encode(bytes(counts)).decode()
        return {**entry, "result": {**entry["result"], "histogram": nothing}}

    @staticmethod
    def same(entry, method, params):
        """The client that was recorded put two names into a refused request."""
        had = {
            k: v
            for k, v in (entry.get("params") or {}).items()
            if k not in ("method", "req_id")
        }
        return entry.get("method") == method and had == (params or {})

    def unrecorded(self, method, params):
        if method in SAME_EVERYWHERE:
            return {"result": SAME_EVERYWHERE[method]}
        if method.endswith("_delete"):
            return {"result": True}
        if method.endswith("_create"):
            return {"result": (params or {}).get("name")}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def serve(self, connection):
        text, decoder = "", json.JSONDecoder()
        while chunk := connection.recv(1 << 16):
            text += chunk.decode()
            while text := text.lstrip():  # several may come at once
                try:
                    request, end = decoder.raw_decode(text)
                except ValueError:
                    break
                text = text[end:]
                self.reply(connection, request)

    def reply(self, connection, request):
        reply = self.answer(request)
        if reply is None:
            self.end()
        self.is_over |= request["method"] == "perform_tests"
        self.send(connection, {"jsonrpc": "2.0", "id": request["id"], **reply})
        if "error" in reply and request["method"] == "perform_tests":
            time.sleep(0.05)
            self.end()
        if request["method"] == "perform_tests" and self.ending.is_set():
            self.over.set()

    def send(self, connection, reply):
        """In two pieces: a reply need not arrive at once."""
        data = json.dumps(reply).encode()
        for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
            connection.sendall(piece)

    def told_to_end(self):
        self.ending.set()
        if self.note("signal SIGTERM"):
            self.over.wait(2)
        self.end()


def main():
    file, manner, *arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print("SPDK v24.09.1-pre")
        return
    play = Play(json.loads(Path(file).read_bytes()), manner)
    sys.stderr.buffer.write(play.recorded.get("stderr", "").encode())
    sys.stderr.flush()
    if manner == "start":
        play.end()
    if manner == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        ender = threading.Thread(target=play.told_to_end, daemon=True)
        signal.signal(signal.SIGTERM, lambda number, frame: start_once(ender))
    listen(play, arguments[arguments.index("-r") + 1])


def start_once(thread):
    """A second signal changes nothing."""
    if thread.ident is None:
        thread.start()


def listen(play, path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    server.settimeout(LOOK_S)
    while True:
        try:
            connection, _ = server.accept()
        except TimeoutError:
            continue
        connection.settimeout(None)
        threading.Thread(target=play.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
