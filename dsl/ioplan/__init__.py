"""ioplan: storage test plans as text, run on any backend, in one schema."""

__version__: str


def __getattr__(name: str) -> str:
    """The version, read when it is asked for."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ioplan.core.installed import version_of  # noqa: PLC0415

    globals()[name] = version_of("ioplan") or _found_version()
    return str(globals()[name])


def _found_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("ioplan")
    except PackageNotFoundError:  # imported from the source tree, not installed
        return "0+source"
