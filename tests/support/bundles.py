"""Bundles as any program can make them: a ZIP file by Python's library, and digests.

Digests and sizes are right for whatever content, so that a bundle made here is refused
for what it has and not for what it lacks.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
REGULAR_FILE = 0o100644 << 16


def members_in(data: bytes) -> dict[str, bytes]:
    """What a program that unpacks a bundle gets, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def zipped(members: Iterable[tuple[str, bytes]], **attributes: Any) -> bytes:
    """Packed as ioplan does, but for these attributes of each `zipfile.ZipInfo`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = REGULAR_FILE
            is_packed = name not in (MANIFEST, SIGNATURE)
            info.compress_type = zipfile.ZIP_DEFLATED if is_packed else 0
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.writestr(info, content, compresslevel=9)
    return out.getvalue()


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def forged(
    bundle: bytes,
    members: Mapping[str, bytes | None] = {},
    manifest: Mapping[str, Any] = {},
    sign: Callable[[bytes], bytes] | None = None,
    **attributes: Any,
) -> bytes:
    """A bundle with other members, of which None leaves one out, or another manifest."""
    contents = members_in(bundle) | members
    head = json.loads(contents.pop(MANIFEST) or b"")
    contents.pop(SIGNATURE, None)
    packed = [
        (name, content) for name, content in contents.items() if content is not None
    ]
    digests = {n: [sha256(deflated(c)).hexdigest(), len(c)] for n, c in packed}
    text = json.dumps(
        head | {"members": digests} | manifest, indent=1, ensure_ascii=False
    )
    signed = [(MANIFEST, text.encode())]
    if sign:
        signed.append((SIGNATURE, sign(text.encode())))
    return zipped([*signed, *packed], **attributes)
