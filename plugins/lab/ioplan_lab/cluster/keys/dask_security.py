"""dask's TLS settings, with the lab's own checks."""

from __future__ import annotations

from typing import Any

from distributed.security import Security

from ioplan.core import ClusterFault
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.keys.identity import Identity, keys_folder
from ioplan_lab.cluster.keys.tls import check_address, to_connect, to_listen


class LabSecurity(Security):  # type: ignore[misc]
    """dask checks neither names nor revocation; it is given contexts that do.

    dask names the address that it connects to, so the certificate is checked for it.
    """

    def __init__(self, identity: Identity) -> None:
        super().__init__(require_encryption=True)
        self._identity = identity

    def get_connection_args(self, role: str) -> dict[str, Any]:
        return {
            "ssl_context": to_connect(self._identity),
            "require_encryption": True,
            "extra_conn_args": {},
        }

    def get_listen_args(self, role: str) -> dict[str, Any]:
        return {"ssl_context": to_listen(self._identity), "require_encryption": True}


def security_for(address: str, identity: Identity) -> LabSecurity:
    """How a peer of the scheduler at this address authenticates. Raises ClusterError.

    Tasks are programs: a port that accepts them from anybody is open to attack, also on
    loopback, where every local account reaches it.
    """
    check_address(address)
    if not identity.exists:
        raise ClusterError(
            f"{keys_folder()} has no keys for the {identity.role}: call `ioplan lab "
            f"up` once, as the desk's user",
            ClusterFault.NO_KEYS,
        )
    return LabSecurity(identity)
