"""Files by how they begin: archives, pictures, databases, images of disks.

For data that was written to a device without a file system. A block that begins like
this need not be the beginning of such a file; it is data either way.
"""

from __future__ import annotations

JPEG = (b"\xdb", b"\xe0", b"\xe1", b"\xe2", b"\xee")
"""The segments that a picture begins with; three bytes alone are found in noise."""
KINDS: tuple[tuple[str, int, bytes], ...] = (
    ("tar archive", 257, b"ustar"),
    ("zip archive", 0, b"PK\x03\x04"),
    ("gzip data", 0, b"\x1f\x8b\x08\0"),
    ("gzip data", 0, b"\x1f\x8b\x08\x08"),
    ("zstd data", 0, b"\x28\xb5\x2f\xfd"),
    ("xz data", 0, b"\xfd7zXZ\0"),
    *(("bzip2 data", 0, b"BZh%d1AY&SY" % level) for level in range(1, 10)),
    ("lz4 data", 0, b"\x04\x22\x4d\x18"),
    ("7z archive", 0, b"7z\xbc\xaf\x27\x1c"),
    ("rar archive", 0, b"Rar!\x1a\x07"),
    ("cpio archive", 0, b"07070"),
    ("mp4 video", 4, b"ftyp"),
    ("Matroska video", 0, b"\x1a\x45\xdf\xa3"),
    ("RIFF (avi, wav)", 0, b"RIFF"),
    *(("jpeg picture", 0, b"\xff\xd8\xff" + kind) for kind in JPEG),
    ("png picture", 0, b"\x89PNG\r\n\x1a\n"),
    ("tiff picture", 0, b"II*\0"),
    ("pdf document", 0, b"%PDF-"),
    ("sqlite database", 0, b"SQLite format 3\0"),
    ("age encrypted data", 0, b"age-encryption.org/v1"),
    ("age encrypted data", 0, b"-----BEGIN AGE"),
    ("PGP data", 0, b"-----BEGIN PGP"),
    ("key or certificate", 0, b"-----BEGIN "),
    ("qcow2 image", 0, b"QFI\xfb"),
    ("vmdk image", 0, b"KDMV"),
    ("vmdk image", 0, b"# Disk DescriptorFile"),
    ("vdi image", 64, b"\x7f\x10\xda\xbe"),
    ("vhdx image", 0, b"vhdxfile"),
    ("vhd image", 0, b"conectix"),
    ("ELF program", 0, b"\x7fELF"),
    ("Parquet file", 0, b"PAR1"),
    ("HDF5 file", 0, b"\x89HDF\r\n\x1a\n"),
    ("git pack", 0, b"PACK\0\0\0"),
    ("script", 0, b"#!/"),
    ("XML", 0, b"<?xml "),
    ("index of an NTFS", 0, b"FILE0"),
    ("index of an NTFS", 0, b"INDX("),
    ("allocation group of an XFS", 512, b"XAGF"),
    ("inodes of an XFS", 0, b"IN\x81\xa4"),
    ("inodes of an XFS", 0, b"IN\x41\xed"),
)


MAGICS = {
    place: tuple(magic for _, at, magic in KINDS if at == place)
    for place in dict.fromkeys(at for _, at, _ in KINDS)
}
"""By where they stand: hardly any block has one, and most are asked for."""


def kind_of(block: bytes) -> str:
    """The kind of file that begins with the block; empty if none is known."""
    if not any(block.startswith(magics, at) for at, magics in MAGICS.items()):
        return ""
    return next(name for name, at, magic in KINDS if block.startswith(magic, at))
