"""The command `ioplan`."""

from ioplan.cli.app import app


def main() -> None:
    """The entry point."""
    app()
