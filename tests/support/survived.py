"""Faults that ioplan has survived: a row for each."""

import json
import re

import paths
from warned import not_of_the_host

from golden import Golden
from ioplan.results.store import Store

FAULTS = Golden("faults")
FROM_VM = paths.TESTS / "vm/rows.json"
DOCUMENT = paths.ROOT / "docs/faults.md"
COLUMNS = ("fault", "how", "status", "cause", "message", "kept")
HEAD = ("fault", "made by", "status", "cause", "what a person reads", "kept")

# What the kernel says of a loop device whose file is gone is a matter of the moment.
SAME = (
    (r"loop\d+", "loop0"),
    (r"process \d+", "process 4711"),
    (r"\b\d+ I/Os", "97 I/Os"),
    (r"offset([ =])\d+", r"offset\g<1>40960"),
    (r"state D(, in [\w.]+)?", "state D, in submit_bio_wait"),
    (r"EINVAL \(Invalid argument", "EIO (Input/output error"),
    ("err=22", "err=5"),
    ("; the target cannot do I/O of this size or offset, or is gone", ""),
    (r"[\d.]+ % of its length", "30 % of its length"),
    (r"[+][\d.]+ s", "+3600.0 s"),
    (r"fio \d+\.\d+[\w.-]*", "fio 3.33"),
)


def plain(text, folder):
    """What the message is on any machine."""
    text = text.replace(str(folder), "/data")
    for pattern, same in SAME:
        text = re.sub(pattern, same, text)
    return text


def last_run(store):
    """The last run of the last session, as the store has it."""
    with Store.open(store) as kept:
        session = kept.session("last").id
        record = list(kept.records(session))[-1]
        return record, kept.detail(session, record.seq)


def kept(record, detail):
    """What there is of a run."""
    measured = record.total.ios > 0 and detail.histograms
    if measured and record.status == "ok":
        return "the whole run"
    if measured and detail.series:
        return "the run as far as it came: figures, histograms, series"
    return "the record"


def row_of(record, detail, folder):
    """What a run's record has to say in the table."""
    text = record.message or "; ".join(not_of_the_host(record.warnings))
    return {
        "status": record.status,
        "cause": record.cause,
        "message": plain(text, folder),
        "kept": kept(record, detail),
    }


def table(names):
    """As Markdown: the rows of these names, then those of the virtual machine."""
    rows = [FAULTS[name].expected for name in names]
    rows += [row for row in _from_vm() if "fault" in row]
    lines = [_line(HEAD), _line(["---"] * len(HEAD))]
    return "\n".join(
        [*lines, *(_line([r.get(c, "") for c in COLUMNS]) for r in rows), ""]
    )


def _from_vm():
    found = json.loads(FROM_VM.read_text()) if FROM_VM.is_file() else []
    return found


def _line(cells):
    escaped = (str(c).replace("|", "\\|").replace("\n", "<br>") for c in cells)
    return f"| {' | '.join(escaped)} |"
