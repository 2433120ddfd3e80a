"""`--overwrite-from FILE`: consents for many drives, which a person has in a file.

The list says no more than `--overwrite` for each of its drives would; the guard asks
the same as ever. It never stands for `--overwrite-data`.
"""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from ioplan.core.error_kinds import ExplainedError
from ioplan.language.plan import CheckedPlan
from ioplan.runner.guard.consent_list.drives import (
    ConsentedDrive,
    ConsentListError,
    drives_of,
)
from ioplan.runner.guard.consent_list.signed import Consent, verified
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import check_owners

MAX_BYTES = 8 << 20
"""Ten thousand drives."""


class ConsentList(Struct, frozen=True):
    """The drives that may be overwritten; `signed` says who said so, if signed."""

    drives: tuple[ConsentedDrive, ...]
    signed: Consent | None = None


def read_list(path: Path, lab: Lab, plan: CheckedPlan | None) -> ConsentList:
    """A signed list that holds here and now, or one of the caller's own.

    Raises ConsentListError, with the file's name.
    """
    try:
        text = _text(path)
        document = json.loads(text)
        if isinstance(document, list):
            check_owners(path, "the list", "and it controls what is overwritten")
            return ConsentList(drives_of(document))
        return _signed(document, lab, plan)
    except OSError as error:
        reason = error.strerror
    except (ValueError, RecursionError) as error:
        reason = f"it is not JSON: {error}"
    except ExplainedError as error:
        reason = str(error)
    raise ConsentListError(f"the consent list {path} is rejected: {reason}")


def _signed(document: object, lab: Lab, plan: CheckedPlan | None) -> ConsentList:
    consent = verified(document, lab, plan)
    return ConsentList(consent.drives, consent)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ConsentListError(f"it is larger than {MAX_BYTES >> 20} MiB")
    return content.decode()
