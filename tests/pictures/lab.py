"""The pictures of the lab's page in docs/labs.md, for `gallery.py`: a small lab at work."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from chromium import Browser
from lab_pages import PageServer
from small_lab import SmallLab, small_lab

LOOKS = {"lab_now": "/"}
WIDE, NARROW = (1440, 620), (390, 844)
DRIVES = 4
PLAN = """plan "Nightly"
test "T" {
  run random 4KiB 100/0, rate RATE iops for SECONDS
  vary qd in 1, 4, 8, 16
  expect p50 < 500ms
}
"""
KNOWN = """UPDATE lab.drive SET model = 'ACME 9100', firmware = '2.4', life_used = 7,
  serial = 'S4EVNX0R12345' || right(name, 1), size_bytes = 3840755982336"""


def pictures(chromium: Browser) -> Iterator[tuple[str, bytes]]:
    """Pages of a lab at work, wide and narrow, in the light theme."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        with small_lab(Path(name) / "lab", "io_uring", workers=False) as lab:
            fill(lab)
            page = PageServer(lab)
            try:
                lab.wait(page.answers)
                yield from looks(chromium, page)
            finally:
                page.end()


def fill(lab: SmallLab) -> None:
    """Sessions that have ended, drive jobs at work and waiting, a reservation."""
    for name, host in lab.hosts.items():
        lines = [f'results = "{host.results}"', 'backend = "io_uring"']
        for number in range(1, DRIVES + 1):
            lines += [
                f"[targets.gen5-{number}]",
                f'path = "{lab.folder}/{name}{number}"',
            ]
            lines += ["writable = true", "cannot_see_users = true"]
        (host.folder / "lab.toml").write_text("\n".join([*lines, ""]))
        host.start_worker()
    lab.wait(lambda: lab.value("SELECT count(*) FROM lab.drive") == 2 * DRIVES)
    lab.execute(KNOWN)
    words = ("--create", "16MiB", "--tag", "nightly")
    lab.ada.ok("run", plan(lab, "200ms", 900), "--on", "drive gen5-*", *words)
    lab.bob.ok("lab", "reserve", "h2/gen5-4", "--until", "3d", "--why", "firmware")
    lab.root.ok("lab", "reserve", "h1/gen5-4", "--out-of-service", "media errors")
    on = ("--on", "drive gen5-*, host h1", "--detach")
    lab.ada.ok(
        "run", plan(lab, "20s", 700), "--on", "3 x drive gen5-*, host h1", "--detach"
    )
    lab.bob.ok(
        "run",
        plan(lab, "15s", 400),
        "--on",
        "2 x host h2",
        "--detach",
        "--create",
        "16MiB",
    )
    lab.bob.ok("run", plan(lab, "15s", 400), *on)
    lab.wait(
        lambda: (
            lab.value(
                "SELECT count(*) FROM lab.v_drive_job WHERE status = 'running' AND done > 0.15"
            )
            == 5
        )
    )


def plan(lab: SmallLab, seconds: str, rate: int) -> Path:
    text = PLAN.replace("SECONDS", seconds).replace("RATE", str(rate))
    file = lab.folder / "nightly.ioplan"
    file.write_text(text)
    return file


def looks(chromium: Browser, page: PageServer) -> Iterator[tuple[str, bytes]]:
    for end, size in (("", WIDE), ("_narrow", NARROW)):
        chromium.size(*size)
        for name, path in LOOKS.items():
            chromium.driver.get(f"http://127.0.0.1:{page.port}{path}")
            yield f"{name}{end}", chromium.driver.get_screenshot_as_png()
