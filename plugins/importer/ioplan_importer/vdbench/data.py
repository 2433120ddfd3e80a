"""What vdbench writes, and whether it checks it: `compratio` and `validate`."""

from __future__ import annotations

from ioplan.language.quantity import make
from ioplan_importer.findings import Findings
from ioplan_importer.outline import Clauses
from ioplan_importer.vdbench.parameters import Definition


def data_of(general: Definition, findings: Findings) -> Clauses:
    """A ratio of 2 is 50 % that a compressor saves."""
    ratio = general.number("compratio", 1, findings)
    if ratio <= 1:
        return {}
    saved = round(100 * (1 - 1 / ratio))
    if abs(100 * (1 - 1 / ratio) - saved) > 1e-9:
        findings.loss(
            f"compratio={ratio:g} is {saved} % here: a plan has whole percents",
            general.settings["compratio"].span,
        )
    return {"data": f"data compressible {make('share', saved).text}"}


def verify_of(general: Definition, findings: Findings) -> Clauses:
    """Reads are checked for what was last written there."""
    setting = general.settings.get("validate")
    words = setting.listed if setting else []
    if not setting or any("no".startswith(word) for word in words):
        return {}
    more = [word for word in words if not "yes".startswith(word)]
    if more:
        findings.loss(
            f"validate={setting.value}: {', '.join(more)} is left out",
            setting.span,
            "`verify` checks each read of what the run has written",
        )
    return {"verify": "verify"}
