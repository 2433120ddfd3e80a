"""The page: its JSON, its programs, its colours, what is bundled."""

from __future__ import annotations

import json
import re
from typing import Any

import paths
import pytest
from figures import run
from hypothesis import given, settings
from hypothesis import strategies as st
from report_charts import composed

from ioplan.results.report import safe, spec
from ioplan.results.store import Store

HTML = paths.ROOT / "dsl/ioplan/results/report/html"
texts = st.text(max_size=12) | st.sampled_from(["</script>", "<!--", "\u2028"])
values = st.recursive(
    st.none()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
)


@settings(max_examples=25)
@given(values)
def test_json_cannot_leave_its_script(value: Any) -> None:
    text = safe(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029]", text)


def expressions(node: Any) -> list[str]:
    """All that Vega would read as a program."""
    names = {"labelExpr", "filter", "calculate", "test", "expr", "signal"}
    if isinstance(node, list):
        return [found for one in node for found in expressions(one)]
    if not isinstance(node, dict):
        return []
    own = [
        text for name, text in node.items() if name in names and isinstance(text, str)
    ]
    assert not isinstance(node.get("sort"), list), "Vega-Lite makes a program of it"
    return own + expressions(list(node.values()))


def test_no_text_of_a_plan_becomes_a_program(store: Store) -> None:
    evil = "'); alert(1) //"
    for seq in range(1, 6):
        cell = {evil: f"{evil}{seq % 2}", "x": f"{evil}{seq}", "y": f"{evil}{seq % 3}"}
        store.add(*run(seq, test=evil, cell=cell))
    found = composed(store)
    made = [spec(p) for section in found.sections for p in section.pictures]
    assert made
    assert not any(evil in text for one in made for text in expressions(one))


def luminance(color: str) -> float:
    """Of WCAG 2: relative luminance of #rrggbb."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_can_be_read(theme: int) -> None:
    """WCAG's 4.5 for text, 3 for marks."""
    css = (HTML / "palette.css").read_text()
    blocks = re.findall(r"\{([^{}]*--page:[^{}]*)\}", css)
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", blocks[theme]))
    for name in ("ink", "soft", "accent", "held", "failed", "warning"):
        assert contrast(colors[name], colors["card"]) >= 4.5, name
        assert contrast(colors[name], colors["page"]) >= 4.5, name
    script = (HTML / "script/theme.js").read_text()
    palettes = re.findall(r"(?:light|dark): \[((?:\"#[0-9A-F]{6}\"(?:, )?)+)\]", script)
    palette = re.findall(r"#[0-9A-F]{6}", palettes[theme])
    assert len(palette) == 8
    assert all(contrast(color.lower(), colors["card"]) >= 3 for color in palette)


def test_the_licences_are_of_the_versions_that_are_bundled() -> None:
    versions = json.loads((HTML / "vendor/package.json").read_text())["dependencies"]
    licences = (HTML / "vendor/LICENSES.txt").read_text()
    for name, version in versions.items():
        assert f"{name} {version}" in licences
