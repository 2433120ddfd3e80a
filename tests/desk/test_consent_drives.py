"""From the hosts of a lab to a signed list, and to the size on the page of a start."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import ioplan, plan_file
from desks import desk_in, form_token, hosts_report, signed_in

from ioplan.runner import Identity
from ioplan.runner.guard import Surveyed
from targets import MIB, loop_device, needs_root, sparse

WRITES = 'test "T" { run random 4KiB 0/100 for 1s }'


def lab_at(
    folder: Path, targets: dict[str, tuple[Path, bool]], admin: str = ""
) -> Path:
    lines = ['name = "attic"', 'scheduler = "tls://127.0.0.1:8786"', "[hosts.h1]"]
    lines += [f"python = {json.dumps(sys.executable)}", 'reach = ["env"]']
    for name, (backing, writable) in targets.items():
        lines += [f"[targets.{name}]", 'host = "h1"']
        lines += [f"backing_file = {json.dumps(str(backing))}"]
        lines += [f"writable = {json.dumps(writable)}"]
    path = folder / "lab.toml"
    path.write_text("\n".join([*lines, "[groups]", 'all = ["*"]', admin, ""]))
    return path


@needs_root
@pytest.mark.long
def test_a_list_is_made_of_what_the_hosts_say(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.img" for name in ("one", "two")}
    for file in files.values():
        sparse(file, 64 * MIB)
    with loop_device(files["one"]), loop_device(files["two"]):
        public = ioplan("lab", "consent", "key", "--name", "ada").out
        gone = tmp_path / "gone.img"
        targets = {"a": (files["one"], True), "b": (files["two"], False)}
        lab = lab_at(tmp_path, {**targets, "c": (gone, True)}, public)
        listed, signed = tmp_path / "d.json", tmp_path / "c.json"
        words = ("lab", "consent", "drives", "all", "--lab", lab, "-o", listed)
        done = ioplan(*words)
        assert done.code == 0, done.err
        (row,) = json.loads(listed.read_text())
        assert (row["name"], row["size_bytes"]) == ("a", 64 * MIB)
        assert "b is left out: " in done.err and "c is left out: " in done.err
        end = ("--until", "7d", "--any-plan", "--lab", lab, "-o", signed)
        assert ioplan("lab", "consent", "sign", listed, *end).code == 0
        shown = ioplan("lab", "consent", "show", signed, "--lab", lab)
        assert "signed by ada" in shown.out and str(files["one"]) in shown.out
        none = ioplan("lab", "consent", "drives", "b", "--lab", lab)
        assert none.code == 2 and "none of b may be overwritten" in none.err
    lab.write_text(lab.read_text().replace('"env"', '"false"'))
    down = ioplan("lab", "consent", "drives", "a", "--lab", lab)
    assert down.code == 2 and "h1 is skipped: the host h1 does not answer" in down.err


@pytest.mark.slow
@pytest.mark.long
def test_the_page_reckons_with_the_size_of_the_drives(tmp_path: Path) -> None:
    targets = {"a": (tmp_path / "a", True), "b": (tmp_path / "b", True)}
    lab = lab_at(tmp_path, targets)
    lab.write_text(f"plans = [{json.dumps(str(tmp_path))}]\n" + lab.read_text())
    plan_file(tmp_path, WRITES, "fill.ioplan")
    with desk_in(tmp_path, lab) as desk:
        browser = signed_in(desk, "operator")

        def reviewed() -> str:
            token = form_token(browser.get("/start").text)
            asked = {"plan": "lab/fill", "target": "all", "form_token": token}
            return browser.post("/start/check", data=asked).text

        assert "1.00 TB, assumed" in reviewed()
        known = Identity(kernel="loop0", backing_file="/x")
        rows = [
            Surveyed(name=name, identity=known, size_bytes=size, verdict="writable")
            for name, size in (("a", 64 * MIB), ("b", 16 * MIB), ("", 1))
        ]
        hosts_report(desk, "h1", *rows)
        page = reviewed()
        assert "67.1 MB" in page and "assumed" not in page
        hosts_report(desk, "h1", *rows[1:])
        assert "16.8 MB" in reviewed()
