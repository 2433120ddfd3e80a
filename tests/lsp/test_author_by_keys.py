"""An author who knows nothing writes the demo with completion alone.

Typed are only titles, names, and what ends a word: blanks, commas, line ends.
"""

from __future__ import annotations

import re

import paths
from plans import checked
from written import offered

from ioplan.language import format_text
from ioplan.planner import Run, Step, unfold
from ioplan_editor import Completion

DEMO = paths.ROOT / "examples/demo.ioplan"
HOLE = re.compile(r"\$\{\d+:([^}]*)\}|\$0")
"""As editors have it: a hole with what stands in it, or where the author goes on."""
FREE = re.compile(r"[\s,]*|[\w ?:]*")


class Author:
    """The text so far, and what is still open behind the cursor."""

    def __init__(self) -> None:
        self.text, self.rest = "", ""

    def keys(self, typed: str) -> None:
        """What completion cannot know."""
        assert FREE.fullmatch(typed), f"{typed!r} has to be chosen"
        self.text += typed

    def choose(self, label: str, *holes: str) -> None:
        """Take a proposal and fill its holes: `=text` is typed, words are chosen."""
        one = self._offered(label)
        if one.comma:
            self.text = self.text.rstrip() + ", "
        waiting, last = list(holes), 0
        for hole in HOLE.finditer(one.template):
            self.text += one.template[last : hole.start()]
            last = hole.end()
            behind = HOLE.sub(lambda other: other[1] or "", one.template[last:])
            if hole[1] is None:  # the author goes on here
                self.rest = behind + self.rest
                break
            self._fill(waiting.pop(0), behind)
        else:
            self.text += one.template[last:]
        assert not waiting

    def _offered(self, label: str) -> Completion:
        """The proposal; a number is begun with its digits."""
        digits = re.match(r"\d*", label)
        for typed in ("", digits[0] if digits else ""):
            found = offered(f"{self.text}{typed}|{self.rest}")
            if label in found:
                return found[label]
        raise AssertionError(f"no {label!r} behind {self.text[-30:]!r}: {[*found]}")

    def _fill(self, wanted: str, behind: str) -> None:
        if wanted[0] == "=" and wanted != "==":
            return self.keys(wanted[1:])
        kept, self.rest = self.rest, behind + self.rest
        for word, gap in re.findall(r"(.+?)( \| |, |$)", wanted):
            self._offered(word)
            self.text += word + gap.replace(" | ", " ")
        self.rest = kept
        return None

    def next(self, out: bool = False) -> None:
        """A new row, behind the block that is open."""
        if out:
            self.text, self.rest = self.text + self.rest, ""
        self.keys("\n")


def demo() -> str:
    """What an author writes who has the demo in mind."""
    author = Author()
    author.choose("plan", "=Demo: what does this disk do?")
    author.next()
    author.choose("param", "=run_time", "2s")
    author.next()
    author.choose("precondition", "=filled", "128KiB", "8", "1 pass")
    author.next(out=True)
    whole = "random | 4KiB | 100/0"
    author.choose("test", "=Random reads over queue depth", whole, "run_time")
    author.keys(", ")
    author.choose("warmup", "500ms")
    author.next()
    author.choose("after", "filled")
    author.next()
    author.choose("vary", "qd", "1..32 doubling")
    author.next()
    author.choose("expect", "errors", "==", "0")
    author.next()
    author.choose("expect", "p99", "<", "250ms")
    author.next()
    author.choose("chart", "lines", "iops, p99", "qd")
    author.next(out=True)
    author.choose("test", "=Read share", "random | 4KiB", "run_time")
    author.keys(" ")
    author.choose("qd", "16")
    author.next()
    author.choose("after", "filled")
    author.next()
    author.choose("vary", "size", "4KiB")
    author.keys(", ")
    author.choose("16KiB")
    author.next()
    author.choose("vary", "read", "100%")
    for share in ("70%", "0%"):
        author.keys(", ")
        author.choose(share)
    author.next()
    author.choose("chart", "lines", "iops", "read")
    author.keys(" ")
    author.choose("per")
    author.keys(" ")
    author.choose("size")
    author.next(out=True)
    return author.text


def test_an_author_writes_the_demo_with_completion_alone() -> None:
    text = format_text(demo())
    written, wanted = checked(text), checked(DEMO.read_text("utf-8"))
    assert [step for step in map(told, unfold(written))] == [
        step for step in map(told, unfold(wanted))
    ]
    assert written.parameters == wanted.parameters
    for one, other in zip(written.tests, wanted.tests, strict=True):
        assert [e.text for e in one.expectations] == [
            e.text for e in other.expectations
        ]
        assert [c.text for c in one.charts] == [c.text for c in other.charts]


def told(step: Step) -> str:
    """What a step does, and the id of a run."""
    return step.run_id if isinstance(step, Run) else str(step)
