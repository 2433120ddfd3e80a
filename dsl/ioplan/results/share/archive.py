"""The file of a bundle: a ZIP archive that can be written in one way only.

Other programs unpack it. ioplan reads one only where every byte is as it would have
written it: no second member of a name, no link, no slack between members, no other
header. The manifest and its signature are stored, and all other members deflated.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from math import isfinite
from operator import gt
from typing import Any, NamedTuple

from ioplan.core.error_kinds import CommandFault, ExplainedError

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
MOST_FILE_BYTES = 1 << 30
MOST_BYTES = 1 << 30
"""The most bytes of all members together, unpacked."""
MOST_MEMBER_BYTES = 256 << 20
MOST_MEMBERS = 60_000
MAGIC, DIRECTORY_MAGIC, END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
HEAD, PLACE, END = map(struct.Struct, ("<HHHIIIIHH", "<HHHII", "<HHHHIIH"))
STORED, DEFLATED = 0, 8
VERSION, UNIX = 20, 3
DATE = 0x21 << 16
"""1 January 1980: when a bundle was made is told by its manifest."""
REGULAR_FILE = 0o100644 << 16


class BundleError(ExplainedError):
    kind = CommandFault.BUNDLE


class Member(NamedTuple):
    """A member as it stands in the file; `size` is that unpacked."""

    name: str
    crc: int
    size: int
    data: bytes

    @property
    def method(self) -> int:
        return STORED if self.name in (MANIFEST, SIGNATURE) else DEFLATED

    def content(self) -> bytes:
        """The data unpacked, never to more than its size.

        Raises BundleError, and zlib.error.
        """
        content, is_all = self.data, True
        if self.method == DEFLATED:
            unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
            content = unpacker.decompress(self.data, self.size + 1)
            is_all = unpacker.eof and not unpacker.unused_data
        if not is_all or (len(content), zlib.crc32(content)) != (self.size, self.crc):
            raise BundleError(f"its {self.name} does not have the stated size")
        return content


def member_of(name: str, content: bytes) -> Member:
    member = Member(name, zlib.crc32(content), len(content), content)
    if member.method == STORED:
        return member
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return member._replace(data=packer.compress(content) + packer.flush())


def written(members: Iterable[Member]) -> bytes:
    """The file, as PKWARE's APPNOTE 6.3 has it, without its options.

    Raises BundleError for what `members_in` would not read.
    """
    files, directory, count = bytearray(), bytearray(), 0
    for member in _checked(members):
        count += 1
        name = member.name.encode()
        sizes = (member.crc, len(member.data), member.size, len(name), 0)
        head = HEAD.pack(VERSION, 0, member.method, DATE, *sizes)
        directory += DIRECTORY_MAGIC + bytes((VERSION, UNIX)) + head
        directory += PLACE.pack(0, 0, 0, REGULAR_FILE, len(files)) + name
        files += MAGIC + head + name + member.data
    end = END.pack(0, 0, count, count, len(directory), len(files), 0)
    return bytes(files + directory + END_MAGIC + end)


def members_in(data: bytes) -> dict[str, Member]:
    """The members of a file by name, still packed. Raises BundleError."""
    if len(data) > MOST_FILE_BYTES or not data.startswith(MAGIC):
        raise BundleError("it is not an ioplan bundle")
    members = {member.name: member for member in _checked(_members(data))}
    if written(members.values()) != data:
        raise BundleError("it is damaged, or not written by ioplan")
    return members


def _members(data: bytes) -> Iterator[Member]:
    """What stands before the directory, whatever that says."""
    at = 0
    while data.startswith(MAGIC, at):
        start = at + len(MAGIC) + HEAD.size
        head = data[at + len(MAGIC) : start].ljust(HEAD.size)
        *_, crc, length, size, name_bytes, _ = HEAD.unpack(head)
        name = data[start : start + name_bytes].decode("ascii", "replace")
        at = start + name_bytes + length
        yield Member(name, crc, size, data[start + name_bytes : at])


def _checked(members: Iterable[Member]) -> Iterator[Member]:
    """Raises BundleError for what is too much, before it is unpacked."""
    total = 0
    for count, member in enumerate(members, 1):
        total += member.size
        sizes = (count, member.size, total)
        if any(map(gt, sizes, (MOST_MEMBERS, MOST_MEMBER_BYTES, MOST_BYTES))):
            raise BundleError(
                f"it is too large: the most are {MOST_MEMBERS} members of "
                f"{MOST_MEMBER_BYTES} B each, and {MOST_BYTES} B together"
            )
        yield member


# ---- JSON of strangers: read only where it is plain and means one thing

BIGGEST = 1 << 63


def plain_json(text: bytes) -> Any:
    """Raises ValueError for what no result of ioplan's has: a name that stands twice in
    one object, numbers that are not finite or need more than 64 bits, and objects in
    objects without end."""
    try:
        return json.loads(
            text.decode(),
            object_pairs_hook=_object,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_float,
        )
    except RecursionError:
        raise ValueError("its objects are too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(members := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def _int(digits: str) -> int:
    if not -BIGGEST <= (value := int(digits)) < BIGGEST:
        raise ValueError(f"the number {digits[:20]}… needs more than 64 bits")
    return value


def _float(digits: str) -> float:
    if not isfinite(value := float(digits)):
        raise ValueError(f"the number {digits[:20]} is not finite")
    return value
