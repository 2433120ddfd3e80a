"""Where a web hook may go: not to what only the desk's own host can reach.

A hook makes the desk call an address. Its host's loopback, link-local addresses and
the metadata services of clouds answer nobody else, so they are refused unless an admin
allows this hook to go inside. Names are looked up once for each delivery, and the
address that was checked is the one that is called.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from msgspec import Struct

from ioplan_lab.desk.errors import DeskError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"),
    )
)
NAT64 = ipaddress.ip_network("64:ff9b::/96")
MOST_URL = 2000
PORTS = {"http": 80, "https": 443}


class HookUrl(Struct, frozen=True):
    """The parts of a hook's address."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """As HTTP names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def parts_of(url: str) -> HookUrl:
    """Raises DeskError for what is no address of a web server."""
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError as error:
        raise DeskError(f"{url!r} is no address: {error}") from None
    plain = url.isascii() and url.isprintable() and " " not in url
    if not plain or len(url) > MOST_URL or found.scheme not in PORTS:
        raise DeskError(f"{url!r} is not an address such as https://host.example/path")
    if not found.hostname or found.username is not None or found.fragment:
        raise DeskError("a hook's address has a host, and no password or fragment")
    path = (found.path or "/") + (f"?{found.query}" if found.query else "")
    usual = PORTS[found.scheme] if port is None else port
    return HookUrl(found.scheme, found.hostname, usual, path)


def checked_address(url: HookUrl, inside: bool) -> str:
    """The address to connect to. Raises DeskError, OSError where there is none.

    All that the name stands for must be allowed: who answers with two addresses does
    not get one through.
    """
    try:
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is empty, or too long
        raise DeskError(f"{url.host!r} is not a host name: {error}") from None
    addresses = [str(one[4][0]) for one in found]
    for one in addresses:
        if why := refusal(one, inside):
            raise DeskError(
                f"{url.host} is {one}, {why}; an admin can allow that with --inside"
            )
    return addresses[0]


def refusal(address: str, inside: bool) -> str:
    """Why an address is not called; empty if it may be."""
    known = _innermost(ipaddress.ip_address(address.partition("%")[0]))
    if known.is_unspecified or known.is_multicast:
        return "which is not a host"
    if inside:
        return ""
    if known in METADATA:
        return "a metadata service"
    if known.is_loopback:
        return "the desk's own host"
    if known.is_link_local:
        return "a link-local address"
    return "a reserved address" if known.is_reserved else ""


def _innermost(address: Address) -> Address:
    """The IPv4 address that is in one of IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if address.teredo:
        inner = address.teredo[1]
    if address in NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return inner or address
