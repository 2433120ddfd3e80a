"""Repositories of git, and servers of them on this host: files, http and ssh."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin")
WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "A"), ("EMAIL", "a@example.com"))
}


class Repository:
    """A bare repository that is served, and a work tree that is pushed to it."""

    def __init__(self, folder: Path) -> None:
        self.bare, self.work = folder / "disks.git", folder / "work"
        self._git("init", "-q", "--bare", "-b", "main", self.bare, at=folder)
        self._git("clone", "-q", self.bare, self.work, at=folder)
        self._git("checkout", "-q", "-b", "main")

    def _git(self, *words: str | Path, at: Path | None = None) -> str:
        own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        env = own | WHO | {"GIT_CONFIG_GLOBAL": os.devnull}
        command = ["git", *map(str, words)]
        done = subprocess.run(
            command,
            cwd=at or self.work,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, files: dict[str, str | Path | None], tag: str = "") -> str:
        """A commit of these texts, a link for a path, and none for None; its id."""
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if isinstance(text, Path):
                path.symlink_to(text)
            elif text is not None:
                path.write_text(text)
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "x")
        if tag:
            self._git("tag", "-f", "-a", tag, "-m", tag)
        self._git("push", "-q", "-f", "origin", "main", *(["--tags"] if tag else []))
        self._git("update-server-info", at=self.bare)  # for http without a program
        return self._git("rev-parse", "HEAD")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def http_server(folder: Path) -> Iterator[str]:
    """A folder over http; the address of it."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def ssh_server(folder: Path) -> Iterator[tuple[str, str]]:
    """This host over ssh: the address, and the command by which git reaches it."""
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(words, check=True)
    port, allowed = _free_port(), folder / "user.pub"
    config = folder / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nStrictModes no\n"
        f"AuthorizedKeysFile {allowed}\nPidFile none\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    assert SSHD
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    call = (
        f"ssh -F none -i {folder}/user -o UserKnownHostsFile={known} -o BatchMode=yes"
    )
    command = [SSHD, "-D", "-e", "-f", config]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}", call
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.005)
    raise AssertionError("sshd does not answer")
