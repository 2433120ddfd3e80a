"""What `ioplan doctor` says of a lab's keys."""

from __future__ import annotations

from ioplan.runner import Finding
from ioplan_lab.cluster.keys.identity import Identity
from ioplan_lab.cluster.keys.issued import is_near, latest, notice


def keys_finding() -> Finding | None:
    """What to do about keys of a lab whose desk this is, or of which this is a host."""
    known = [one for one in latest().values() if not one.revoked_at]
    if not known:
        return _host_keys()
    if said := notice():
        text = said.removeprefix("note: ").partition(";")[0]
        return Finding(
            name="lab keys", state="limited", text=text, mend="ioplan lab up"
        )
    first = min(one.ends_at for one in known)
    text = f"{len(known)} certificates, the first ends on {first:%Y-%m-%d}"
    return Finding(name="lab keys", state="works", text=text)


def _host_keys() -> Finding | None:
    certificate = Identity("host").certificate()
    if not certificate:
        return None
    from ioplan_lab.cluster.keys.certificates import facts_of  # noqa: PLC0415  hosts of a lab have cryptography

    found = facts_of(certificate)
    text = f"the certificate of host {found.name} ends on {found.ends_at:%Y-%m-%d}"
    if not is_near(found.ends_at):
        return Finding(name="lab keys", state="works", text=text)
    mend = f"ioplan lab up {found.name}  # at the lab's desk"
    return Finding(name="lab keys", state="limited", text=text, mend=mend)
