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
    HUNG = "hung", "no I/O came back, or it did not end in time; it was broken off"
    STUCK = "stuck", "it hangs in the kernel and was left behind, target and all"
    SHORT = "short", "it ended before its time, and nobody had asked for that"
    DEVICE_ERROR = "device-error", "an I/O failed"
    VERIFY = "verify", "blocks did not hold what was last written to them"
    INCONSISTENT = "inconsistent", "its figures contradict each other"
    NO_RESULT = "no-result", "the backend ended without a result"
    BACKEND_ERROR = "backend-error", "the backend raised or reported an error"
    BACKEND_GARBAGE = "backend-garbage", "what the backend gave cannot be read"
    BACKEND_DIED = "backend-died", "the backend's process ended unexpectedly"
    NO_BACKEND = "no-backend", "the backend's program cannot be started"
    NO_START = "no-start", "the backend's program did not get ready"
    BAD_BACKEND = "bad-backend", "programs of the backend do not fit each other"
    TERMINATED = "terminated", "something else told the backend to end"
    ENDED_EARLY = "ended-early", "the backend finished before its time"
    NOT_AS_ASKED = "not-as-asked", "the backend ran something else than the job"
    REFUSED = "refused", "the backend's program refused a request"
    BAD_JOB = "bad-job", "the job cannot be done by this backend"
    UNALIGNED = "unaligned", "a size or an alignment does not fit the target's blocks"
    TOO_SMALL = "too-small", "the region is smaller than one I/O for each thread"
    OPEN = "open", "the target cannot be opened"
    MISSING_TARGET = "missing-target", "the target is not there"
    TARGET_LOST = "target-lost", "the target was there, and is gone"
    PERMISSION = "permission", "the target may not be used so by this user"
    READ_ONLY = "read-only", "the target cannot be written to"
    NO_SPACE = "no-space", "a disk is full: the target's, or that of the results"
    NO_IO = "no-io", "not one I/O was answered"
    NO_DIRECT_IO = "no-direct-io", "the file system has no direct I/O"
    IO_URING_FORBIDDEN = "io-uring-forbidden", "the system forbids io_uring"
    MEMORY = "memory", "the memory is too small, or may not be locked"
    NOTHING_FOUND = "nothing-found", "a test that it takes a share of has found nothing"
    HOST_LOST = "host-lost", "a host of a session of several does not answer"
    INTERNAL = "internal", "a defect of ioplan or of its engine"


class StoreFault(Kind):
    """Why the results cannot be read or kept: the `kind` of a StoreError."""

    STORE = "store", "anything else about the store"
    STORE_FULL = "store-full", "its disk is full, and the last run was not stored"
    STORE_RESERVE_USED = "store-reserve-used", "its disk is full; the run was stored"
    STORE_READ_ONLY = "store-read-only", "it cannot be written to"
    STORE_NOT_A_DATABASE = "store-not-a-database", "it is no SQLite file"
    STORE_DAMAGED = "store-damaged", "the file is damaged"
    STORE_NOT_OPENED = "store-not-opened", "the file or its folder cannot be opened"
    STORE_LOCKED = "store-locked", "another process holds it for too long"
    STORE_LOST = "store-lost", "its file was removed or replaced; there is a copy"
    STORE_IO = "store-io", "its disk reports an error"
    STORE_DATABASE = "store-database", "the database reports another error"
    STORE_UNREACHABLE = "store-unreachable", "the database's server does not answer"
    STORE_ADDRESS = "store-address", "the address of the database is wrong here"
    STORE_DRIVER = "store-driver", "the database's driver is not installed"
    STORE_FOREIGN = "store-foreign", "the database belongs to another program"
    STORE_VERSION = "store-version", "it is of a version that this ioplan cannot read"
    NO_SESSION = "no-session", "no session has that id"
    AMBIGUOUS_SESSION = "ambiguous-session", "several sessions begin with that id"
    SESSION_CONFLICT = "session-conflict", "another session has that id already"
    NO_RUN = "no-run", "the session has no run of that number"
    RUN_CONFLICT = "run-conflict", "another run has that number already"
    RECORD_DAMAGED = "record-damaged", "a record is not as ioplan writes it"
    SIGNING_KEY = "signing-key", "the key that sessions are signed with is unusable"
    SESSION_FOLDER = "session-folder", "the session's folder cannot be made"


class FigureFault(Kind):
    """How figures contradict each other: what makes a run `inconsistent`."""

    NEGATIVE_COUNT = "negative-count", "a count is below 0"
    EXTREMES_SWAPPED = "extremes-swapped", "the smallest latency exceeds the largest"
    MEAN_OUTSIDE = "mean-outside", "the mean latency is outside the extremes"
    COUNTS_WITHOUT_IO = "counts-without-io", "bytes or latencies, but no I/O"
    IO_WITHOUT_BYTES = "io-without-bytes", "I/Os, but no byte"
    SQUARES_TOO_SMALL = "squares-too-small", "the mean is larger than they allow"
    HISTOGRAM_COUNT = "histogram-count", "it counts more or fewer latencies than I/Os"
    HISTOGRAM_MEAN = "histogram-mean", "its mean is not the exact mean"
    HISTOGRAM_EXTREMES = "histogram-extremes", "it reaches beyond the extremes"
    HISTOGRAM_BINS = "histogram-bins", "its bins are of no known layout"
    HISTOGRAM_MISSING = "histogram-missing", "I/Os, but no histogram (a warning)"
    INTERVAL_ORDER = "interval-order", "intervals are not in the order of time"
    NO_TIME = "no-time", "I/Os completed in no time"
    SERIES_SUM = "series-sum", "intervals do not add up to the result (a warning)"


class TargetFault(Kind):
    """Why a target is refused: the `kind` of a TargetError, and of `targets --json`."""

    NO_TARGET = "no-target", "no target is named"
    UNKNOWN_NAME = "unknown-name", "neither the lab nor a path has this name"
    NOT_FOUND = "not-found", "the target, or the folder for it, does not exist here"
    OTHER_HOST = "other-host", "the lab says that the target is on another host"
    AMBIGUOUS = "ambiguous", "the name or the lab's entry fits several devices"
    NOT_A_TARGET = "not-a-target", "it is neither a regular file nor a block device"
    NO_PERMISSION = "no-permission", "this user may not open it"
    FOREIGN_LINK = "foreign-link", "the path has a symbolic link of another user"
    REPLACED = "replaced", "its path now leads to another file or device"
    NOT_CREATED = "not-created", "the scratch file cannot be created"
    NOT_KEPT = "not-kept", "what undo needs is not there, or cannot be kept"
    SIZE_MISMATCH = "size-mismatch", "the file exists, and has not the size of --create"
    BELOW_BLOCK = "below-block", "it is smaller than one block"
    LOCKED = "locked", "another session uses it, or a process that one left behind"
    MOUNTED = "mounted", "it, a partition of it or its disk is mounted"
    SWAP = "swap", "it is used as swap"
    ROOT_DISK = "root-disk", "it is on the disk that holds /"
    STACKED = "stacked", "LVM, device-mapper, md or the like is built on it"
    UNDER_LOOP = "under-loop", "a loop device uses it, or the same file"
    LOOP_ON_DEVICE = "loop-on-device", "it is a loop device on a block device"
    OPEN_ELSEWHERE = "open-elsewhere", "another program has it open or mapped to write"
    IN_USE = "in-use", "the kernel says that it is in use, and not by what"
    WRITE_PROTECTED = "write-protected", "the device is read-only"
    ZONED = "zoned", "the device has zones"
    SIGNATURE = "signature", "a partition table, a file system or the like is on it"
    CONTENT_UNKNOWN = "content-unknown", "what is on it cannot be examined"
    PARTITIONS = "partitions", "the kernel knows partitions of it"
    HARD_LINKS = "hard-links", "the file has several names"
    NO_ENTRY = "no-entry", "the lab does not name the device"
    NOT_WRITABLE = "not-writable", "the lab's entry does not say writable = true"
    IDENTITY_MISMATCH = "identity-mismatch", "it is not what the lab or session names"
    UNSTABLE_NAME = "unstable-name", "the lab's path may lead to another device one day"
    NO_CONSENT = "no-consent", "--overwrite does not name it"
    DATA = "data", "data is on it, and --overwrite-data does not name it"
    CONSENT_LIST = "consent-list", "the list of --overwrite-from is not taken"
    HOSTS_DISAGREE = "hosts-disagree", "it is not the same on all hosts of the session"


class LabFault(Kind):
    """Why a lab file cannot be used: the `kind` of a LabError."""

    LAB_UNREADABLE = "lab-unreadable", "the file cannot be read"
    LAB_NOT_YOURS = "lab-not-yours", "another user can change it, or what leads to it"
    LAB_SYNTAX = "lab-syntax", "the file is not TOML"
    LAB_INVALID = "lab-invalid", "it has wrong keys, values or references"


class ClusterFault(Kind):
    """Why a lab's hosts cannot be used: the `kind` of a ClusterError."""

    RELATIVE_PATH = "relative-path", "the path of a group's target is relative"
    MIXED_HOSTS = "mixed-hosts", "of a group, some targets are on hosts, some are not"
    UNKNOWN_HOST = "unknown-host", "the lab has no host of this name"
    NO_SCHEDULER = "no-scheduler", "the lab has hosts, and names no scheduler"
    BAD_ADDRESS = "bad-address", "the scheduler's address is not tls://HOST:PORT"
    NO_TLS = "no-tls", "the scheduler's address has no TLS"
    MISSING_PACKAGE = "missing-package", "a Python package is not installed"
    NO_KEYS = "no-keys", "this user has no keys of the lab"
    OTHER_DESK = "other-desk", "a host has the keys of another desk"
    KEYS_REVOKED = "keys-revoked", "the keys of a host were revoked"
    KEYS_REFUSED = "keys-refused", "a peer refuses a certificate"
    HOST_UNREACHABLE = "host-unreachable", "a host does not answer to ssh"
    VERSION_MISMATCH = "version-mismatch", "a host has other versions of the programs"
    SCHEDULER_FAILED = "scheduler-failed", "the scheduler does not start"
    SCHEDULER_UNREACHABLE = "scheduler-unreachable", "the scheduler does not answer"
    NO_WORKER = "no-worker", "a host's worker does not report"
    LANES_RUNNING = "lanes-running", "lanes that were cancelled have not ended"
    INSTALL_FAILED = "install-failed", "ioplan cannot be installed on a host"


class HostFault(Kind):
    """Why a host cannot be prepared: the `kind` of a HostError."""

    HOST_PERMISSION = "host-permission", "this user may not change its settings"
    HOST_SETTING = "host-setting", "it has no such setting, or refuses the value"
    HOST_CONFLICT = "host-conflict", "another session has set it to something else"
    HOST_LEDGER = "host-ledger", "what was set before cannot be read or kept"


class CommandFault(Kind):
    """Why a command is refused, where nothing above says it more precisely."""

    USAGE = "usage", "the command line asks for something that cannot be"
    PLAN = "plan", "the plan has errors"
    MISFIT = "misfit", "the plan does not fit the target"
    UNSUPPORTED = "unsupported", "the backend cannot do what the plan asks for"
    TARGET = "target", "the target cannot be used, or may not be overwritten"
    BACKEND = "backend", "the backend cannot do what is asked"
    EXPORT = "export", "the results cannot be exported so"
    SYSTEM = "system", "this needs Linux"
    BUNDLE = "bundle", "the bundle cannot be made, or is not taken"


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
