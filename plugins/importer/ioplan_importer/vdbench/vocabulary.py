"""vdbench's parameters by what becomes of them in a plan.

SAID is translated or told by its value; NO_MATTER cannot matter to the target, for the
reason that stands there; all others are reported as left out. vdbench takes any
beginning of a word; the first word in its own order counts.
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
    known = (*SAID[kind], *NO_MATTER[kind], *ORDER[kind])
    if word not in known:
        word = next((one for one in ORDER[kind] if one.startswith(word)), word)
    return ALIASES.get(word, word)
