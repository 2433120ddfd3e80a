"""Why bdevperf ended, for a person: from its exit code and what it said."""

from __future__ import annotations

import re
import signal

MEMORY = "give it more by --option memory_mib=1024, or lower the queue depth or size"
IO_FAILED = r"task offset: (\d+) on job bdev=(\S+) fails"
KNOWN_MESSAGES = (
    (
        r"no mounted hugetlbfs found",
        "hugepages are reserved, but no hugetlbfs is mounted; "
        "`mount -t hugetlbfs none /dev/hugepages`",
    ),
    (
        r"Cannot get hugepage information",
        "there are no hugepages; reserve them with `sysctl vm.nr_hugepages=512`, or "
        "try without by --option no_huge=true",
    ),
    (
        r"Not enough memory available! Requested: (\d+)MB, available: (\d+)MB",
        "{0} MB were requested, {1} MB of hugepages are free; reserve more, or lower "
        "--option memory_mib",
    ),
    (
        r"Cannot use IOVA as 'PA'",
        "physical addresses are for root only; run as root, or try without hugepages "
        "by --option no_huge=true",
    ),
    (
        r"Cannot create lock on core (\d+), probably process (\d+)",
        "another SPDK, process {1}, has core {0}; choose another by --option mask=",
    ),
    (
        r"lcore (\d+) unavailable",
        "there is no core {0} on this host; choose another with --option mask=",
    ),
    (
        r"Unable to allocate requested \w+ iobuf pool|could not allocate spdk_bdev_io"
        r"|spdk_msg_mempool creation failed",
        f"it has too little memory for its pools; {MEMORY}",
    ),
    (r"Cannot allocate buf for task", f"its memory has no room for the I/O; {MEMORY}"),
    (
        r"IO size \((\d+)\) is not multiples .* of bdev (\S+) \((\d+)\)",
        "an I/O of {0} B is not a multiple of {1}'s block of {2} B",
    ),
    (
        r"task offset: (\d+) on job bdev=(\S+) fails",
        "an I/O at block {0} of {1} failed",
    ),
    (r"Unable to find bdev '([^']*)'", "there is no device {0!r} in it"),
    (r"Method '(\w+)' was not found", "this release of SPDK has no call {0}"),
    (
        r"open\(\) failed \(file:([^)]*)\), errno \d+: (.*)",
        "it cannot open {0}: {1}",
    ),
    (
        r"Unable to open file /sys/block/(\S+)/queue/zoned",
        "uring supports only block devices, and {0} is not one; use --option bdev=aio",
    ),
    (r"p99 latency is less than average", "a 99th percentile is below its mean"),
    (r"connect\(\) failed, errno = \d+", "the NVMe target does not answer"),
    (r"symbol lookup error: (.*)", "it does not fit its libraries: {0}"),
    (r"[Uu]n(?:recognized|known) option:? (.*)", "it does not know the option {0}"),
    (r"rw must be one of", "it does not know the workload"),
)
CODES = {
    -signal.SIGFPE: "an I/O is larger than the device",
    -signal.SIGSEGV: f"it crashed, probably for lack of memory; {MEMORY}",
    161: "the I/O size is not a multiple of the device's block",
    234: "it refuses its configuration",
    244: f"its memory is too small; {MEMORY}",
    254: "this release of SPDK does not have a call that is needed",
    255: "an I/O failed, or its device does not exist",
}
ERROR = re.compile(r"\*ERROR\*: (.*)")
SHOWN = 200


def why(code: int | None, messages: str) -> str:
    """A sentence: what it said counts for more than its code."""
    for pattern, text in KNOWN_MESSAGES:
        if found := re.search(pattern, messages):
            return text.format(*found.groups())
    if code is not None and (reason := CODES.get(_plain(code))):
        return reason
    last = ERROR.findall(messages)
    return f"it said: {last[0].strip()[:SHOWN]}" if last else _how(code)


def io_failed(messages: str) -> bool:
    """Whether the test ended at an I/O that failed."""
    return re.search(IO_FAILED, messages) is not None


def _plain(code: int) -> int:
    """A shell's or timeout's code for a signal as the signal itself."""
    return 128 - code if 128 < code <= 128 + signal.SIGTERM else code


def _how(code: int | None) -> str:
    if code is None:
        return "it gave no reason"
    code = _plain(code)
    return f"signal {-code} ended it" if code < 0 else f"it exited with code {code}"
