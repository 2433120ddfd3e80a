"""The file of a bundle: a ZIP archive that can be written in one way only.

Other programs unpack it. ioplan reads one only where every byte is as it would have
written it: no second member of a name, no link, no slack between members, no other
header. What a member says is proved by its digest in the manifest, which comes first.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from msgspec import Struct

from ioplan.core.error_kinds import CommandFault, ExplainedError

# JSON of strangers: read only where it is small, plain and means one thing.

MOST_DIGITS = 20
BIGGEST = 1 << 63


def loaded(data: bytes) -> Any:
    """The value of a text. Raises ValueError for what no result of ioplan's has.

    Such are: a name that stands twice in one object, numbers that are not finite or
    need more than 64 bits, and objects in objects without end.
    """
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_constant,
        )
    except RecursionError:
        raise ValueError("its objects are too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _int(text: str) -> int:
    if len(text) > MOST_DIGITS or not -BIGGEST <= int(text) < BIGGEST:
        raise ValueError(f"the number {text[:MOST_DIGITS]}… is too large")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"the number {text[:MOST_DIGITS]} is too large")
    return value


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not a valid number in a result")


MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
FORMAT = "ioplan bundle 1"
MAGIC = b"PK\x03\x04"
MOST_FILE_BYTES = 1 << 30
MOST_BYTES = 1 << 30
"""The most bytes of all members together, unpacked."""
MOST_MEMBER_BYTES = 256 << 20
MOST_MEMBERS = 60_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,99}")
STORED, DEFLATED = 0, 8
DATE = 0x21
"""1 January 1980: when a bundle was made is told by its manifest."""
REGULAR_FILE = 0o100644 << 16
LOCAL, CENTRAL, END = "<IHHHHHIIIHH", "<IHHHHHHIIIHHHHHII", "<IHHHHIIH"


class BundleError(ExplainedError):
    """The bundle is not taken, or cannot be made; the text says why."""

    kind = CommandFault.BUNDLE


class Container(Struct, frozen=True):
    """What was read: the members by name, and what the manifest says beside them."""

    about: dict[str, Any]
    members: dict[str, bytes]
    manifest: bytes
    signature: bytes


class Packed(NamedTuple):
    """A member as it stands in the file; `size` is that unpacked."""

    name: str
    method: int
    crc: int
    size: int
    data: bytes


def written(
    members: Mapping[str, bytes],
    about: Mapping[str, Any],
    sign: Callable[[bytes], bytes] | None = None,
) -> bytes:
    """The file; `sign` makes a signature of the manifest. Raises BundleError."""
    packed = [_deflated(name, content) for name, content in members.items()]
    listed = {one.name: [_digest(one.data), one.size] for one in packed}
    head = {"format": FORMAT, **about, "members": listed}
    manifest = json.dumps(head, indent=1, ensure_ascii=False).encode()
    first = [_stored(MANIFEST, manifest)]
    if sign:
        first.append(_stored(SIGNATURE, sign(manifest)))
    _check_sizes([*first, *packed])
    return _archive([*first, *packed])


def read(data: bytes) -> Container:
    """The members of a file. Raises BundleError for all that is not as written."""
    packed = _packed_members(data)
    if _archive(packed) != data:
        raise BundleError("the bundle is damaged, or not written by ioplan")
    by_name = {one.name: one for one in packed}
    if packed[0].name != MANIFEST or packed[0].method != STORED:
        raise BundleError(f"the bundle does not begin with {MANIFEST}")
    manifest = _content(by_name.pop(MANIFEST))
    about, listed = _manifest(manifest)
    signed = by_name.pop(SIGNATURE, None)
    if [*by_name] != [*listed]:
        raise BundleError("the members of the bundle are not those of its manifest")
    members = {one.name: _unpacked(one, *listed[one.name]) for one in by_name.values()}
    return Container(about, members, manifest, _content(signed) if signed else b"")


def _manifest(data: bytes) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    try:
        about = loaded(data)
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}, not {FORMAT!r}")
        listed = {
            str(name): (str(digest), int(size))
            for name, (digest, size) in about.pop("members").items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(f"the bundle's {MANIFEST} cannot be read: {error}") from error
    return about, listed


# ---- reading


def _packed_members(data: bytes) -> list[Packed]:
    """The members as the directory of the archive lists them."""
    if len(data) > MOST_FILE_BYTES or data[:4] != MAGIC:
        raise BundleError("it is not an ioplan bundle")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        raise BundleError(f"the bundle is damaged: {error}") from error
    found = [_packed_member(data, info) for info in infos]
    if len({one.name for one in found}) < len(found):
        raise BundleError("two members of the bundle have one name")
    if not found:
        raise BundleError("the bundle is empty")
    _check_sizes(found)
    return found


def _packed_member(data: bytes, info: zipfile.ZipInfo) -> Packed:
    name = info.filename
    if not _is_name(name) or info.compress_type not in (STORED, DEFLATED):
        raise BundleError(f"the bundle has a member {name[:100]!a}, which none may be")
    start = info.header_offset + struct.calcsize(LOCAL) + len(name)
    content = data[start : start + info.compress_size]
    return Packed(name, info.compress_type, info.CRC, info.file_size, content)


def _is_name(name: str) -> bool:
    parts = name.split("/")
    return bool(NAME.fullmatch(name)) and not {"", ".", ".."} & set(parts)


def _check_sizes(packed: Sequence[Packed]) -> None:
    """Before anything is unpacked. Raises BundleError."""
    whole = sum(one.size for one in packed)
    largest = max(one.size for one in packed)
    if len(packed) > MOST_MEMBERS or whole > MOST_BYTES or largest > MOST_MEMBER_BYTES:
        raise BundleError(
            f"the bundle has {len(packed)} members of {whole} B, the largest of "
            f"{largest} B; the most are {MOST_MEMBERS}, {MOST_BYTES} B and "
            f"{MOST_MEMBER_BYTES} B"
        )


def _unpacked(one: Packed, digest: str, size: int) -> bytes:
    if _digest(one.data) != digest or one.size != size:
        raise BundleError(f"{one.name} in the bundle was changed")
    return _content(one)


def _content(one: Packed) -> bytes:
    """A member unpacked, as large and with the checksum that the archive says."""
    content = one.data if one.method == STORED else _inflated(one)
    if len(content) != one.size or zlib.crc32(content) != one.crc:
        raise BundleError(f"{one.name} in the bundle does not have the stated size")
    return content


def _inflated(one: Packed) -> bytes:
    """Never more than the directory says, whatever the data would become."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpacker.decompress(one.data, one.size + 1)
    except zlib.error as error:
        raise BundleError(f"{one.name} in the bundle is damaged: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise BundleError(f"{one.name} in the bundle does not have the stated size")
    return content


# ---- writing


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _stored(name: str, content: bytes) -> Packed:
    return Packed(name, STORED, zlib.crc32(content), len(content), content)


def _deflated(name: str, content: bytes) -> Packed:
    if not _is_name(name):
        raise BundleError(f"a bundle can have no file named {name!a}")
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = packer.compress(content) + packer.flush()
    return Packed(name, DEFLATED, zlib.crc32(content), len(content), data)


def _archive(packed: Sequence[Packed]) -> bytes:
    """PKWARE's APPNOTE 6.3, without its options."""
    out, directory = io.BytesIO(), io.BytesIO()
    for one in packed:
        name, at = one.name.encode(), out.tell()
        sizes = (one.crc, len(one.data), one.size, len(name), 0)
        kind = (20, 0, one.method, 0, DATE)
        out.write(struct.pack(LOCAL, 0x04034B50, *kind, *sizes) + name + one.data)
        rest = (0, 0, 0, REGULAR_FILE, at)
        made_on_unix = 3 << 8 | 20
        entry = struct.pack(CENTRAL, 0x02014B50, made_on_unix, *kind, *sizes, *rest)
        directory.write(entry + name)
    listed, at = directory.getvalue(), out.tell()
    count = len(packed)
    end = struct.pack(END, 0x06054B50, 0, 0, count, count, len(listed), at, 0)
    return out.getvalue() + listed + end
