"""A page as a PDF, printed by a Chromium that is installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge"),
)
WINDOW = "900,1400"
"""What charts are laid out for, in pixels: as narrow as a sheet, in one column."""
MOST_S = 180
OTHERWISE = "print the HTML report in a browser"


class PdfError(Exception):
    """There is no browser, or it did not print."""


def pdf(page: str) -> bytes:
    """The page as it prints, with all of its charts. Raises PdfError.

    Nothing else draws the charts: a second library would draw them differently.
    """
    program = _browser()
    with tempfile.TemporaryDirectory(prefix="ioplan-pdf-") as folder:
        source, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, "utf-8")
        command = [
            program,
            *_options(Path(folder, "profile")),
            f"--print-to-pdf={printed}",
        ]
        _run([*command, source.as_uri()])
        if not printed.exists():
            raise PdfError(
                f"{program} wrote no PDF; print the HTML report in a browser"
            )
        return printed.read_bytes()


def _browser() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise PdfError(
            "a PDF is printed by Chromium, and neither it nor Chrome is in PATH: "
            f"install it (apt install chromium), or {OTHERWISE}"
        )
    return found


def _options(profile: Path) -> list[str]:
    """A browser of its own, that reaches nothing; root has no sandbox to be in."""
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return [
        *as_root,
        "--headless=new",
        "--disable-gpu",
        "--disable-extensions",
        "--no-first-run",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--no-pdf-header-footer",
        f"--window-size={WINDOW}",
        "--force-device-scale-factor=2",
        f"--user-data-dir={profile}",
    ]


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=MOST_S, check=True)
    except subprocess.TimeoutExpired:
        raise PdfError(f"{command[0]} did not print within {MOST_S} s") from None
    except (OSError, subprocess.CalledProcessError) as error:
        raise PdfError(f"{command[0]} could not print: {error}") from error
