"""What the documents show is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan, plan_file
from paths import ROOT

README = (ROOT / "README.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.ioplan"))
SUITES = sorted((ROOT / "plans").rglob("*.ioplan"))


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.S | re.M)


def squeezed(text: str) -> str:
    """Without the blanks at the ends of lines, and without blank lines."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def test_the_plan_in_the_readme_is_the_demo() -> None:
    shown, _ = blocks("ioplan")
    assert shown == (ROOT / "examples/demo.ioplan").read_text()


def test_the_import_in_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = plan_file(tmp_path, blocks("ini")[0], "rand.fio")
    done = ioplan("import", job.name)
    assert (done.code, done.out) == (0, blocks("ioplan")[1])


def test_the_run_in_the_readme_is_what_sim_gives(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = ioplan("run", "examples/demo.ioplan", "--backend", "sim", "--create", "1GiB")
    assert squeezed(blocks("text")[0]) in squeezed(done.out)


def test_the_diagnostic_in_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n" * 6 + "workload oltp = random 8KiB 70/40, qd 32\n"
    plan_file(tmp_path, text + 'test "T" { run oltp for 1s }', "review.ioplan")
    assert squeezed(blocks("text")[1]) in squeezed(ioplan("check", "review.ioplan").err)


def test_the_steps_in_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = ioplan("plan", "examples/demo.ioplan", "--capacity", "512MiB")
    assert squeezed(blocks("text")[2]) in squeezed(done.out)


@pytest.mark.parametrize("plan", EXAMPLES + SUITES, ids=lambda p: p.name)
def test_each_plan_is_in_layout(plan: Path) -> None:
    assert ioplan("fmt", plan, "--check").code == 0


@pytest.mark.parametrize("plan", EXAMPLES, ids=lambda p: p.name)
def test_each_example_is_right(plan: Path) -> None:
    done = ioplan("check", plan)
    assert done.code == 0, done.err


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
