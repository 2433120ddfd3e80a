"""Repositories of git, and a server of them on this host."""

import os
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "A"), ("EMAIL", "a@example.com"))
}


class Repository:
    """A bare repository that is served, and a work tree that is pushed to it."""

    def __init__(self, folder):
        self.bare, self.work = folder / "disks.git", folder / "work"
        self._git("init", "-q", "--bare", "-b", "main", self.bare, at=folder)
        self._git("clone", "-q", self.bare, self.work, at=folder)
        self._git("checkout", "-q", "-b", "main")

    def _git(self, *words, at=None):
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

    def commit(self, files, tag=""):
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
    def log_message(self, format, *args):
        pass


@contextmanager
def http_server(folder):
    """A folder over http; the address of it."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
