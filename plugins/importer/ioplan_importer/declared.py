"""The entry point of `ioplan.commands`: what the command line knows of imports."""

from __future__ import annotations

from ioplan.cli import Command, Parameter, flag, option
from ioplan.cli.interface import shared as use

COMMANDS = (
    Command(
        "import",
        "Import jobs and results of other tools; exit 1 if anything is lost.",
        "ioplan_importer.command:import_files",
        (
            Parameter(
                key="files",
                metavar="FILE",
                help="Files of fio (jobs, JSON), FioSynth or vdbench.",
                kind="path",
                many=True,
                required=True,
            ),
            option(
                "--output -o",
                "The plan file, or a folder for several; default: stdout.",
                "FILE",
                kind="output",
            ),
            option("--suite", "Put the workloads into one library.", "NAME"),
            flag("--prove", "Verify that fio does the same I/O for the plan."),
            option(
                "--set",
                "A variable of the job file.",
                "NAME=VALUE",
                key="settings",
                many=True,
            ),
            use.FORCE,
            option(
                "--drive", "The target of the results; default: fio's filename.", "NAME"
            ),
            option("--tag", "A label stored with the results.", "TAG"),
            use.STORE,
        ),
        examples=("ioplan import jobs.fio -o jobs.ioplan",),
    ),
    Command(
        "model",
        "Write a plan with the load of a recorded trace, and how far it is from it.",
        "ioplan_importer.trace_model.command:model",
        (
            Parameter(
                key="path", metavar="TRACE", help="A trace.", kind="path", required=True
            ),
            option(
                "--output -o", "The plan file; default: stdout.", "FILE", kind="output"
            ),
            option("--volume", "The device, of a trace of several.", "NAME"),
            flag("--not-simulated", "Run neither on a simulated drive."),
            use.FORCE,
        ),
        examples=("ioplan model web.log -o web.ioplan",),
    ),
    Command(
        "fio",
        "Run fio's jobs by any backend, and print what fio prints.",
        "ioplan_importer.fio_command.command:run_fio",
        (
            Parameter(
                key="words",
                metavar="FIO-OPTION|JOB.fio",
                help="fio's own options, and job files.",
                many=True,
                required=True,
            ),
            use.BACKEND,
            option("--allow-overwrite", "As --overwrite of run.", "TARGET", many=True),
            option(
                "--allow-overwrite-data",
                "As --overwrite-data of run.",
                "TARGET",
                many=True,
            ),
            flag("--lossy", "Run also what a plan says otherwise than fio."),
            flag("--pass-through", "Give the call to fio itself."),
            use.LAB,
            use.STORE,
        ),
        foreign=True,
        needs_linux=True,
        examples=("ioplan fio job.fio --output-format=json+ --output=out.json",),
    ),
)
