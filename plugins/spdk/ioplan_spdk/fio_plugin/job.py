"""SPDK's plugin for fio: where it is, whether it fits, and how fio is told of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from ioplan.backends import BackendError, Failure, Job
from ioplan_fio.jobfile import Plugin, Settings, arguments, job_file
from ioplan_fio.program import Program, find_program
from ioplan_spdk.bdevperf.exits import KNOWN_MESSAGES
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.program import VARIABLE
from ioplan_spdk.rpc.bdev import Bdev, bdev_of
from ioplan_spdk.target_spec import target_spec

# What fio says when SPDK's plugin is at fault, for a person.

REBUILD = (
    "fio and plugin must be of one version: build SPDK --with-fio=the source of "
    "fio {0}, or name the fitting fio with --option fio="
)
VERSION_MISMATCHES = (
    (
        r"bad ioops version (\d+) \(want (\d+)\)",
        "the plugin was built for another fio: its interface is {0}, and that of fio "
        "{version} is {1}; ",
    ),
    (
        r"symbol lookup error: \S+ undefined symbol: (\S+)",
        "the plugin was built for another fio: fio {version} has no {0}; ",
    ),
)
UNLOADED = r"engine spdk_bdev not (?:loadable|found)"
MORE = "with more memory, for example --option memory_mib=1024: of too little SPDK dies"
FAULTS = (
    (
        r"Unable to find bdev with name (\S+)",
        "missing-target",
        "SPDK has no device {0}; look at its configuration",
    ),
    (
        r"Parsing JSON configuration failed|STARTUP RPCs failed",
        "bad-job",
        "SPDK refuses its configuration",
    ),
    (
        r"must set thread=1",
        "bad-job",
        "the plugin wants threads",
    ),
)


def version_mismatch(messages: str, version: str) -> str:
    """Why fio does not take the plugin; empty if nothing says so."""
    for pattern, text in VERSION_MISMATCHES:
        if found := re.search(pattern, messages):
            start = text.format(*found.groups(), version=version)
            return start + REBUILD.format(version)
    if re.search(UNLOADED, messages):
        return f"fio {version} does not load the plugin; " + REBUILD.format(version)
    return ""


def explained(failure: Failure, messages: str, version: str) -> Failure:
    """A failure with SPDK's own reason, where it gave one."""
    if found := version_mismatch(messages, version):
        return Failure(cause="bad-backend", message=found)
    for pattern, text in KNOWN_MESSAGES:
        if match := re.search(pattern, messages):
            reason = text.format(*match.groups())
            return _with(failure, failure.cause, reason)
    for pattern, cause, text in FAULTS:
        if match := re.search(pattern, messages):
            return _with(failure, cause, text.format(*match.groups()))
    if failure.cause == "backend-died":
        return failure.model_copy(update={"message": f"{failure.message} {MORE}"})
    return failure


def _with(failure: Failure, cause: str, reason: str) -> Failure:
    return Failure(cause=cause, message=f"SPDK in fio: {reason}; {failure.message}")


ENGINE = "spdk_bdev"
SUBFOLDERS = ("build/fio", "fio", "../fio", "")
ANSWER_S = 20


def plugin_path(options: SpdkOptions) -> Path:
    """The plugin: by option, by environment. Raises BackendError."""
    if options.plugin:
        return _file(Path(options.plugin), "option plugin")
    folder = options.dir or os.environ.get(VARIABLE)
    if not folder:
        raise BackendError(
            f"SPDK's fio plugin is not named; set {VARIABLE} to an SPDK tree built "
            f"--with-fio, or --option plugin= to its file {ENGINE}"
        )
    found = [path for p in SUBFOLDERS if (path := Path(folder) / p / ENGINE).is_file()]
    if not found:
        raise BackendError(
            f"{folder} has no fio plugin build/fio/{ENGINE}; configure SPDK "
            f"--with-fio=FIO_SOURCE, of the version of fio that is to run, and build it"
        )
    return _file(found[0], folder)


def _file(path: Path, source: str) -> Path:
    path = path.absolute()
    if not path.is_file() or not os.access(path, os.R_OK):
        raise BackendError(f"{source} names {path}, which cannot be read")
    if any(letter in str(path) for letter in " :"):  # they part LD_PRELOAD's names
        raise BackendError(
            f"{path} cannot be preloaded: no colon or space may be in it"
        )
    return path


def fitting_fio(options: SpdkOptions) -> tuple[Program, Path]:
    """fio and the plugin, which fits it. Raises BackendError."""
    program, plugin = find_program(options.fio), plugin_path(options)
    check_fit(program, plugin)
    return program, plugin


def check_fit(program: Program, plugin: Path) -> None:
    """Load the plugin into fio, once and without I/O. Raises BackendError."""
    changed_ns = (Path(program.path).stat().st_mtime_ns, plugin.stat().st_mtime_ns)
    if found := _misfit(program, plugin, changed_ns):
        raise BackendError(found)


@cache
def _misfit(program: Program, plugin: Path, _changed_ns: tuple[int, int]) -> str:
    """Why fio does not take the plugin; empty where it does."""
    try:
        done = subprocess.run(
            [program.path, f"--enghelp={ENGINE}"],
            env={**os.environ, "LC_ALL": "C", "LD_PRELOAD": str(plugin)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program.path} does not load {plugin}: {error}"
    messages = (done.stderr + done.stdout).decode(errors="replace")
    found = version_mismatch(messages, program.version_text)
    return f"{found} ({plugin})" if found else ""


def plugin_bdev(job: Job, options: SpdkOptions) -> Bdev:
    """Never read-only: the plugin opens for writing, and fio --readonly guards."""
    target = target_spec(job.target)
    return bdev_of(target, options.bdev, job.block_bytes, read_only=False)


def config_text(job: Job, options: SpdkOptions) -> str:
    """The calls that make the device, as SPDK's JSON configuration."""
    calls = [call._asdict() for call in plugin_bdev(job, options).calls]
    subsystem = {"subsystem": "bdev", "config": calls}
    return json.dumps({"subsystems": [subsystem]}, indent=2) + "\n"


def plugin_settings(
    job: Job, options: SpdkOptions, library: Path | str, config: str
) -> Settings:
    """What the fio backend is to do differently."""
    lines = [f"spdk_json_conf={config}", f"spdk_mem={options.memory_mib}"]
    lines += ["env_context=--no-huge"] if options.no_huge else []
    target = plugin_bdev(job, options).name
    named = Plugin(name=ENGINE, library=str(library), target=target, lines=tuple(lines))
    return Settings(path=options.fio, plugin=named)


def native(job: Job, options: SpdkOptions) -> str:
    """The command, the job file and the configuration, as text."""
    settings = plugin_settings(job, options, ENGINE, "CONFIG")
    command = f"# LD_PRELOAD={ENGINE} fio {' '.join(arguments(job))} FILE"
    config = config_text(job, options)
    return f"{command}\n\n{job_file(job, settings)}\n# CONFIG\n{config}"
