"""ioplan: storage test plans as text, run on any backend, in one schema."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ioplan")
except PackageNotFoundError:  # imported from the source tree, not installed
    __version__ = "0+source"
