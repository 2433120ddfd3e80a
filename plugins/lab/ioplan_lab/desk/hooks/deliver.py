"""Sending what web hooks have to deliver: signed, to the address that was checked."""

from __future__ import annotations

import hmac
import time

from ioplan.core import needed
from ioplan_lab.desk.errors import DeskError, usage_error
from ioplan_lab.desk.hooks.hooks import (
    Delivery,
    Hook,
    Hooks,
    HookUrl,
    checked_address,
    parts_of,
)

TIMEOUT_S = 10.0
MOST_ANSWER = 1024
SIGNATURE = "X-Ioplan-Signature"


def signature(secret: str, body: bytes, at_s: int) -> str:
    """`t=SECONDS,v1=HEX`: the HMAC-SHA256 of `SECONDS.BODY` by the hook's secret.

    Who takes it compares the digest, and refuses what is older than minutes.
    """
    signed = f"{at_s}.".encode() + body
    return f"t={at_s},v1={hmac.new(secret.encode(), signed, 'sha256').hexdigest()}"


class Deliverer:
    """Delivers what is due."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks

    def turn(self) -> None:
        """All that is due. Raises StoreError."""
        while found := self.hooks.take():
            hook, due = found
            taken, answer = sent(hook, due)
            self.hooks.tried(due, taken, answer)


def sent(hook: Hook, due: Delivery) -> tuple[bool, str]:
    """Whether it was taken, and what was said. Raises ExplainedError without urllib3.

    Redirections are not followed: they could lead to what is refused.
    """
    with needed("web hooks need", "serve", usage_error):
        import urllib3  # noqa: PLC0415  an extra
    try:
        url = parts_of(hook.url)
        status, text = _posted(url, checked_address(url, hook.inside), hook, due)
    except (OSError, DeskError, urllib3.exceptions.HTTPError) as error:
        return False, str(error)
    return 200 <= status < 300, f"{status} {text}".strip()


def _posted(url: HookUrl, address: str, hook: Hook, due: Delivery) -> tuple[int, str]:
    import urllib3  # noqa: PLC0415

    pool = urllib3.HTTPConnectionPool(address, url.port)
    if url.scheme == "https":  # the certificate is for the name, not the address
        pool = urllib3.HTTPSConnectionPool(
            address, url.port, server_hostname=url.host, assert_hostname=url.host
        )
    body = due.body.encode()
    headers = {
        "Host": url.host_header,
        "Content-Type": "application/json",
        "User-Agent": "ioplan",
        "X-Ioplan-Event": due.event,
        "X-Ioplan-Delivery": str(due.number),
        SIGNATURE: signature(hook.secret, body, int(time.time())),
    }
    with pool:
        answer = pool.urlopen(
            *("POST", url.path),
            body=body,
            headers=headers,
            redirect=False,
            retries=False,
            timeout=TIMEOUT_S,
            preload_content=False,
        )
        text = answer.read(MOST_ANSWER, decode_content=False)
        answer.close()
    return answer.status, " ".join(text.decode(errors="replace").split())[:100]
