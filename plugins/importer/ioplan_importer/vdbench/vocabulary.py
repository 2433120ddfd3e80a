"""vdbench's parameters by what becomes of them in a plan.

Each that vdbench knows stands in one of three tables: SAID, what is translated or told
by its value; LOST, what is reported, with what to do; NO_MATTER, with the reason why it
cannot matter to the target. vdbench takes any beginning of a word; the first word in
its own order counts.
"""

from __future__ import annotations

LOCAL_HOSTS = ("localhost", "127.0.0.1")

SAID = {
    "general": ("compratio", "validate"),
    "hd": ("system",),
    "sd": (
        *("host", "hd", "lun", "size", "threads", "offset", "align", "openflags"),
        "range",
    ),
    "wd": (
        *("sd", "skew", "xfersize", "rdpct", "readpct", "writepct", "wrpct", "range"),
        *("seekpct", "iorate", "host", "hd", "openflags", "threads"),
    ),
    "rd": (
        *("wd", "sd", "iorate", "curve", "elapsed", "warmup", "forxfersize"),
        *("forthreads", "forrdpct", "xfersize", "threads", "rdpct", "distribution"),
        "openflags",
    ),
}

_PRINTS = "how vdbench prints, and keeps what it measured"
_REACHED = "how vdbench reaches a host and starts there"
_FILES = "it is only about file systems"

NO_MATTER = {
    "general": {
        **dict.fromkeys(
            (
                *("report", "report_run_totals", "histogram", "auxreport", "showlba"),
                *("debug", "messagescan", "swat"),
            ),
            _PRINTS,
        ),
        **dict.fromkeys(("port", "heartbeat_error"), _REACHED),
        **dict.fromkeys(("create_anchors",), _FILES),
        "compressionseed": "which random data is drawn, of the same kind",
        "formatxfersize": "it is of formatsds, which is reported itself",
        "monitor": "a file by which a person ends the run",
        "abort_failed_skew": "when vdbench calls its own run invalid",
    },
    "hd": {
        **dict.fromkeys(("vdbench", "shell", "user"), _REACHED),
        "jvms": "vdbench's own processes; the threads are divided among them",
    },
    "sd": {
        **dict.fromkeys(("kstat", "instance"), _PRINTS),
    },
    "wd": {},
    "rd": {"interval": _PRINTS},
}

_NONE = "a plan has no word for it"
_CACHE = "vdbench's cache hits are of a range of its own: write region or hotspots"
_VERIFY = "write in the workload: verify"
_DEDUP = "write in the workload: dedup 50%"
_DATA = "write in the workload: data zeros, or data compressible 50%"
_COMMAND = "run it around `ioplan run`"
_HOSTS = "a plan's stream may say `on hosts NAME`; see the lab file"
_FWD = "a plan is about one target with direct I/O; keep such runs with vdbench"
_REPLAY = "a trace says which I/Os to do; a plan says of which kind"
_AXIS = "write a test for each value"
_LENGTH = "write the length: run … for 1TB, or for 1 pass"
_COMMANDS = ("startcmd", "start_cmd", "endcmd", "end_cmd")

LOST = {
    "general": {
        **dict.fromkeys(_COMMANDS, _COMMAND),
        **dict.fromkeys(("data_errors", "dataerrors"), "write: expect errors == 0"),
        **dict.fromkeys(("pattern", "pattern_buffer", "compression"), _DATA),
        **dict.fromkeys(
            (
                *("dedupratio", "dedupunit", "dedupsets", "deduphotsets"),
                *("dedupflipflop",),
            ),
            _DEDUP,
        ),
        "journal": _VERIFY,
        "formatsds": "write a precondition: write 1 pass",
        "psrset": "the CPUs of a target stand in the lab file: cpus",
        "concatenatesds": "several luns are a group of the lab file",
        "misc": _NONE,
        "loop": "run the plan so often, and compare the sessions",
        "include": "put the text of that file here",
    },
    "hd": {"clients": _HOSTS, "mount": _FWD},
    "sd": {
        **dict.fromkeys(("dedupratio", "dedupunit", "dedupsets"), _DEDUP),
        "count": "the runs are on several luns: name them as a group in the lab file",
        "hitarea": _CACHE,
        "replay": _REPLAY,
        "journal": _VERIFY,
        **dict.fromkeys(("resetlun", "resetbus"), _COMMAND),
        "streams": _NONE,
    },
    "wd": {
        **dict.fromkeys(("rhpct", "whpct"), _CACHE),
        "hotband": "write in the workload: hotspots { 80% in 20%, 20% in 80% }",
        "stride": _NONE,
        "priority": "write for each stream its rate",
        "user": _NONE,
        "streams": "write a stream for each, with its region",
    },
    "rd": {
        **dict.fromkeys(("maxdata", "maxdataread", "maxdatawritten"), _LENGTH),
        "stopcurve": "write: expect mean <= 1ms",
        "replay": _REPLAY,
        "pause": "write before the run: idle 30s",
        **dict.fromkeys(("forrhpct", "forwhpct", "forhitarea"), _CACHE),
        **dict.fromkeys(("rhpct", "whpct", "hitarea"), _CACHE),
        **dict.fromkeys(("forseekpct", "seekpct"), _AXIS),
        **dict.fromkeys(
            ("forcompratio", "forcompression", "compratio", "compression"),
            "write: vary data in compressible 50%, compressible 75%",
        ),
        **dict.fromkeys(
            (
                *("fordepth", "forwidth", "forfiles", "forsizes", "fortotalsize"),
                *("forwss", "forworkingsetsize", "foroperations", "depth", "width"),
                *("files", "sizes", "totalsize", "wss", "workingsetsize", "fwd"),
                *("fsd", "fwdrate", "operations", "format", "mount"),
            ),
            _FWD,
        ),
        **dict.fromkeys(_COMMANDS, _COMMAND),
    },
}
USUAL = {
    **dict.fromkeys(("rhpct", "whpct", "forrhpct", "forwhpct", "pause"), ("0",)),
    **dict.fromkeys(("formatsds", "format", "concatenatesds", "journal"), ("no",)),
    "loop": ("1",),
}
"""Values with which vdbench does what it does without the parameter."""

ALIASES = {"readpct": "rdpct", "writepct": "wrpct"}

ORDER = {
    "general": (
        *("compression", "compratio", "compressionseed", "dedupratio", "port"),
        *("pattern", "data_errors", "dataerrors", "swat", "validate", "formatxfersize"),
        *("create_anchors", "formatsds", "report", "report_run_totals", "histogram"),
        *("psrset", "auxreport", "monitor", "concatenatesds", "messagescan"),
        *("abort_failed_skew", "misc"),
    ),
    "hd": ("system", "vdbench", "shell", "user", "jvms", "clients", "mount"),
    "sd": (
        *("host", "lun", "count", "size", "threads", "hitarea", "offset", "align"),
        *("kstat", "instance", "replay", "journal", "resetlun", "resetbus"),
        *("openflags", "range", "streams"),
    ),
    "wd": (
        *("skew", "xfersize", "readpct", "rdpct", "writepct", "wrpct", "range"),
        *("hotband", "seekpct", "stride", "priority", "iorate", "rhpct", "whpct"),
        *("host", "openflags", "threads", "streams"),
    ),
    "rd": (
        *("iorate", "curve", "stopcurve", "elapsed", "interval", "warmup", "pause"),
        *("forxfersize", "forthreads", "forrdpct", "forrhpct", "forwhpct"),
        *("forseekpct", "forhitarea", "forcompratio", "forcompression", "fordepth"),
        *("forwidth", "forfiles", "forsizes", "fortotalsize", "forwss"),
        *("forworkingsetsize", "foroperations", "xfersize", "threads", "rdpct"),
        *("rhpct", "whpct", "seekpct", "hitarea", "compratio", "compression", "depth"),
        *("width", "files", "sizes", "totalsize", "wss", "workingsetsize"),
        *("distribution", "startcmd", "start_cmd", "endcmd", "end_cmd", "fwdrate"),
        *("operations", "format", "openflags", "mount"),
    ),
}
"""What may be abbreviated, in the order in which vdbench looks."""


def full_name(kind: str, word: str) -> str:
    """The parameter that a word, or the beginning of one, means."""
    known = (*SAID[kind], *LOST[kind], *NO_MATTER[kind])
    if word not in known:
        word = next((one for one in ORDER[kind] if one.startswith(word)), word)
    return ALIASES.get(word, word)
