"""RAPL: the energy that processors and memory have used."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ioplan.runner.telemetry.procfs import Tree, raw

FOLDERS = "sys/class/powercap/intel-rapl:*"
"""AMD's processors are here, too."""
WHOLE, PACKAGE, MEMORY = "psys", "package", "dram"


class Domain(Struct, frozen=True):
    """A counter in microjoules; it begins again at 0 behind `largest_uj`."""

    name: str
    file: Path
    largest_uj: int

    def now_uj(self) -> int | None:
        """The counter; root only may read it."""
        text = raw(self.file).strip()
        return int(text) if text.isdigit() else None

    def between_j(self, before_uj: int, after_uj: int) -> float:
        """The energy between two readings less than one turn apart."""
        turn_uj = self.largest_uj if after_uj < before_uj else 0
        return (after_uj - before_uj + turn_uj) / 1e6


def domains(tree: Tree) -> list[Domain]:
    """All that count; those within another one are named behind it."""
    found = []
    for folder in tree.all(FOLDERS):
        outer = folder.name.rpartition(":")[0]
        names = (tree.text(folder.parent / outer / "name"), tree.text(folder / "name"))
        domain = Domain(
            " ".join(filter(None, names)),
            folder / "energy_uj",
            tree.number(folder / "max_energy_range_uj") or 0,
        )
        found.append(domain)
    return found


def non_overlapping(names: list[str]) -> list[str]:
    """Domains that cover the most without counting anything twice; `psys` is all."""
    if WHOLE in names:
        return [WHOLE]
    return [
        name
        for name in names
        if (name.startswith(PACKAGE) and " " not in name) or name.endswith(MEMORY)
    ]
