"""Runs `ioplan` and stamps when functions of it begin and end.

    python tests/benchmarks/stamped_session.py STAMPS.json WORDS...

For `between_runs.py`. It imports next to nothing, as that would be measured, too.
"""

import resource
import sys
import time
from importlib.machinery import PathFinder

WRAPPED = {
    "ioplan.cli.app": ("run",),
    "ioplan.cli.commands.run": ("run_command",),
    "ioplan.cli.inputs": ("checked_plan",),
    "ioplan.cli.targets.choose": ("chosen_backend", "open_drive"),
    "ioplan.runner.execute.execute": ("execute", "_Run._measured"),
    "ioplan.runner.execute.watchdog": ("Watchdog.__init__", "Watchdog.__exit__"),
    "ioplan.runner.session.recorder": ("Recorder.record",),
    "ioplan.results.store.store": ("Store.add",),
}
"""Functions by module; an event of a run is stamped by what it is."""
EVENT = "_Run._measured"
STAMPS = []


def stamp(what):
    """What it is, now on the monotonic clock in ns, and CPU time so far in s."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = time.process_time() + children.ru_utime + children.ru_stime
    STAMPS.append((what, time.monotonic_ns(), cpu_s))


def wrapped(function, name):
    """The same, stamped."""

    def call(*args, **more):
        stamp(type(args[1]).__name__ if name == EVENT else f"{name} begins")
        try:
            return function(*args, **more)
        finally:
            if name != EVENT:
                stamp(f"{name} ends")

    return call


class Wrapping:
    """Finds modules as Python does, and wraps functions once they are imported."""

    def find_spec(self, name, path, target=None):
        """None for all other modules."""
        spec = PathFinder.find_spec(name, path) if name in WRAPPED else None
        if spec:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: run_and_wrap(execute, module)
        return spec


def run_and_wrap(execute, module):
    """What an import does, and more."""
    execute(module)
    for name in WRAPPED[module.__name__]:
        holder, _, last = name.rpartition(".")
        owner = getattr(module, holder) if holder else module
        setattr(owner, last, wrapped(getattr(owner, last), name))


if __name__ == "__main__":
    place = sys.argv.pop(1)
    sys.meta_path.insert(0, Wrapping())
    from ioplan.cli import main

    try:
        main()
    finally:
        import json
        from pathlib import Path

        Path(place).write_text(json.dumps(STAMPS))
