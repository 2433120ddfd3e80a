"""The keys of a peer on this machine: its own, and whom it believes.

They are in the user's state folder, in a folder for each role, and readable for this
user only. A machine may be the desk, the scheduler and a host at the same time.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ioplan.core.state_folder import state_folder
from ioplan.runner.guard import output_file

OWN, CLIENTS, SERVERS = "own.pem", "clients.pem", "servers.pem"
FILES = (SERVERS, CLIENTS, OWN)
"""In the order in which they are written: first whom it believes."""
BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----\n"
Texts = dict[str, str]
KeysState = tuple[tuple[int, int], ...]


def keys_folder() -> Path:
    """In the user's state folder."""
    return state_folder() / "tls"


class Identity:
    """`own.pem` is a certificate and its key; the others are authorities.

    Who connects is believed by `clients.pem`, what is connected to by `servers.pem`.
    """

    def __init__(self, role: str) -> None:
        self.role, self.folder = role, keys_folder() / role

    @property
    def exists(self) -> bool:
        """Whether all of it is here."""
        return all((self.folder / name).is_file() for name in FILES)

    def path(self, name: str) -> str:
        """Where a file of it is."""
        return str(self.folder / name)

    def save(self, texts: Texts) -> None:
        """Replace it, a file at a time. Raises OSError, OutputError."""
        for name in FILES:
            write_private(self.folder / name, texts[name])

    def texts(self) -> Texts:
        """All of it. Raises OSError."""
        return {name: (self.folder / name).read_text() for name in FILES}

    def certificate(self) -> str:
        """Its certificate, without the key; empty where there is none."""
        return _first_certificate(self.folder / OWN)

    def authority(self) -> str:
        """The certificate of the authority that it believes to be the scheduler's."""
        return _first_certificate(self.folder / SERVERS)

    def state(self) -> KeysState:
        """Another one whenever a file was replaced."""
        with suppress(OSError):
            found = [(self.folder / name).stat() for name in FILES]
            return tuple((one.st_ino, one.st_mtime_ns) for one in found)
        return ()


def write_private(path: Path, text: str) -> None:
    """A file for this user only, whole or not at all. Raises OSError, OutputError."""
    for folder in (keys_folder(), path.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with output_file(path, force=True, mode=0o600) as file:
        file.write(text.encode())


def _first_certificate(path: Path) -> str:
    with suppress(OSError, ValueError):
        text = path.read_text()
        return text[text.index(BEGIN) : text.index(END) + len(END)]
    return ""
