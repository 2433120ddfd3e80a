"""What is packed inside of a bundle's members."""

import lzma
import zlib

from ioplan.results.measure import IntervalCounts


def unpacked_in(name, data):
    """What a member has packed in it; none but of what is beside a record."""
    if "/details/" not in name:
        return []
    if name.endswith(".intervals"):
        bodies = (chunk.body for chunk in IntervalCounts(data)._chunks)
        return [lzma.decompress(body) for body in bodies]
    return [zlib.decompress(data[1:])]
