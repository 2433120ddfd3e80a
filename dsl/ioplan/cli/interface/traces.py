"""`ioplan trace …`."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter, option

_PATH = Parameter(
    key="path",
    metavar="TRACE",
    help="A trace; its format is recognized by its content.",
    kind="path",
    required=True,
)
_VOLUME = option(
    "--volume", "Of a trace of several devices, this one.", "NAME", default=None
)
_OUTPUT = option("--output -o", "The trace file.", "FILE", kind="path", required=True)

TRACE = Group(
    "trace",
    "Recorded I/O: record a trace, look at it, convert it, cut a part out of it.",
    (
        Command(
            "info",
            "Show what is in a trace: rates, sizes, shares, places.",
            "ioplan.cli.commands.trace.traces:info",
            (_PATH, _VOLUME),
            examples=("ioplan trace info web.blkparse",),
        ),
        Command(
            "convert",
            "Write a trace as a trace file of ioplan.",
            "ioplan.cli.commands.trace.traces:convert_trace",
            (_PATH, _OUTPUT, _VOLUME, use.FORCE),
            examples=("ioplan trace convert msr/prxy_0.csv -o prxy.iotrace",),
        ),
        Command(
            "cut",
            "Write a part of a trace, from one time to another.",
            "ioplan.cli.commands.trace.traces:cut_trace",
            (
                _PATH,
                Parameter(
                    key="part",
                    metavar="FROM..TO",
                    help="As 10min..20min.",
                    required=True,
                ),
                _OUTPUT,
                _VOLUME,
                use.FORCE,
            ),
            examples=("ioplan trace cut web.iotrace 10min..20min -o peak.iotrace",),
        ),
        Command(
            "record",
            "Record what is asked of a block device, until Ctrl-C or for a time.",
            "ioplan.cli.commands.trace.trace_record:record_trace",
            (
                Parameter(
                    key="device",
                    metavar="DEVICE",
                    help="A block device, but no partition.",
                    kind="path",
                    required=True,
                ),
                _OUTPUT,
                option("--for", "Ends it.", "TIME", key="lasting", default=None),
                use.FORCE,
            ),
            needs_linux=True,
            examples=("ioplan trace record /dev/nvme0n1 -o web.iotrace --for 10min",),
        ),
    ),
)
