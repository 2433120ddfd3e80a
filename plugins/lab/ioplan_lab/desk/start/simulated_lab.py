"""What a desk without a lab file offers: a simulated drive, to try it with."""

from __future__ import annotations

from pathlib import Path

from ioplan.runner.guard import OutputError, output_file
from ioplan_lab.desk.errors import DeskError

TEXT = """\
# Made by `ioplan lab serve`, which found no lab file. Name your drives in your own.
backend = "sim"

[targets.simulated]
path = "/simulated"
"""


def simulated_lab(folder: Path) -> Path:
    """A lab file in the desk's folder. Raises DeskError."""
    file = folder / "simulated.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not file.exists() or file.read_text("utf-8") != TEXT:
            with output_file(file, force=True) as out:
                out.write(TEXT.encode())
    except (OSError, OutputError) as error:
        raise DeskError(f"cannot write {file}: {error}") from error
    return file
