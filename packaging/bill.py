"""What is shipped beside ioplan itself: a bill of materials, and the licences' texts.

In the wheels: the crates of the programs, Rust's standard library and musl. In the
offline archives also the Python packages. The bill is CycloneDX 1.5.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct
from static_engine import CRATES, ROOT

LICENCE_FILE = re.compile(r"(?i)(^|/)(LICEN[CS]E|COPYING|NOTICE)[^/]*$")
LLVM = "Apache-2.0 WITH LLVM-exception"
TARGET = "x86_64-unknown-linux-musl"


class Component(Struct, frozen=True):
    """Something of others' that is in our packages."""

    name: str
    version: str
    licence: str
    url: str
    texts: tuple[str, ...] = ()

    def entry(self) -> dict[str, Any]:
        """As CycloneDX has it."""
        entry: dict[str, Any] = {"type": "library", "name": self.name}
        entry |= {"bom-ref": self.url, "purl": self.url}
        entry |= {"version": self.version} if self.version else {}
        return entry | {"licenses": [{"expression": self.licence}]}


def runtime() -> Iterator[Component]:
    """What is linked into the static engine and is no crate; zig brings most of it."""
    spec = find_spec("ziglang")
    assert spec and spec.submodule_search_locations, "make ready-dist"
    zig = Path(spec.submodule_search_locations[0]) / "lib"
    for name, licence, file in (
        ("rust-std", "MIT OR Apache-2.0", ROOT / "LICENSE"),
        ("musl", "MIT", zig / "libc/musl/COPYRIGHT"),
        ("libunwind", LLVM, zig / "libunwind/LICENSE.TXT"),
    ):
        yield Component(name, "", licence, f"pkg:generic/{name}", (file.read_text(),))


def crates() -> Iterator[Component]:
    """What cargo links into the programs: not what only tests and macros need."""
    yield from {
        one.url: one for crate in CRATES.values() for one in _of(crate)
    }.values()


def _of(crate: Path) -> Iterator[Component]:
    tree = ["cargo", "tree", "--locked", "--edges", "normal,no-proc-macro"]
    tree += ["--target", TARGET, "--prefix", "none", "--format", "{p}"]
    linked = {
        tuple(line.split()[:2]) for line in _said(tree, crate).splitlines() if line
    }
    metadata = ["cargo", "metadata", "--locked", "--format-version", "1"]
    known = _said([*metadata, "--filter-platform", TARGET], crate)
    for one in json.loads(known)["packages"]:
        name, version = one["name"], one["version"]
        if (name, f"v{version}") in linked and one["source"]:
            folder = Path(one["manifest_path"]).parent
            files = sorted(p for p in folder.iterdir() if LICENCE_FILE.search(p.name))
            texts = tuple(file.read_text() for file in files if file.is_file())
            licence = one["license"].replace("/", " OR ")
            url = f"pkg:cargo/{name}@{version}"
            yield Component(name, version, licence, url, texts)


def _said(command: list[str], crate: Path) -> str:
    return subprocess.run(
        command, cwd=ROOT / crate, capture_output=True, text=True, check=True
    ).stdout


def python_packages(folder: Path) -> Iterator[Component]:
    """The wheels of a folder that are not ours, each once."""
    found: dict[tuple[str, str], Path] = {}
    for wheel in sorted(folder.glob("*.whl")):
        name, version, *_ = wheel.name.split("-")
        if name != "ioplan":
            found.setdefault((name, version), wheel)
    for (name, version), wheel in found.items():
        with zipfile.ZipFile(wheel) as packed:
            names = packed.namelist()
            (metadata,) = (n for n in names if n.endswith(".dist-info/METADATA"))
            headers = HeaderParser().parsestr(packed.read(metadata).decode())
            texts = [n for n in names if ".dist-info/" in n and LICENCE_FILE.search(n)]
            licences = tuple(packed.read(one).decode(errors="replace") for one in texts)
        url = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
        yield Component(name, version, _licence(headers), url, licences)


def pages() -> Iterator[Component]:
    """What the pages of the documents contain beside their texts."""
    theme = distribution("mkdocs-material")
    files = [file for file in theme.files or () if LICENCE_FILE.search(str(file))]
    url = f"pkg:pypi/{theme.name}@{theme.version}"
    texts = tuple(file.read_text() for file in files)
    yield Component(theme.name, theme.version, "MIT", url, texts)


def _licence(headers: Message) -> str:
    """As an expression of SPDX, as far as the package says it so."""
    if expression := headers.get("License-Expression"):
        return expression
    said = " ".join([headers.get("License", ""), *headers.get_all("Classifier", [])])
    known = (("MIT", "MIT"), ("BSD", "BSD-3-Clause"), ("Apache", "Apache-2.0"))
    return next((spdx for word, spdx in known if word in said), "LicenseRef-unknown")


def bill(version: str, components: list[Component]) -> str:
    """The bill of materials."""
    url = f"pkg:pypi/ioplan@{version}"
    own: dict[str, Any] = {"type": "application", "name": "ioplan"}
    own |= {"version": version, "purl": url, "bom-ref": url}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": [one.entry() for one in components],
    }
    return json.dumps(document, indent=2) + "\n"


def licences(components: list[Component]) -> str:
    """All texts, each below the name of what it is of."""
    parts = []
    for one in components:
        head = f"{one.name} {one.version}".strip() + f": {one.licence}"
        parts.append("\n\n".join([head, "=" * len(head), *one.texts]))
    return "\n\n\n".join(parts) + "\n"
