"""Bundles as any program can make them: a ZIP file by Python's library, and digests.

Digests and sizes are right for whatever content, so that a bundle made here is refused
for what it has and not for what it lacks.
"""

import io
import json
import zipfile
import zlib
from hashlib import sha256

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
REGULAR_FILE = 0o100644 << 16


def members_in(data):
    """What a program that unpacks a bundle gets, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def zipped(members, **attributes):
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


def deflated(content):
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def forged(bundle, members=(), manifest=(), sign=None, **attributes):
    """A bundle with other members, of which None leaves one out, or another manifest."""
    contents = members_in(bundle) | dict(members)
    head = json.loads(contents.pop(MANIFEST) or b"")
    contents.pop(SIGNATURE, None)
    packed = [
        (name, content) for name, content in contents.items() if content is not None
    ]
    digests = {n: [sha256(deflated(c)).hexdigest(), len(c)] for n, c in packed}
    text = json.dumps(
        head | {"members": digests} | dict(manifest), indent=1, ensure_ascii=False
    )
    signed = [(MANIFEST, text.encode())]
    if sign:
        signed.append((SIGNATURE, sign(text.encode())))
    return zipped([*signed, *packed], **attributes)
