"""Which images are refused, and which are free to write: a table of refusals.

    python tests/benchmarks/free_to_write.py [SEEDS]

Each image is sparse, of 64 GB, 1 TB and 4 TB; the drawn places differ by seed. What
holds files at random places is made of clones on an XFS. It needs root, sgdisk, and
the mkfs programs of ext4, xfs and btrfs; the table is in docs/lab-file.md.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))

from ioplan.backends import TargetFacts, TargetRequest  # noqa: E402
from ioplan.runner.content.file_kinds import KINDS  # noqa: E402
from ioplan.runner.devices.facts import file_facts  # noqa: E402
from ioplan.runner.guard.data_check import check_file_data  # noqa: E402
from ioplan.runner.guard.errors import ConsentError, UnreadError  # noqa: E402
from ioplan.runner.guard.full_read import read_whole  # noqa: E402
from ioplan.runner.guard.known_content import known_content  # noqa: E402
from targets import loop_device, tell  # noqa: E402

MIB, GB = 1 << 20, 10**9
SIZES = {"64 GB": 64 * GB, "1 TB": 1000 * GB, "4 TB": 4000 * GB}
RUN, FICLONERANGE = 16 * MIB, 0x4020940D
NOISE = random.Random(7).randbytes(4 * MIB)
Make = Callable[[Path, int], None]


def put(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def on_partition(path: Path, at: int, *mkfs: str) -> None:
    with loop_device(path, "-o", str(at)) as device:
        tell(*mkfs, device)


def mbr_zapped(path: Path, _: int) -> None:
    on_partition(path, MIB, "mkfs.ext4", "-q")
    put(path, 0, bytes(512))


def gpt_zapped(path: Path, _: int) -> None:
    tell("sgdisk", "-n", "1:200M:0", path)
    on_partition(path, 200 * MIB, "mkfs.ext4", "-q")
    tell("sgdisk", "--zap-all", path)


def first_zeroed(*mkfs: str) -> Make:
    def make(path: Path, _: int) -> None:
        on_partition(path, 0, *mkfs)
        put(path, 0, bytes(16 * MIB))

    return make


def whole(*mkfs: str) -> Make:
    return lambda path, _: on_partition(path, 0, *mkfs)


def luks_without_header(path: Path, size: int) -> None:
    """1 % of it was written, in runs of 4 MiB, as an encrypted file system does."""
    chance = random.Random(size)
    for _ in range(200):
        put(path, chance.randrange(16 * MIB, size - 4 * MIB), NOISE)


def ntfs(path: Path, size: int) -> None:
    """Its boot sector, the copy at the end, and records of its index."""
    boot = b"\xeb\x52\x90NTFS    ".ljust(510, b"\0") + b"\x55\xaa"
    put(path, MIB, boot)
    put(path, 3 * (1 << 30), (b"FILE0" + NOISE[:200]).ljust(1024, b"\0") * 64)
    put(path, size - 512, boot)


def zfs(path: Path, size: int) -> None:
    """The uberblocks of its labels, two at each end."""
    uberblock = bytes.fromhex("0cb1ba0000000000") + NOISE[:200]
    for label in (0, 256 << 10, size - (512 << 10), size - (256 << 10)):
        put(path, label // 4096 * 4096 + (128 << 10), uberblock)


def archive(kind: str) -> Make:
    """Written to the device: the header of the kind, then what does not compress."""
    header = next(
        bytes(at) + magic for name, at, magic in KINDS if name.startswith(kind)
    )

    def make(path: Path, _: int) -> None:
        put(path, 0, header + NOISE)

    return make


def empty(_: Path, __: int) -> None:
    pass


def ours(path: Path, size: int) -> None:
    session(path, size, killed=False)


def ours_killed(path: Path, size: int) -> None:
    session(path, size, killed=True)


def session(path: Path, size: int, *, killed: bool) -> None:
    """One that writes noise all over it, and ends or is killed."""
    code = (
        f"import free_to_write as f; f.write_session({str(path)!r}, {size}, {killed})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, check=False)
    assert done.returncode == (-signal.SIGKILL if killed else 0)


def write_session(name: str, size: int, killed: bool) -> None:
    path, chance = Path(name), random.Random(size)
    fd = os.open(path, os.O_RDWR)
    known = check_file_data(path, fd, file_facts(path, fd), request(path)).known
    assert known
    for _ in range(300):
        at = chance.randrange(0, size - 4 * MIB) // 4096 * 4096
        os.pwrite(fd, os.urandom(MIB), at)
    os.fsync(fd)
    if killed:
        os.kill(os.getpid(), signal.SIGKILL)
    known.learn(fd)


DATA: dict[str, Make] = {
    "MBR zapped, ext4 at 1 MiB": mbr_zapped,
    "GPT zapped, ext4 at 200 MiB": gpt_zapped,
    "ext4, first 16 MiB zeroed": first_zeroed("mkfs.ext4", "-q"),
    "xfs, first 16 MiB zeroed": first_zeroed("mkfs.xfs", "-q", "-K"),
    "btrfs, first 16 MiB zeroed": first_zeroed("mkfs.btrfs", "-q", "-K"),
    "LUKS without header": luks_without_header,
    "ext4": whole("mkfs.ext4", "-q"),
    "xfs": whole("mkfs.xfs", "-q", "-K"),
    "btrfs": whole("mkfs.btrfs", "-q", "-K"),
    "ntfs at 1 MiB": ntfs,
    "zfs member": zfs,
    "tar": archive("tar"),
    "zip": archive("zip"),
    "mp4": archive("mp4"),
    "age": archive("age"),
}
SHARES = (1, 10, 40)
"""Of the drive, in files that do not compress."""
FREE: dict[str, Make] = {
    "really empty": empty,
    "ours": ours,
    "ours after a kill": ours_killed,
}


def request(path: Path) -> TargetRequest:
    return TargetRequest(path=str(path), writes=True, overwrite=(str(path),))


def is_refused(path: Path) -> bool:
    """By a new seed, with `--overwrite` alone."""
    fd = os.open(path, os.O_RDWR)
    try:
        facts = file_facts(path, fd)
        known = known_content(facts)
        check_file_data(path, fd, known, known.proof(fd), request(path))
        known.forget()
    except ConsentError:
        return True
    except UnreadError as unread:
        return unread.data_at is not None or read_whole(facts) is not None
    finally:
        os.close(fd)
    return False


@contextmanager
def image(folder: Path, size: int) -> Iterator[Path]:
    path = folder / "image"
    with path.open("xb") as file:
        file.truncate(size // 4096 * 4096)
    try:
        yield path
    finally:
        known_content(facts_of(path)).forget()
        path.unlink()


def facts_of(path: Path) -> TargetFacts:
    fd = os.open(path, os.O_RDONLY)
    try:
        return file_facts(path, fd)
    finally:
        os.close(fd)


@contextmanager
def files_at_random(folder: Path, size: int, percent: int) -> Iterator[Path]:
    """Runs of 16 MiB of noise at random places: clones of one, on an XFS."""
    store = folder / "xfs.img"
    with store.open("xb") as file:
        file.truncate(8 << 30)
    mount, chance = folder / "mnt", random.Random(percent)
    mount.mkdir(exist_ok=True)
    tell("mkfs.xfs", "-q", "-m", "reflink=1", store)
    tell("mount", "-o", "loop", store, mount)
    try:
        with (mount / "run").open("x+b") as run, (mount / "image").open("x+b") as file:
            run.write(random.Random(1).randbytes(RUN))
            run.flush()
            file.truncate(size // RUN * RUN)
            runs = size // RUN
            for number in chance.sample(range(runs), runs * percent // 100):
                source = struct.pack("qQQQ", run.fileno(), 0, RUN, number * RUN)
                fcntl.ioctl(file, FICLONERANGE, source)
        yield mount / "image"
    finally:
        tell("umount", mount)
        store.unlink()


def refused_of(folder: Path, size: int, make: Make, seeds: int, *, free: bool) -> int:
    """How many of the seeds are refused; what a session left is made for each."""
    if free:
        return sum(_refused_once(folder, size, make) for _ in range(seeds))
    with image(folder, size) as path:
        make(path, size // 4096 * 4096)
        return sum(is_refused(path) for _ in range(seeds))


def _refused_once(folder: Path, size: int, make: Make) -> bool:
    with image(folder, size) as path:
        make(path, size // 4096 * 4096)
        return is_refused(path)


def row(name: str, wanted: int, got: list[int], seeds: int) -> str:
    cells = " | ".join(f"{one} of {seeds}" for one in got)
    return f"| {name} | {'refused' if wanted else 'free'} | {cells} |"


def main(seeds: int) -> int:
    wrong = 0
    print(f"| content | wanted | {' | '.join(SIZES)} |")
    print(f"|---|---|{'---|' * len(SIZES)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        for what, make in (DATA | FREE).items():
            free = what in FREE
            got = [
                refused_of(folder, size, make, seeds, free=free)
                for size in SIZES.values()
            ]
            wrong += sum(one != (0 if free else seeds) for one in got)
            print(row(what, 0 if free else seeds, got, seeds), flush=True)
        for percent in SHARES:
            got = list[int]()
            for size in SIZES.values():
                with files_at_random(folder, size // 4096 * 4096, percent) as path:
                    times = range(seeds)
                    got.append(sum(is_refused(path) for _ in times))
            wrong += sum(one != seeds for one in got)
            name_ = f"{percent} % in files that do not compress"
            print(row(name_, seeds, got, seeds), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60))
