"""The lab's certificates: who believes whom, over real TLS on loopback."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from refused import refused

from ioplan import ClusterFault
from ioplan.cli.commands import doctor
from ioplan.runner import LabHost
from ioplan_lab import PROGRAMS
from ioplan_lab.cluster.keys import enrolment, issued
from ioplan_lab.cluster.keys.authority import Authority
from ioplan_lab.cluster.keys.enrolment import enrol
from ioplan_lab.cluster.keys.handshake import Handshake, shake_hands
from ioplan_lab.cluster.keys.host_rights import NotItsRightError, check
from ioplan_lab.cluster.keys.identity import FILES, OWN, SERVERS, Identity, keys_folder
from ioplan_lab.cluster.keys.issued import notice
from ioplan_lab.cluster.keys.tls import to_listen

HERE = "127.0.0.1"
NEEDS_OPENSSL = pytest.mark.skipif(
    not shutil.which("openssl"), reason="LEFT OUT: the certificates need openssl"
)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk, its scheduler, and two hosts, all at this address."""
    folder = tmp_path_factory.mktemp("keys")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        made = Authority.open_or_make()
        made.equip("desk")
        made.equip("scheduler", [HERE])
        for name in ("h1", "h2"):
            Identity(name).save(made.issue(name, "host", [HERE]))
    return folder


@pytest.fixture(autouse=True)
def authority(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    shutil.copytree(keys, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Authority.open()


@contextmanager
def listening(identity: Identity) -> Iterator[str]:
    """A TLS server with these keys, which says a word to whom it believes."""
    context = to_listen(identity)
    with socket.create_server((HERE, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    plain, _ = server.accept()
                except OSError:
                    return
                with plain:
                    try:
                        with context.wrap_socket(plain, server_side=True) as tls:
                            tls.send(b"!")
                    except OSError:
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"tls://{HERE}:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def between(client: str, server: str) -> Handshake:
    with listening(Identity(server)) as address:
        return shake_hands(address, Identity(client))


def test_who_needs_each_other_believes_each_other() -> None:
    pairs = (("desk", "scheduler"), ("desk", "h1"), ("scheduler", "h1"))
    for client, server in (*pairs, ("h1", "scheduler")):
        found = between(client, server)
        assert found.accepted and found.peer
        assert found.peer.name == server


@pytest.mark.promise("labs.keys")
def test_a_host_is_let_in_by_no_other_host() -> None:
    found = between("h2", "h1")
    assert found.is_refused and not found.accepted


@pytest.mark.promise("labs.keys")
def test_a_host_is_not_taken_for_the_scheduler_or_for_another_address(
    authority: Authority,
) -> None:
    found = between("h1", "h2")
    assert "the certificate that it shows is refused" in found.reason
    Identity("far").save(authority.issue("far", "host", ["192.0.2.7", "far.example"]))
    for client in ("desk", "scheduler"):
        found = between(client, "far")
        assert "IP address mismatch" in found.reason
        assert found.peer and found.peer.name == "far", "it is said who it is"


def test_what_the_web_gets_is_for_browsers_only(authority: Authority) -> None:
    pair = authority.server_pair([HERE, "desk.example"])
    texts = Identity("desk").texts() | {OWN: pair.text}
    Identity("web").save(texts)
    assert between("web", "scheduler").is_refused
    context = ssl.create_default_context(cadata=authority.control.certificate)
    with listening(Identity("web")) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection((HERE, port)) as plain:
            assert context.wrap_socket(plain, server_hostname="desk.example").version()


def test_a_revoked_host_is_refused_and_the_others_are_not(authority: Authority) -> None:
    assert between("h2", "scheduler").accepted
    (ended,) = authority.revoke("h2")
    assert ended.name == "h2"
    assert authority.equip("desk") and authority.equip("scheduler", [HERE])
    assert "it is revoked" in between("h2", "scheduler").reason
    assert "revoked" in between("desk", "h2").reason
    assert between("h1", "scheduler").accepted
    assert not authority.equip("desk"), "nothing has changed since"
    assert authority.revoke("h2") == []


def test_other_keys_of_the_same_name_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stranger = tmp_path / "stranger"
    monkeypatch.setenv("XDG_STATE_HOME", str(stranger))
    other = Authority.open_or_make()
    theirs = other.issue("h1", "host", [HERE])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own = Identity("h1").texts()
    Identity("h1").save(own | {OWN: theirs[OWN]})
    assert "its authority is not the one" in between("h1", "scheduler").reason


NOT_A_WORKERS = (
    {"op": "register-client", "client": "c"},
    {"op": "broadcast", "msg": {"op": "run"}},
    {"op": "register-worker", "name": "h2"},
    {"op": "update-graph"},
)


def test_a_host_asks_for_no_more_than_to_be_a_worker() -> None:
    for message in NOT_A_WORKERS:
        with pytest.raises(NotItsRightError, match="the host h1"):
            check(message, "h1")
    for fine in ({"op": "register-worker", "name": "h1"}, {"op": "heartbeat_worker"}):
        check(fine, "h1")


def test_private_keys_are_the_users_own(authority: Authority) -> None:
    files = [path for path in keys_folder().rglob("*") if path.is_file()]
    assert len(files) == 4 + 4 * len(FILES)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    folders = [path for path in keys_folder().rglob("*") if path.is_dir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


# ---- giving a host its keys; the host is this one, by a pipe in place of ssh


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> LabHost:
    answers = {"greet": enrolment.greet, "take-keys": enrolment.take_keys}

    def call(
        name: str, host: LabHost, programs: Any, command: str, request: Any
    ) -> Any:
        return answers[command](request)

    monkeypatch.setattr(enrolment, "call_host", call)
    return LabHost(address=HERE)


def test_a_host_gets_keys_once_and_new_ones_near_their_end(
    host: LabHost, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = enrol("new", host, PROGRAMS)
    assert first.outcome == "first" and first.issued.names == (HERE,)
    before = Identity("host").state()
    assert enrol("new", host, PROGRAMS).outcome == "kept"
    assert Identity("host").state() == before
    moved = LabHost(address="localhost")
    assert enrol("new", moved, PROGRAMS).outcome == "renewed", "another address"
    assert enrol("new", moved, PROGRAMS, renew=True).outcome == "renewed"
    assert Identity("host").state() != before
    monkeypatch.setattr(issued, "NEAR_END", timedelta(days=731))
    assert enrol("new", moved, PROGRAMS).outcome == "renewed"


def test_another_desks_host_is_not_taken_by_the_way(
    host: LabHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    theirs = Authority.open_or_make().issue("h9", "host", [HERE])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Identity("host").save(theirs)
    said = "h9 belongs to another desk: its keys are of authority .*made .* by .*@"
    with refused(ClusterFault.OTHER_DESK, said):
        enrol("h9", host, PROGRAMS)
    assert Identity("host").texts() == theirs
    assert enrol("h9", host, PROGRAMS, take_over=True).outcome == "taken over"
    assert Identity("host").texts()[SERVERS] != theirs[SERVERS]


def test_a_desk_that_was_slower_replaces_nothing(authority: Authority) -> None:
    Identity("host").save(authority.issue("h1", "host", [HERE]))
    with refused(ClusterFault.OTHER_DESK, "just now"):
        enrolment.take_keys({"keys": Identity("h2").texts(), "instead_of": ""})


def test_a_revoked_host_gets_new_keys_by_request_only(
    host: LabHost, authority: Authority
) -> None:
    enrol("h1", host, PROGRAMS)
    authority.revoke("h1")
    with refused(ClusterFault.KEYS_REVOKED, "lab keys renew h1"):
        enrol("h1", host, PROGRAMS)
    assert enrol("h1", host, PROGRAMS, renew=True).issued.state == "valid"


def test_keys_are_renewed_and_revoked_by_command(
    host: LabHost, tmp_path: Path, authority: Authority
) -> None:
    text = f'scheduler = "tls://{HERE}:1"\n[hosts.h1]\naddress = "{HERE}"\n'
    lab = tmp_path / "lab.toml"
    lab.write_text(f"{text}[hosts.h2]\naddress = '{HERE}'\n")
    before = {name: Identity(name).certificate() for name in ("desk", "scheduler")}
    done = ioplan("lab", "keys", "renew", "h1", "--lab", lab)
    assert (done.code, done.out.count("h1: has its keys, until")) == (0, 1), done.err
    assert {name: Identity(name).certificate() for name in before} == before
    done = ioplan("lab", "keys", "revoke", "h2", "--lab", lab)
    assert (done.code, done.out) == (0, "h2: 1 certificates end now\n"), done.err
    assert "it is revoked" in between("h2", "scheduler").reason
    done = ioplan("lab", "keys", "take-over", "h2", "--lab", lab)
    assert done.code == 3 and "`ioplan lab keys renew h2`" in done.err
    assert ioplan("lab", "keys", "renew", "h2", "--lab", lab).code == 0
    lab.write_text(text)
    done = ioplan("lab", "keys", "renew", "--lab", lab)
    assert (done.code, done.out.count("has new keys")) == (0, 1), done.err
    assert before["desk"] != Identity("desk").certificate()
    assert "no keys were given" in ioplan("lab", "keys", "revoke", "h9").err
    assert "no host 'h9'" in ioplan("lab", "keys", "renew", "h9", "--lab", lab).err


def test_what_ends_soon_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notice() == ""
    (row,) = _doctor_rows()
    assert row["state"] == "works" and row["text"].startswith("4 certificates")
    monkeypatch.setattr(issued, "NEAR_END", timedelta(days=731))
    assert re.search(r"of the desk ends on .*and 3 more; `ioplan lab up`", notice())
    (row,) = _doctor_rows()
    assert row["state"] == "limited" and row["mend"] == "ioplan lab up"
    rows = json.loads(ioplan("lab", "keys", "list", "--json").out)
    assert {one["state"] for one in rows} == {"ends soon"}
    shown = ioplan("lab", "keys")
    assert "host h2" in shown.out and "authority" in shown.out
    Identity("host").save(Identity("h1").texts())
    shutil.rmtree(keys_folder() / "authority")
    (row,) = _doctor_rows()
    assert row["mend"] == "ioplan lab up h1  # at the lab's desk"


def _doctor_rows() -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "findings", lambda machine: ())
        rows = json.loads(ioplan("doctor", "--json").out)
    return [one for one in rows if one["name"] == "lab keys"]


# ---- as openssl sees it


@pytest.mark.slow
@NEEDS_OPENSSL
def test_openssl_agrees(authority: Authority, tmp_path: Path) -> None:
    hosts, lists = tmp_path / "hosts.pem", tmp_path / "revoked.pem"
    hosts.write_text(authority.hosts.certificate)
    control = tmp_path / "control.pem"
    control.write_text(authority.control.certificate)
    h1 = Identity("h1").path(OWN)
    strict = ("-x509_strict", "-CAfile", str(hosts), "-purpose", "sslserver")
    assert openssl("verify", *strict, "-verify_ip", HERE, h1)
    assert not openssl("verify", *strict, "-verify_ip", "192.0.2.1", h1)
    assert not openssl("verify", "-x509_strict", "-CAfile", str(control), h1)
    desk = Identity("desk").path(OWN)
    assert openssl("verify", "-CAfile", str(control), "-purpose", "sslclient", desk)
    assert not openssl("verify", "-CAfile", str(control), "-purpose", "sslserver", desk)
    authority.revoke("h1")
    lists.write_text((authority.folder / "revoked.pem").read_text())
    crl = ("-crl_check", "-CRLfile", str(lists))
    assert not openssl("verify", *strict, *crl, h1)
    assert openssl("verify", *strict, *crl, Identity("h2").path(OWN))


def openssl(*words: str) -> bool:
    done = subprocess.run(["openssl", *words], capture_output=True, check=False)
    return done.returncode == 0
