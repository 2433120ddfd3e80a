"""The name of everything that can go wrong, to search and to test for.

Names are stable: records and JSON output hold them, beside a text for a person.
`errors.md` is made of this module.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Kind(StrEnum):
    """A name, and its meaning in a sentence."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        member = str.__new__(cls, name)
        member._value_, member.meaning = name, meaning
        return member


class Cause(Kind):
    """Why a run is not ok: the `cause` of its record. Other backends may have more."""

    INTERRUPTED = "interrupted", "the user stopped it"
    HUNG = "hung", "no I/O completed, or it did not end in time; it was aborted"
    STUCK = (
        "stuck",
        ("it hangs in the kernel and could not be killed; its target is unusable"),
    )
    TAKEN = "taken", "something else began to use the target; the session was ended"
    SHORT = "short", "it ended before its time, without a request to stop"
    DEVICE_ERROR = "device-error", "an I/O failed"
    VERIFY = "verify", "blocks did not contain the data last written to them"
    INCONSISTENT = "inconsistent", "its results are inconsistent"
    NO_RESULT = "no-result", "the backend ended without a result"
    BACKEND_ERROR = "backend-error", "the backend raised or reported an error"
    BACKEND_GARBAGE = "backend-garbage", "the backend's output cannot be parsed"
    BACKEND_DIED = "backend-died", "the backend's process ended unexpectedly"
    NO_BACKEND = "no-backend", "the backend's program cannot be started"
    NO_START = "no-start", "the backend's program did not become ready"
    BAD_BACKEND = "bad-backend", "the backend's programs have incompatible versions"
    TERMINATED = "terminated", "the backend was terminated from outside"
    ENDED_EARLY = "ended-early", "the backend finished before its time"
    NOT_AS_ASKED = "not-as-asked", "the backend did not run the job as requested"
    REFUSED = "refused", "the backend's program refused a request"
    BAD_JOB = "bad-job", "this backend does not support the job"
    UNALIGNED = (
        "unaligned",
        ("a size or alignment is not a multiple of the target's block size"),
    )
    TOO_SMALL = "too-small", "the region is smaller than one I/O for each thread"
    NO_METER = "no-meter", "no log of the target tells what goes to its flash"
    OPEN = "open", "the target cannot be opened"
    MISSING_TARGET = "missing-target", "the target does not exist"
    TARGET_LOST = "target-lost", "the target disappeared during the session"
    PERMISSION = "permission", "this user has no permission to use the target"
    READ_ONLY = "read-only", "the target cannot be written to"
    NO_SPACE = "no-space", "a disk is full: the target's or the results store's"
    NO_IO = "no-io", "no I/O completed"
    NO_DIRECT_IO = "no-direct-io", "the file system does not support direct I/O"
    IO_URING_FORBIDDEN = "io-uring-forbidden", "io_uring is disabled on this system"
    MEMORY = "memory", "there is not enough memory, or it may not be locked"
    NOT_CUT = "not-cut", "the power was not cut as the plan asks"
    NOT_MADE = "not-made", "an event of the plan was not made, or its command failed"
    NOTHING_FOUND = "nothing-found", "the test whose result it uses found nothing"
    HOST_LOST = "host-lost", "a host of a multi-host session does not answer"
    INTERNAL = "internal", "a bug in ioplan or its engine"


class StoreFault(Kind):
    """Why the results cannot be read or kept: the `kind` of a StoreError."""

    STORE = "store", "another error of the store"
    STORE_FULL = "store-full", "its disk is full, and what was to be stored is not"
    STORE_RESERVE_USED = "store-reserve-used", "its disk is full; the run was stored"
    STORE_READ_ONLY = "store-read-only", "it cannot be written to"
    STORE_NOT_A_DATABASE = "store-not-a-database", "it is not an SQLite file"
    STORE_DAMAGED = "store-damaged", "the file is damaged"
    STORE_NOT_OPENED = "store-not-opened", "the file or its folder cannot be opened"
    STORE_LOCKED = "store-locked", "another process locks it for too long"
    STORE_LOST = (
        "store-lost",
        ("its file was removed or replaced; its content was copied"),
    )
    STORE_IO = "store-io", "its disk reports an error"
    STORE_DATABASE = "store-database", "the database reports another error"
    STORE_UNREACHABLE = "store-unreachable", "the database's server does not answer"
    STORE_ADDRESS = "store-address", "the address of the database is invalid"
    STORE_DRIVER = "store-driver", "the database's driver is not installed"
    STORE_FOREIGN = "store-foreign", "the database belongs to another program"
    STORE_VERSION = "store-version", "its version is not supported by this ioplan"
    NO_SESSION = "no-session", "no session has that id"
    AMBIGUOUS_SESSION = "ambiguous-session", "several sessions begin with that id"
    SESSION_CONFLICT = "session-conflict", "another session already has that id"
    NO_RUN = "no-run", "the session has no run of that number"
    RUN_CONFLICT = "run-conflict", "another run already has that number"
    RECORD_DAMAGED = "record-damaged", "a record is not valid"
    SIGNING_KEY = "signing-key", "the key for signing sessions is unusable"
    SESSION_FOLDER = "session-folder", "the session's folder cannot be created"


class FigureFault(Kind):
    """How figures contradict each other: what makes a run `inconsistent`."""

    NEGATIVE_COUNT = "negative-count", "a count is below 0"
    EXTREMES_SWAPPED = "extremes-swapped", "the smallest latency exceeds the largest"
    MEAN_OUTSIDE = (
        "mean-outside",
        ("the mean latency is not between the smallest and the largest"),
    )
    DEVIATION = "deviation", "the standard deviation is not that of the latencies"
    COUNTS_WITHOUT_IO = "counts-without-io", "bytes or latencies without I/Os"
    HISTOGRAM_COUNT = "histogram-count", "it counts more or fewer latencies than I/Os"
    HISTOGRAM_MEAN = "histogram-mean", "its mean differs from the exact mean"
    HISTOGRAM_EXTREMES = (
        "histogram-extremes",
        ("it does not begin and end with the smallest and the largest latency"),
    )
    HISTOGRAM_BINS = "histogram-bins", "its bins have an unknown layout"
    HISTOGRAM_MISSING = "histogram-missing", "I/Os without a histogram"
    PERCENTILES = "percentiles", "they fall, or are not those of the histogram"
    DERIVED = "derived", "a rate, sum or share is not that of the counts"
    INTERVAL_ORDER = "interval-order", "intervals do not follow each other"
    INTERVAL_TIME = "interval-time", "the intervals are not as long as the run"
    SERIES_SUM = "series-sum", "intervals do not add up to the result"
    NO_TIME = "no-time", "I/Os completed in zero time"
    RUN_TIME = "run-time", "something took longer than the run"
    RUN_CLOCK = "run-clock", "the run took another time by the host's clock"
    NOTHING_DONE = "nothing-done", "not one I/O was done"
    STREAMS = "streams", "the streams are not those of the job"
    DIRECTION = "direction", "reads, writes, trims or flushes that were not asked"
    SIZES = "sizes", "the bytes are not those of I/Os of the sizes asked"
    MIX = "mix", "the shares of reads, writes or trims are not those asked"
    RATE = "rate", "more I/Os than arrive at the rate"
    DEPTH_ABOVE = (
        "depth-above",
        ("IOPS x mean latency exceeds the queue depth (Little's law)"),
    )
    DEPTH_BELOW = (
        "depth-below",
        ("IOPS x mean latency is far below the queue depth of a closed loop"),
    )


class TargetFault(Kind):
    """Why a target is refused: the `kind` of a TargetError, and of `targets --json`."""

    NO_TARGET = "no-target", "no target is named"
    UNKNOWN_NAME = "unknown-name", "neither the lab nor a path has this name"
    NOT_FOUND = "not-found", "the target, or its folder, does not exist"
    OTHER_HOST = "other-host", "the lab says that the target is on another host"
    AMBIGUOUS = "ambiguous", "the name or the lab's entry matches several devices"
    NOT_A_TARGET = "not-a-target", "it is neither a regular file nor a block device"
    NO_PERMISSION = "no-permission", "this user cannot open it"
    FOREIGN_LINK = "foreign-link", "the path contains another user's symbolic link"
    REPLACED = "replaced", "its path now leads to another file or device"
    NOT_CREATED = "not-created", "the scratch file cannot be created"
    NOT_KEPT = "not-kept", "the data for undo is missing, or cannot be saved"
    SIZE_MISMATCH = "size-mismatch", "the file exists with a size other than --create"
    BELOW_BLOCK = "below-block", "it is smaller than one block"
    LOCKED = "locked", "another session, or a process left behind by one, uses it"
    MOUNTED = "mounted", "it, a partition of it or its disk is mounted"
    SWAP = "swap", "it is used as swap"
    ROOT_DISK = "root-disk", "it is on the disk that contains /"
    STACKED = "stacked", "LVM, device-mapper, md or similar uses it"
    UNDER_LOOP = "under-loop", "a loop device uses it, or the same file"
    LOOP_ON_DEVICE = "loop-on-device", "it is a loop device on a block device"
    OPEN_ELSEWHERE = (
        "open-elsewhere",
        ("another program has it open or mapped for writing"),
    )
    UNSEEN = "unseen", "programs that use it may be invisible from here"
    IN_USE = "in-use", "the kernel reports that it is in use, but not by what"
    WRITE_PROTECTED = "write-protected", "the device is read-only"
    ZONED = "zoned", "the device has zones"
    SIGNATURE = (
        "signature",
        ("it has a partition table, a file system or another signature"),
    )
    CONTENT_UNKNOWN = "content-unknown", "its content cannot be examined"
    PARTITIONS = "partitions", "the kernel has partitions for it"
    HARD_LINKS = "hard-links", "the file has several hard links"
    RESULTS = "results", "it is a store of ioplan's results, or a part of one"
    NO_ENTRY = "no-entry", "the lab file does not name the device"
    NOT_WRITABLE = "not-writable", "the lab's entry does not set writable = true"
    IDENTITY_MISMATCH = (
        "identity-mismatch",
        ("it is not the device of the lab entry or session"),
    )
    UNSTABLE_NAME = (
        "unstable-name",
        ("the lab's path may refer to another device after a reboot"),
    )
    NO_CONSENT = "no-consent", "--overwrite does not name it"
    DATA = "data", "data is on it, and --overwrite-data does not name it"
    CONSENT_LIST = "consent-list", "the list of --overwrite-from is rejected"
    HOSTS_DISAGREE = "hosts-disagree", "it is not the same on all hosts of the session"


class LabFault(Kind):
    """Why a lab file cannot be used: the `kind` of a LabError."""

    LAB_UNREADABLE = "lab-unreadable", "the file cannot be read"
    LAB_NOT_YOURS = (
        "lab-not-yours",
        ("another user can change it or a folder in its path"),
    )
    LAB_SYNTAX = "lab-syntax", "the file is not TOML"
    LAB_INVALID = "lab-invalid", "it has wrong keys, values or references"


class ClusterFault(Kind):
    """Why hosts cannot run together: the `kind` of a BackendError."""

    NO_SSH = "no-ssh", "ssh, or what the lab file has in its place, is not installed"
    HOST_UNREACHABLE = "host-unreachable", "ssh does not get into a host"
    NO_IOPLAN = "no-ioplan", "a host does not have the program ioplan"
    VERSION_MISMATCH = "version-mismatch", "a host's ioplan is of another version"


class HostFault(Kind):
    """Why a host cannot be prepared: the `kind` of a HostError."""

    HOST_PERMISSION = "host-permission", "this user cannot change its settings"
    HOST_SETTING = "host-setting", "it has no such setting, or rejects the value"
    HOST_CONFLICT = "host-conflict", "another session has set it to something else"
    HOST_LEDGER = "host-ledger", "the previous settings cannot be read or saved"


class CommandFault(Kind):
    """Why a command is refused, where nothing above says it more precisely."""

    USAGE = "usage", "the command line is invalid"
    PLAN = "plan", "the plan has errors"
    MISFIT = "misfit", "the plan is not possible on the target"
    UNSUPPORTED = "unsupported", "the backend does not support the plan"
    TARGET = "target", "the target cannot be used, or may not be overwritten"
    BACKEND = "backend", "the backend does not support the request"
    EXPORT = "export", "the results cannot be exported in this form"
    SYSTEM = "system", "this needs Linux"
    BUNDLE = "bundle", "the bundle cannot be created, or is rejected"


KINDS: tuple[type[Kind], ...] = (
    *(Cause, TargetFault, LabFault, ClusterFault),
    *(StoreFault, FigureFault, HostFault, CommandFault),
)


class ExplainedError(Exception):
    """An error whose text says what, where and what to do; `kind` is its name."""

    kind: str = Cause.INTERNAL

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(text)
        if kind:
            self.kind = kind
