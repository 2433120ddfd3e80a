"""A coordinator and two hosts that run together, each with a lab file of its own."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from command import Done, plan_file, program
from lab_links import DATABASE

from ioplan.results.store import Store, StoreError
from ioplan.runner import openers
from targets import MIB, sparse

IOPLAN = Path(sys.executable).with_name("ioplan")
OWN = "h1", "h2"


class Together:
    """A coordinator, and the hosts h1 and h2."""

    def __init__(self, folder, backend="io_uring", more=None, links=None, key="path"):
        """`more` is what the environment of a host has besides.

        With `links` ssh reaches the hosts; `key` is what their lab files name the
        target by.
        """
        self.folder, self.path = folder, sparse(folder / "shared.bin", 32 * MIB)
        self.lab, self.store = folder / "lab.toml", folder / "store.db"
        self.named, self.links = self.path, links
        self.env = os.environ | self._own(folder)
        self.hosts = {n: self._own(folder / n) | (more or {}).get(n, {}) for n in OWN}
        head = f'backend = "{backend}"\n[targets.shared]\n'
        entry = f'{key} = "{self.path}"\nwritable = true\ncannot_see_users = true\n'
        for name in OWN:
            (folder / name).mkdir()
            prepare = "[prepare]\nnomerges = 2\n" * bool(links)
            written(folder / name / "lab.toml", f"{head}{entry}{prepare}")
        ways = "".join(map(self._way, OWN))
        written(self.lab, f'{head}hosts = ["h1", "h2"]\n{entry}{ways}')

    def _own(self, folder):
        return {
            "IOPLAN_LAB": str(folder / "lab.toml"),
            "IOPLAN_STORE": str(folder / "store.db"),
            "XDG_STATE_HOME": str(folder / "state"),
        }

    def _way(self, name):
        head = f'[hosts.{name}]\nprogram = "{IOPLAN}"\n'
        if self.links:
            return f'{head}address = "{self.links.address_of(name)}"\nuser = "root"\n'
        words = [f"{key}={value}" for key, value in self.hosts[name].items()]
        return f"{head}reach = {json.dumps(['env', *words])}\n"

    def words(self, plan, *more):
        file = plan_file(self.folder, plan)
        reach = self.links.reach(DATABASE) if self.links else ()
        words = (*reach, IOPLAN, "run", file, "--target", "shared")
        return [*map(str, words), "--overwrite", str(self.named), *map(str, more)]

    def run(self, plan, *more):
        done = program(*self.words(plan, *more), env=self.env, timeout=120)
        return Done(done.returncode, done.stdout, " ".join(done.stderr.split()))

    def begin(self, plan, *more):
        words = self.words(plan, *more)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(words, env=self.env, text=True, **pipes)

    def records(self):
        """Those of the last session; none before there is one."""
        with suppress(StoreError), Store.open(self.store) as store:
            return list(store.records(store.session("last").id))
        return []

    def detail(self, record):
        with Store.open(self.store) as store:
            return store.detail(store.session("last").id, record.seq)

    def engines(self, host):
        """The engines that do I/O there; others only look at the target."""
        pids = (one.pid for one in openers(self.path.stat()))
        return [pid for pid in pids if is_engine(pid, self.hosts[host])]

    def are_at_work(self):
        return all(self.engines(host) for host in OWN)

    def is_free(self):
        return openers(self.path.stat()) == []


def written(path, text):
    path.write_text(text)
    path.chmod(0o600)


def is_engine(pid, env):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    own = f"IOPLAN_STORE={env['IOPLAN_STORE']}".encode()
    return (
        words[0].endswith(b"ioplan-engine") and words[1] == b"run" and own in variables
    )
